"""The autograd.Function around two kernels, written out for one plan: what it costs is a call, not its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from pullback._torch import AutogradFunction, bare_apply, grad_enabled, is_plain_cpu
from pullback.define.eager import Shape
from pullback.define.function import Function
from pullback.define.source import compiled, prefix
from pullback.graph.execute import output_names
from pullback.graph.packing import pack, unpack
from pullback.graph.plan import Plan
from pullback.graph.trace import aten_name
from pullback.kernels import launch, memory
from pullback.kernels.compile import Misfit, Unsupported
from pullback.kernels.emit import CHUNK
from pullback.kernels.launch import Kernel
from pullback.kernels.program import CELL, ELEMENT, Output, Program

Entry = Callable[..., Any]
PACKED = 1024
"""Conditions of more elements are kept eight to a byte."""


def plain_entry(function: Function[..., Any], shape: Shape, plan: Plan, forward: Kernel) -> Entry:
    """What serves calls in which nothing needs a gradient."""
    p = prefix(function)
    outs = [p + n for n in output_names(plan)]
    kernel = _Call(p, "f", forward, list(plan.arguments), floats(plan, forward), outs)
    lines = [
        f"def {p}enter({', '.join(function.params)}):",
        *kernel.lines(),
        f" return {_returned(outs, shape)}",
    ]
    return compiled(function, p, lines, _names(f=forward))[f"{p}enter"]  # type: ignore[no-any-return]


def entry(
    function: Function[..., Any], shape: Shape, plan: Plan, forward: Kernel, backward: Kernel, again: Entry
) -> Entry:
    """What serves calls in which ``plan.needed`` need a gradient; ``again`` is backward in PyTorch's operations."""
    writer = _Writer(function, shape, plan, forward, backward, again)
    names = _names(f=forward, b=backward, again=writer.again, pack=_packed, unpack=unpack)
    space = compiled(function, writer.p, [*writer.forward(), *writer.backward()], names)
    body: dict[str, Any] = {n: staticmethod(space[f"{writer.p}{n}_"]) for n in ("forward", "backward")}
    body |= {"__module__": function.fn.__module__, "__pullback__": function}
    return bare_apply(type(function.name, (AutogradFunction,), body))


def _returned(outs: Sequence[str], shape: Shape) -> str:
    return ", ".join(outs) + ("" if shape.single else ",")


def _names(**more: Any) -> dict[str, Any]:
    kernels = {f"{k}_function": v.function for k, v in more.items() if isinstance(v, Kernel)}
    kernels |= {f"{k}_packed": v.packed for k, v in more.items() if isinstance(v, Kernel)}
    return {
        "empty_like": torch.empty_like, "empty": torch.empty, "large": memory.LARGE,
        "pooled": memory.empty_like, "pool": launch.POOL, "threads": launch.threads,
        "chunk": CHUNK, "Misfit": Misfit, "grad_enabled": grad_enabled, "Tensor": torch.Tensor,
        "plain": is_plain_cpu, **{str(d).replace(".", "_"): d for d in _DTYPES}, **kernels, **more,
    }  # fmt: skip


_DTYPES = (
    torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.bool, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8,
)  # fmt: skip


def floats(plan: Plan, kernel: Kernel) -> list[str]:
    """The numbers that a kernel takes; whole ones are part of its text."""
    numbers = [kind for kind, _ in kernel.program.inputs if kind != "tensor"][-len(plan.numbers) or len(plan.numbers) :]
    return [n for n, kind in zip(plan.numbers, numbers, strict=False) if kind == "number"]


def mark_packed(plan: Plan, forward: Program, backward: Program | None = None) -> None:
    """Say which conditions go between forward and backward."""
    forward.pack([], [plan.outputs + i for i, r in enumerate(plan.made) if r.source == "bits"])
    if backward is not None:
        kept = [r for r in plan.residuals if r.source != "size"]
        backward.pack([i for i, r in enumerate(kept) if r.source == "bits"], [])


def _packed(mask: torch.Tensor) -> torch.Tensor:
    return pack(mask) if mask.numel() > PACKED else mask


