"""One graph of ATen operations for what a function computes.

PyTorch's own tracer runs the function on fake tensors and decomposes what it calls; operations of the ops table stay
whole. Equal subexpressions are merged and unused ones removed. Python numbers become inputs of the graph; where the
function decides by one, that is a guard, and told.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.export import default_decompositions
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.dialect.common.cse_pass import CSEPass

from pullback import _describe
from pullback._torch import TorchDispatchMode, apart_from_hooks, symbolic_numbers
from pullback.errors import TraceError
from pullback.graph.formula import Parameter
from pullback.graph.ops import BY_ATEN

_OURS = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))
_ALONE = threading.RLock()
"""PyTorch's tracer changes what all threads see while it runs: one thread at a time, and no fork meanwhile."""
os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


@dataclass(frozen=True)
class Trace:
    """What one function computes.

    Args:
        name: What the function is called.
        parameters: Its parameters, in order; those of kind ``number`` are inputs of the graph too.
        module: The graph, with one placeholder for each parameter that is a tensor or a number.
        guards: What was decided about numbers; the graph holds where these hold.
        given: The arguments it was recorded with.
    """

    name: str
    parameters: tuple[Parameter, ...]
    module: torch.fx.GraphModule
    guards: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)


def trace(fn: Callable[..., Any], *inputs: Any, **options: Any) -> Trace:
    """The graph of a function.

    Args:
        fn: A plain function, a Function, or anything callable.
        inputs: Arguments of the kinds and shapes it is called with.
        options: Further arguments, by name.

    Raises:
        TraceError: Where the function cannot be traced; it names the line.

    >>> nodes = trace(lambda x: torch.sigmoid(x) * torch.sigmoid(x), torch.ones(3)).module.graph.nodes
    >>> [node.name for node in nodes if node.op == "call_function"]
    ['sigmoid', 'mul']
    """
    plain = inspect.unwrap(fn)
    signature = _signature(plain, len(inputs))
    bound = signature.bind(*inputs, **options)
    bound.apply_defaults()
    given = dict(bound.arguments)
    name = getattr(fn, "__name__", type(fn).__name__)

    def call(**values: Any) -> Any:
        bound.arguments.update(values)
        return plain(*bound.args, **bound.kwargs)

    module, guards = record(name, call, given)
    kinds = signature.parameters
    parameters = tuple(_parameter(n, v, kinds[n]) for n, v in given.items() if _is_input(v))
    return Trace(name, parameters, module, guards, given)


def record(
    name: str, call: Callable[..., Any], given: Mapping[str, Any]
) -> tuple[torch.fx.GraphModule, tuple[str, ...]]:
    """Run a function of named arguments on fake tensors and symbolic numbers, and keep what it did."""
    numbers, guards = symbolic_numbers({n: v for n, v in given.items() if type(v) is float})
    symbolic = {n: numbers.get(n, v) for n, v in _apart(given).items() if _is_input(v)}
    names = list(symbolic)

    def flat(*values: Any) -> Any:
        with torch.no_grad(), _Refuse(name):
            return call(**dict(zip(names, values, strict=True)))

    try:
        with _ALONE, apart_from_hooks():
            module = make_fx(flat, decomposition_table=_decompositions(), tracing_mode="symbolic")(*symbolic.values())
    except TraceError:
        raise
    except Exception as error:
        raise TraceError(*_reason(name, error)) from error
    return _clean(module, names), tuple(guards())


