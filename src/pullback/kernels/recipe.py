"""What the node in C++ is told about the kernels of one variant: everything by number, in the order of arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pullback.define.eager import Shape
from pullback.define.function import Function
from pullback.graph.closed import holds
from pullback.graph.execute import output_names
from pullback.graph.packing import unpack
from pullback.kernels import launch, memory, native
from pullback.kernels.compile import Misfit
from pullback.kernels.emit import CHUNK
from pullback.kernels.node import PACKED, floats, sizes

if TYPE_CHECKING:
    from pullback.graph.plan import Plan
    from pullback.kernels.launch import Kernel


class Recipe:
    """A variant in the node's terms.

    Args:
        function: The Function.
        shape: What its calls look like.
        variant: Its kernels, its plan, and what they hold for.
        values: Those of a call that they serve.
        packed: Whether conditions go from forward to backward eight to a byte.
    """

    def __init__(
        self, function: Function[..., Any], shape: Shape, variant: Any, values: Sequence[Any], packed: bool
    ) -> None:
        plan: Plan = variant.plan
        self.packed = packed
        self.plan, self.kernels = plan, variant.kernels
        self.operands = [shape.tensors.index(n) for n in plan.arguments]
        made = [r.name for r in plan.made if r.source != "size"]
        outs = [*output_names(plan), *made]
        places = {n: -1 - k for k, n in enumerate(outs)} | {n: i for i, n in enumerate(shape.tensors)}
        kept = [r for r in plan.residuals if r.source != "size"] if len(self.kernels) > 1 else []
        given = dict(zip(function.params, values, strict=True))
        numbers = [n for n in plan.numbers if type(given[n]) is float]
        fixed = [n for n in shape.plain if n not in numbers]
        backward = self.kernels[-1]
        self.made = native.LOADED[0].recipe(
            name=function.name, pool=launch.POOL or 0, chunk=CHUNK, large=memory.LARGE, allocate=memory.empty,
            forward=_address(self.kernels[0], packed), backward=_address(backward, packed),
            operands=self.operands, residuals=[places[r.name] for r in kept],
            needed=[shape.tensors.index(n) for n in plan.needed],
            numbers=[function.params.index(n) for n in numbers],
            forward_numbers=[numbers.index(n) for n in floats(plan, self.kernels[0])],
            backward_numbers=[numbers.index(n) for n in floats(plan, backward)] if len(self.kernels) > 1 else [],
            contiguous=[at for at, _ in self.kernels[0].source.after],
            contiguous_back=[at for at, _ in backward.source.after],
            outputs=[torch.uint8 if packed and o.packed else o.dtype for o in self.kernels[0].outputs],
            gradients=[o and o.dtype for o in backward.program.outputs] if len(self.kernels) > 1 else [],
            results=plan.outputs, alone=variant.shape.single,
            cotangents=[o.dtype for o in backward.program.operands[-plan.outputs :]],
            fixed_at=[function.params.index(n) for n in fixed], fixed=tuple(given[n] for n in fixed),
            outside=variant.outside, guard=holds(plan.guards, numbers) if plan.guards else None,
            again=_again(plan, given, variant.again), layout=_layout_packed(backward) if packed else _layout(backward),
        )  # fmt: skip

    def forward(self, tensors: Sequence[torch.Tensor]) -> Any:
        """How forward visits the tensors of a call; ``None`` if the node shall not serve it."""
        found = _layout(self.kernels[0])([tensors[i] for i in self.operands])
        if found is None or not self.packed:
            return found
        n, geometry, outputs = found
        made = self.kernels[0].outputs[self.plan.outputs :]
        if geometry or [o.dtype is torch.bool for o in made] != [o.packed for o in made]:
            return None
        places = zip(self.kernels[0].outputs, outputs, strict=True)
        return n, geometry, tuple((((n + 7) // 8,), (1,)) if o.packed else place for o, place in places)


def wants_packing(plan: Plan, tensors: Sequence[torch.Tensor]) -> bool:
    """Whether conditions are kept, and of so many elements that they are packed."""
    return any(r.source == "bits" for r in plan.residuals) and max(t.numel() for t in tensors) > PACKED


def _address(kernel: Kernel, packed: bool) -> int:
    library = kernel.library
    entry = library.pb_packed_at if packed and kernel.program.packs else library.pb_kernel_at
    return ctypes.cast(entry, ctypes.c_void_p).value or 0


def _layout_packed(kernel: Kernel) -> Callable[[Sequence[torch.Tensor]], Any]:
    """Packed conditions stand for contiguous ones of the cotangent's shape; nothing else may be laid out otherwise."""
    plain, masks = _layout(kernel), [o.packed for o in kernel.program.operands]

    def layout(tensors: Sequence[torch.Tensor]) -> Any:
        shape = tensors[-1].shape
        stand_ins = [torch.empty(shape, dtype=torch.bool) if m else t for m, t in zip(masks, tensors, strict=True)]
        found = plain(stand_ins)
        fits = all(t.numel() == (shape.numel() + 7) // 8 for m, t in zip(masks, tensors, strict=True) if m)
        return found if found is not None and fits and not found[1] and found[0] == shape.numel() else None

    return layout


def _layout(kernel: Kernel) -> Callable[[Sequence[torch.Tensor]], Any]:
    after = [at for at, _ in kernel.source.after]

    def layout(tensors: Sequence[torch.Tensor]) -> Any:
        try:
            found = kernel.layout([t.contiguous() if i in after else t for i, t in enumerate(tensors)])
        except Misfit:
            return None
        return found.n, bytes(found.memory or b""), found.outputs

    return layout


def _again(plan: Plan, given: dict[str, Any], by_operations: Callable[..., Any]) -> Callable[..., Any]:
    """Backward in PyTorch's operations, from what the node has kept."""
    whole = {n: given[n] for n in plan.numbers if type(given[n]) is not float}
    tensors = [n for n, value in given.items() if isinstance(value, torch.Tensor)]
    lengths = {name: (tensors.index(argument), dim) for name, (argument, dim) in sizes(plan).items()}

    def again(kept: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...], floats: tuple[float, ...]) -> Any:
        values, rest = iter(kept), iter(floats)
        residuals = []
        for residual in plan.residuals:
            at, dim = lengths.get(residual.name, (0, 0))
            value: Any = shapes[at][dim] if residual.source == "size" else next(values)
            packed = residual.source == "bits" and value.dtype is torch.uint8
            residuals.append(unpack(value, kept[-1].shape) if packed else value)
        numbers = [whole[n] if n in whole else next(rest) for n in plan.numbers]
        return tuple(by_operations(*residuals, *values, *numbers))

    return again
