"""What ``describe`` says about the kernels of a Function: whether one serves, why, what it moves, and its text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pullback.define.function import Function
from pullback.define.ways import Account
from pullback.graph.closed import open_because

READY, REFUSED = "ready", "refused"
Kept = tuple[str, str, tuple[int, ...], torch.dtype, int, tuple[str, ...]]


def account(function: Function[..., Any], needed: tuple[str, ...], values: Sequence[Any]) -> Account:
    """The account of the way of kernels."""
    choice = function.kernels.get(needed)
    variant = choice.variant(values) if choice is not None else None
    if variant is None or variant.state != READY:
        asked = variant.reason if variant is not None else "no call like this has been made yet"
        return Account("", "", lines=(f"kernel: none ({open_because(function) or asked})",))
    reason = "one compiled kernel for forward and one for backward"
    texts = tuple(kernel.source.own for kernel in variant.kernels)
    lines = (*_lines(variant), _called(function))
    return Account("kernel", reason, tuple(_kept(variant.plan, values)), lines, texts)


def _called(function: Function[..., Any]) -> str:
    native = any(front.way is not None for front in function.fronts)
    return f"called by way of {'the node in C++' if native else 'a Python autograd.Function'}"


def _lines(variant: Any) -> Iterator[str]:
    for name, kernel in zip(("forward", "backward"), variant.kernels, strict=False):
        yield f"kernel, {name}: {moved(kernel.program)} bytes for each element, which take as long as copying them"
    yield "kernel, its text in C: the attribute `kernels` of this description"


def moved(program: Any) -> int:
    """The bytes that one element takes to read and to write: no kernel is faster than that."""
    read = sum(o.dtype.itemsize for o in program.operands if not o.scalar)
    return int(read + sum(o.dtype.itemsize for o in program.outputs if o is not None and o.value.over == ()))


def _kept(plan: Any, values: Sequence[Any]) -> Iterator[Kept]:
    """What is kept: name, source, shape, dtype, bytes and the arguments whose gradients use it."""
    tensors = dict(zip(plan.arguments, (v for v in values if isinstance(v, torch.Tensor)), strict=False))
    whole = tuple(torch.broadcast_shapes(*(t.shape for t in tensors.values())))
    (end,) = plan.forward.graph.find_nodes(op="output")
    for residual in plan.residuals:
        if residual.source == "size":
            continue
        tensor = tensors.get(residual.name)
        shape = tuple(tensor.shape) if tensor is not None else whole
        dtype = tensor.dtype if tensor is not None else end.args[0][0].meta["val"].dtype
        bits = residual.source == "bits"
        size = math.ceil(math.prod(shape) / 8) if bits else math.prod(shape) * dtype.itemsize
        yield residual.name, residual.source, shape, torch.bool if bits else dtype, size, residual.rules