def _apart(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, a tensor that is given twice as two: make_fx takes one object for one input."""
    first: dict[int, str] = {}
    for name, value in given.items():
        first.setdefault(id(value), name)
    again = {n for n, v in given.items() if isinstance(v, torch.Tensor) and first[id(v)] != n}
    return {n: v.detach() if n in again else v for n, v in given.items()}


def _signature(fn: Callable[..., Any], count: int) -> inspect.Signature:
    """The signature; built-in functions without one get x, y, z."""
    try:
        return inspect.signature(fn)
    except ValueError:
        names = [*"xyzuvw"[:count], *(f"x_{at}" for at in range(6, count))]
        return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names])


def _is_input(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or type(value) in (int, float)


def _parameter(name: str, value: Any, parameter: inspect.Parameter) -> Parameter:
    boolean = isinstance(value, torch.Tensor) and value.dtype == torch.bool
    kind = "mask" if boolean else "tensor" if isinstance(value, torch.Tensor) else "number"
    default = "" if parameter.default is parameter.empty else repr(parameter.default)
    return Parameter(name, kind, default, parameter.kind is parameter.KEYWORD_ONLY)


@cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's decompositions, except of operations that have a row of their own."""
    found = {op: rule for op, rule in dict(default_decompositions()).items() if aten_name(op) not in BY_ATEN}
    return {**found, torch.ops.aten.log_sigmoid_backward.default: _log_sigmoid_backward}


def _log_sigmoid_backward(g: torch.Tensor, x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Without what forward has put by, through which no second derivative goes."""
    small = torch.exp(torch.where(x < 0, x, -x))
    return g * (torch.where(x < 0, 1, small) / (1 + small))


def aten_name(op: Any) -> str:
    """The name of an ATen operation without namespace and overload; empty for anything else."""
    schema = getattr(op, "_schema", None)
    space, _, name = schema.name.partition("::") if schema else ("", "", "")
    return name if space == "aten" else ""


def _clean(module: torch.fx.GraphModule, names: list[str]) -> torch.fx.GraphModule:
    module.graph.eliminate_dead_code()
    merged = CSEPass()(module)
    module = merged.graph_module if merged is not None else module
    for node, wanted in zip(module.graph.find_nodes(op="placeholder"), names, strict=True):
        node.meta["parameter"] = wanted
    module.recompile()
    return module


class _Refuse(TorchDispatchMode):
    """Stops at the first operation that a graph cannot stand for, while the line that called it is still known."""

    def __init__(self, name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        reason = _refusal(func) or _foreign(func, args)
        if reason:
            raise TraceError(f"{self.name}{_here()}", *reason)
        return func(*args, **(kwargs or {}))


def _refusal(func: Any) -> tuple[str, str, str] | None:
    said = str(func).removeprefix("aten.")
    if torch.Tag.nondeterministic_seeded in func.tags:
        return "the result must depend on the arguments alone", f"the random operation {said}", "pass the random tensor"
    if said.startswith("_local_scalar_dense"):
        got = "a tensor's value used in Python: by if or while, .item(), float() or int()"
        return "the same operations must run for all values", got, "use torch.where, torch.clamp, or keep the tensor"
    if func.namespace not in ("aten", "prim", "prims"):
        return "only PyTorch's own operations can be read", f"the opaque operator {said}", "trace what it computes"
    return None


def _foreign(func: Any, args: Any) -> tuple[str, str, str] | None:
    """A tensor that comes neither from an argument nor from a number written in the function."""
    if str(func).startswith("aten.lift_fresh"):
        return None
    for value in args:
        if isinstance(value, torch.Tensor) and type(value) in (torch.Tensor, torch.nn.Parameter):
            got = f"a {_describe.tensor(value)} from outside"
            return "every tensor it uses must be an argument", got, "pass it as an argument"
    return None


def _reason(name: str, error: Exception) -> tuple[str, str, str, str]:
    frames = [f for f, _ in traceback.walk_tb(error.__traceback__)]
    where = _place(frames)
    kind, text = type(error).__name__, str(error).partition("\n")[0]
    if "numpy" in text or "fake" in text.lower():
        return (
            f"{name}{where}",
            "only PyTorch's own operations can be read",
            text,
            "write this step with torch functions",
        )
    return f"{name}{where}", "it must run on these arguments", f"{kind}: {text}", "check the arguments given"


def _here() -> str:
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        frames.insert(0, frame)
        frame = frame.f_back
    return _place(frames)


def _place(frames: list[FrameType]) -> str:
    """The innermost line that is neither PyTorch's nor ours."""
    theirs = [f for f in frames if not f.f_code.co_filename.startswith((*_OURS, "<"))]
    return f" ({Path(theirs[-1].f_code.co_filename).name}:{theirs[-1].f_lineno})" if theirs else ""
