"""``keep="small"``: the output instead of the argument, where the slope can be read off it well enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pullback.graph.inverse import Inverse, Refused, inverse
from pullback.graph.ops import BY_ATEN
from pullback.graph.pair import Pair, both
from pullback.graph.trace import aten_name

if TYPE_CHECKING:
    from pullback.define.function import Function

Node = torch.fx.Node
_MADE_FRESH = {"scalar_tensor", "full_like", "full", "where", "_to_copy", "empty_like", "masked_fill", "zeros", "ones"}


def by_output(
    function: Function[..., Any], needed: Sequence[str], inputs: Sequence[Any], whole: Pair
) -> Inverse | Refused:
    """The slope of a function of one tensor by its output, or why there is none."""
    reason = _unsuitable(whole, needed)
    if reason:
        return Refused(reason)
    given = dict(zip(function.params, inputs, strict=True))
    dtype = whole.outputs[0].meta["val"].dtype

    def run(x: torch.Tensor, g: float) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            results = both(function, tuple(needed), {**given, needed[0]: x}, [torch.full_like(x, g)], {})
        return results[0], results[-1]

    probe = torch.linspace(-3, 3, 101, dtype=torch.float64)
    if not torch.allclose(run(probe, 2.0)[1], 2 * run(probe, 1.0)[1]):
        return Refused("its rule is not linear in the cotangent")
    forward, slope = _part(run, 0), _part(run, 1)
    return inverse(forward, slope, dtype)


def _part(run: Callable[..., tuple[torch.Tensor, torch.Tensor]], at: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: run(x, 1.0)[at]


def _unsuitable(whole: Pair, needed: Sequence[str]) -> str:
    if len(whole.arguments) != 1 or len(needed) != 1 or len(whole.outputs) != 1:
        return "it is not a function of one tensor with one output"
    x, out = next(iter(whole.arguments.values())).meta["val"], whole.outputs[0].meta["val"]
    if x.shape != out.shape or x.dtype != out.dtype:
        return "the output has not the argument's shape and dtype"
    calls = [n for n in whole.module.graph.nodes if n.op == "call_function"]
    other = [str(n.target) for n in calls if not _pointwise(n)]
    return f"it is not pointwise: {other[0]}" if other else ""


def _pointwise(node: Node) -> bool:
    name = aten_name(node.target)
    return name in BY_ATEN or name in _MADE_FRESH or not isinstance(node.meta.get("val"), torch.Tensor)


class _Decoder(torch.nn.Module):
    """The gradient from output, side and cotangent."""

    def __init__(self, slope: Inverse) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, out: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        """The cotangent times the slope."""
        return rest[-1] * self.slope(out, rest[0] if self.slope.turning is not None else None)


def decoder(slope: Inverse, inputs: Sequence[Node]) -> torch.fx.GraphModule:
    """The backward graph: from the output, the side if there is one, the cotangent and numbers to the gradient."""
    graph = torch.fx.Graph()
    places = [graph.placeholder(str(n.meta.get("parameter") or n.name)) for n in inputs]
    used = places[: 2 if slope.turning is None else 3]
    graph.output((graph.call_module("decoder", tuple(used)),))
    return torch.fx.GraphModule({"decoder": _Decoder(slope)}, graph)