class _Call:
    """The text of one call of a kernel: with everything contiguous at once, else by way of its layout.

    At once, conditions that are kept go packed where they have more than `PACKED` elements; ``unpacking`` is the text
    that makes them what they were, for the other way.
    """

    def __init__(
        self, p: str, kernel_name: str, kernel: Kernel, operands: Sequence[str], numbers: Sequence[str],
        results: Sequence[str], unpacking: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.p, self.name, self.kernel = p, kernel_name, kernel
        self.operands, self.numbers, self.results, self.unpacking = operands, numbers, results, unpacking
        given = list(zip(operands, kernel.program.operands, strict=True))
        self.masks = [n for n, o in given if o.packed]
        self.full = [n for n, o in given if not o.scalar and not o.packed]
        self.outs = [(n, o) for n, o in zip(results, kernel.program.outputs, strict=True) if o is not None]

    def lines(self, indent: str = " ") -> Iterator[str]:
        p, program = self.p, self.kernel.program
        tensors = f"({''.join(f'{n}, ' for n in self.operands)})"
        general = f"{', '.join(self.results)}, = {p}{self.name}({tensors}, ({''.join(f'{n}, ' for n in self.numbers)}))"
        if not self._simple():
            yield from (f"{indent}{line}" for line in (*self.unpacking, general))
            return
        yield f"{indent}if {' and '.join(self._alike())}:"
        yield f"{indent} {p}n = {self.full[0]}.numel()"
        yield from (f"{indent} {name} = {self._made(out)}" for name, out in self.outs)
        yield from (f"{indent} {n} = None" for n, o in zip(self.results, program.outputs, strict=True) if o is None)
        pointers = [f"{n}.data_ptr()" for n in (*self.operands, *(n for n, _ in self.outs))]
        count = f"1 if {p}n <= {p}chunk else {p}threads({p}n)"
        arguments = ", ".join([f"{p}n", "None", f"{p}pool", count, *pointers, *self.numbers])
        yield f"{indent} if {self._entry()}({arguments}): raise {p}Misfit('a tensor without memory')"
        yield f"{indent}else:"
        yield from (f"{indent} {line}" for line in (*self.unpacking, general))

    def _simple(self) -> bool:
        """Whether operands can be contiguous and of one shape at all."""
        program = self.kernel.program
        sums = all(o.value.place != CELL or len(o.value.over) == program.rank for _, o in self.outs)
        shapes = all(o.scalar or o.rank == program.rank for o in program.operands)
        return bool(self.full) and sums and shapes and not self.kernel.source.after

    def _alike(self) -> Iterator[str]:
        """What must hold of the operands for a call without a layout."""
        p, first = self.p, self.full[0]
        yield from (f"{n}.is_contiguous()" for n in (*self.full, *self.masks))
        yield from (f"{n}.shape == {first}.shape" for n in self.full[1:])
        for n in self.masks:
            size = f"{n}.numel() == ({first}.numel() + 7) // 8"
            yield f"({size} if {n}.dtype is {p}torch_uint8 else {n}.shape == {first}.shape)"
        yield from (f"{n}.dtype is {self.masks[0]}.dtype" for n in self.masks[1:])

    def _entry(self) -> str:
        p, plain, packed = self.p, f"{self.p}{self.name}_function", f"{self.p}{self.name}_packed"
        if self.masks:
            return f"({packed} if {self.masks[0]}.dtype is {p}torch_uint8 else {plain})"
        return f"({packed} if {p}n > {PACKED} else {plain})" if self.kernel.program.packs else plain

    def _made(self, out: Output) -> str:
        p, kind, full = self.p, str(out.dtype).replace(".", "_"), self.full[0]
        if out.value.place != ELEMENT:
            return f"{p}empty({(1,) * len(out.dims)}, dtype={p}{kind})"
        first = next(o for o in self.kernel.program.operands if not o.scalar and not o.packed)
        given = full if out.dtype == first.dtype else f"{full}, dtype={p}{kind}"
        made = f"({p}empty_like if {p}n < {p}large // {out.dtype.itemsize} else {p}pooled)({given})"
        bits = f"{p}empty(({p}n + 7) // 8, dtype={p}torch_uint8) if {p}n > {PACKED} else "
        return bits + made if out.packed else made


class _Writer:
    def __init__(
        self, function: Function[..., Any], shape: Shape, plan: Plan, forward: Kernel, backward: Kernel, again: Entry
    ) -> None:
        self.function, self.shape, self.plan, self.sizes = function, shape, plan, sizes(plan)
        self.by_operations = again
        self.p = prefix(function)
        self.outs = [self.p + n for n in output_names(plan)]
        self.kept = {r.name: f"{self.p}k{i}" for i, r in enumerate(r for r in plan.made if r.source != "size")}
        known = {**dict(zip(output_names(plan), self.outs, strict=True)), **self.kept}
        self.residuals = [known.get(r.name, r.name) for r in plan.residuals if r.source != "size"]
        self.bits = {self.kept[r.name] for r in plan.made if r.source == "bits"}
        made = [self.kept.get(r.name, "_") for r in plan.made]
        self.call_forward = _Call(
            self.p, "f", forward, list(plan.arguments), floats(plan, forward), [*self.outs, *made]
        )
        self.gs = [f"{self.p}g{i}" for i in range(plan.outputs)]
        self.grads = [f"{self.p}d_{n}" for n in plan.needed]
        numbers = [f"{self.p}ctx._value_{n}" for n in floats(plan, backward)]
        self.call_backward = _Call(
            self.p, "b", backward, [*self.residuals, *self.gs], numbers, self.grads, list(self._unpacking())
        )

    def forward(self) -> Iterator[str]:
        p = self.p
        yield f"def {p}forward_({p}ctx, {', '.join(self.function.params)}):"
        yield from self.call_forward.lines()
        for b in sorted(self.bits):
            yield f" if {b}.dtype is {p}torch_bool: {p}ctx._shape_{b} = {b}.shape; {b} = {p}pack({b})"
            yield f" else: {p}ctx._shape_{b} = {(self.call_forward.full or self.outs)[0]}.shape"
        yield f" {p}ctx.save_for_backward({', '.join(self.residuals)})"
        yield from (f" {p}ctx._value_{n} = {n}" for n in self.plan.numbers)
        shapes = {n for n in self.plan.needed if n not in self.residuals} | {n for n, _ in self.sizes.values()}
        yield from (f" {p}ctx._shape_{n} = {n}.shape" for n in sorted(shapes))
        yield f" return {_returned(self.outs, self.shape)}"

    def backward(self) -> Iterator[str]:
        p = self.p
        yield f"def {p}backward_({p}ctx, {', '.join(self.gs)}):"
        if self.residuals:
            yield f" {', '.join(self.residuals)}, = {p}ctx.saved_tensors"
        everything = f"({''.join(f'{n}, ' for n in (*self.residuals, *self.gs))})"
        strange = [f"not {p}plain({g})" for g in self.gs] + [
            f"{g}.dtype is not {p}{str(d).replace('.', '_')}" for g, d in zip(self.gs, self._cotangent_types())
        ]
        strange += [f"not {p}plain({n})" for n in self.residuals]  # saved-tensor hooks may return anything
        yield f" if {p}grad_enabled() or {' or '.join(strange)}:"
        yield from (f"  {line}" for line in self._unpacking())
        yield f"  return {p}again({p}ctx, {everything})"
        yield " try:"
        yield from self.call_backward.lines("  ")
        yield f" except ({p}Misfit, RuntimeError):"  # what is_grads_batched brings looks plain and has no memory
        yield from (f"  {line}" for line in self._unpacking())
        yield f"  return {p}again({p}ctx, {everything})"
        for name, grad in zip(self.plan.needed, self.grads, strict=True):
            want = f"{name}.shape" if name in self.residuals else f"{p}ctx._shape_{name}"
            yield f" if {grad} is not None and {grad}.shape != {want}: {grad} = {grad}.view({want})"
        found = dict(zip(self.plan.needed, self.grads, strict=True))
        yield f" return {', '.join(found.get(n, 'None') for n in self.function.params)}"

    def _unpacking(self) -> Iterator[str]:
        for b in sorted(self.bits):
            yield f"if {b}.dtype is not {self.p}torch_bool: {b} = {self.p}unpack({b}, {self.p}ctx._shape_{b})"

    def _cotangent_types(self) -> list[torch.dtype]:
        operands = self.call_backward.kernel.program.operands
        return [o.dtype for o in operands[len(operands) - len(self.gs) :]]

    def again(self, ctx: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Backward in PyTorch's operations: for second derivatives, and for cotangents that no kernel takes."""
        tensors, plan = iter(values), self.plan
        kept = [self._size(ctx, r.name) if r.source == "size" else next(tensors) for r in plan.residuals]
        numbers = [getattr(ctx, f"_value_{n}") for n in plan.numbers]
        found = dict(zip(plan.needed, self.by_operations(*kept, *tensors, *numbers), strict=True))
        return tuple(found.get(n) for n in self.function.params)

    def _size(self, ctx: Any, residual: str) -> int:
        argument, dim = self.sizes[residual]
        return int(getattr(ctx, f"_shape_{argument}")[dim])


def sizes(plan: Plan) -> dict[str, tuple[str, int]]:
    """Which size of which argument each residual of kind ``size`` is: kernels do not need them."""
    (end,) = plan.forward.graph.find_nodes(op="output")
    found = {}
    for residual, node in zip(plan.made, end.args[0][plan.outputs :], strict=True):
        if residual.source == "size":
            if aten_name(node.target) != "sym_size" or node.args[0].op != "placeholder":
                raise Unsupported("it keeps a computed size")
            found[residual.name] = (str(node.args[0].meta["parameter"]), int(node.args[1]))
    return found
