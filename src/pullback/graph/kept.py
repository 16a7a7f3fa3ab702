"""What a call keeps for backward, measured: for users' own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback import _describe
from pullback._torch import pytree
from pullback.define.decorate import function_of
from pullback.define.derivative import differentiable, flat_outputs
from pullback.errors import KeptError, UsageError
from pullback.graph import account, written  # noqa: F401 - describe speaks of plans, source writes code
from pullback.graph.planned import LIMIT, choose


@dataclass(frozen=True)
class _Entry:
    """One tensor kept, with what it takes for each element of the output."""

    what: str
    bits: float
    counted: bool = True

    def __str__(self) -> str:
        return f"{self.what}: {self.bits:.3g} bits" + ("" if self.counted else " (a parameter, not counted)")


def assert_kept(fn: Callable[..., Any], /, *inputs: Any, bits_per_element: float, **options: Any) -> None:
    """Check that a function keeps no more than so much for backward.

    What a call keeps is measured; of a Function called with small inputs, which packing is not worth, it is what
    large ones of the same kind would keep. Arguments that broadcast (a bound, a slope, one number for each channel)
    are not counted.

    Args:
        fn: A Function, or any differentiable function of tensors.
        *inputs: What to call it with. If none requires a gradient, all that can do.
        bits_per_element: The most it may keep, in bits for each element of the output: 32 for one float32 tensor.
        **options: Further arguments, by name.

    Raises:
        KeptError: If it keeps more; the message lists what.
        UsageError: If the output is no tensor with elements.

    Example:
        >>> import torch, pullback as pb
        >>> @pb.function
        ... def leaky(x, slope=0.1):
        ...     return torch.where(x > 0, x, slope * x)
        >>> pb.assert_kept(leaky, torch.randn(64, 64), bits_per_element=1)
    """
    name = getattr(fn, "__name__", type(fn).__name__)
    entries = _planned(fn, inputs, options) or list(_measured(fn, inputs, options, name))
    bits = sum(entry.bits for entry in entries if entry.counted)
    if bits > bits_per_element:
        raise KeptError(
            name,
            f"may keep {bits_per_element:g} bits for each element of the output",
            f"{bits:.4g} bits: {'; '.join(map(str, entries))}",
            f"print({name}.describe(…)), which tells why each is kept"
            if function_of(fn)
            else "make it a Function with @pb.function, which keeps the least it can",
        )


def _planned(fn: Callable[..., Any], inputs: Sequence[Any], options: dict[str, Any]) -> list[_Entry]:
    """What a Function would keep of large tensors, where these are small and it has a plan."""
    function = function_of(fn)
    tensors = [t for t in pytree.tree_leaves((inputs, options)) if isinstance(t, torch.Tensor)]
    if function is None or any(t.numel() > LIMIT for t in tensors) or function.keep == "named":
        return []
    bound = function.arguments.signature.bind(*inputs, **options)
    bound.apply_defaults()
    given = bound.arguments
    wanting = [n for n, v in given.items() if isinstance(v, torch.Tensor) and v.requires_grad]
    needed = wanting or [n for n, v in given.items() if isinstance(v, torch.Tensor) and differentiable(v)]
    made = choose(function, needed, list(given.values())).plan
    if made is None:
        return []
    return [_Entry(f"{r.name} ({r.source})", r.bits, r.source != "argument" or r.bits >= 1) for r in made.residuals]


def _measured(fn: Callable[..., Any], inputs: Any, options: dict[str, Any], name: str) -> Iterator[_Entry]:
    """What a call hands to autograd, each storage once."""
    if not any(isinstance(t, torch.Tensor) and t.requires_grad for t in pytree.tree_leaves((inputs, options))):
        inputs, options = pytree.tree_map_only(torch.Tensor, _leaf, (inputs, options))
    seen: dict[int, torch.Tensor] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        seen.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        outputs = flat_outputs(fn(*inputs, **options))[1]
    elements = outputs[0].numel() if outputs else 0
    if not elements:
        got = "no tensor" if not outputs else _describe.tensor(outputs[0])
        raise UsageError(name, "must return a tensor with elements", got, "call it with other inputs")
    given = {t.untyped_storage().data_ptr() for t in pytree.tree_leaves((inputs, options)) if torch.is_tensor(t)}
    for place, tensor in seen.items():
        bits = 8 * tensor.numel() * tensor.element_size() / elements
        whole = tensor.dtype == torch.uint8 and elements <= 8 * tensor.numel() < elements + 8
        yield _Entry(
            _describe.tensor(tensor), 1.0 if whole else bits, place not in given or 2 * tensor.numel() > elements
        )


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_() if differentiable(tensor) else tensor
