"""Calling a kernel: how its operands are laid out, how many threads it gets, and what it returns.

The common call, with every operand contiguous and of one shape, needs no description of the layout. Any other layout
is described by sizes and strides, once for each combination.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback.kernels import cache, memory
from pullback.kernels.compile import CompileError, Misfit, compiler
from pullback.kernels.emit import CHUNK, Source, emit
from pullback.kernels.program import ELEMENT, Program

MOST_DIMENSIONS = 16
_forked = False


def _after_fork() -> None:
    """The thread pool does not live in a forked child: one thread there."""
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)


def _pool() -> int | None:
    """The entry to the thread pool that PyTorch has loaded, if it is OpenMP's."""
    try:
        return ctypes.cast(ctypes.CDLL(None).GOMP_parallel, ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError):
        return None


POOL = _pool()


def threads(n: int) -> int:
    """How many threads a call on ``n`` elements gets."""
    return 1 if n <= CHUNK or _forked else torch.get_num_threads()


@dataclass(frozen=True)
class Layout:
    """One combination of sizes and strides.

    Args:
        n: How many elements are visited.
        geometry: The address of its description; ``None`` if everything is contiguous.
        memory: What that address is in, to keep it alive.
        outputs: For each output, sizes and strides, or ``None`` where it is like the first element operand.
    """

    n: int
    geometry: int | None
    memory: Any
    outputs: tuple[Any, ...]


class Kernel:
    """A compiled program.

    Args:
        program: What it computes.

    Raises:
        CompileError: If there is no compiler or it fails.
    """

    def __init__(self, program: Program) -> None:
        found = compiler()
        if found is None:
            raise CompileError("there is no C compiler that can make kernels")
        self.program, self.source = program, emit(program)
        self.library = cache.library(self.source.text, found)
        memory.pool()  # its library, too, is made where nobody waits
        self.function: Any = self.library.pb_kernel
        self.outputs = [o for o in program.outputs if o is not None]
        pointers = len(program.operands) + len(self.outputs)
        self.packed: Any = self.library.pb_packed if program.packs else self.function
        for function in (self.function, self.packed):
            function.argtypes = [
                ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                *[ctypes.c_void_p] * pointers, *[ctypes.c_double] * len(program.numbers),
            ]  # fmt: skip
        self._layouts: dict[Any, Layout] = {}

    def __call__(self, tensors: Sequence[torch.Tensor], numbers: Sequence[float]) -> list[torch.Tensor | None]:
        """The outputs for operands of any layout; ``None`` where a gradient is zero.

        Raises:
            Misfit: If the operands do not broadcast as they did when the graph was traced.
        """
        for at, _ in self.source.after:  # few elements, beside sums
            tensors = [t.contiguous() if i == at else t for i, t in enumerate(tensors)]
        layout = self.layout(tensors)
        made = [memory.empty(s, t, o.dtype) for (s, t), o in zip(layout.outputs, self.outputs)]
        pointers = [t.data_ptr() for t in (*tensors, *made)]
        status = self.function(layout.n, layout.geometry, POOL, threads(layout.n), *pointers, *numbers)
        if status:
            raise Misfit("out of memory" if status == 2 else "a tensor without memory")
        results = iter(made)
        return [None if o is None else next(results) for o in self.program.outputs]

    def layout(self, tensors: Sequence[torch.Tensor]) -> Layout:
        """How operands of these sizes and strides are visited."""
        key = tuple((t.shape, t.stride()) for t in tensors)
        found = self._layouts.get(key)
        if found is None:
            if len(self._layouts) > 256:
                self._layouts.clear()
            found = self._layouts[key] = _layout(self.program, self.source, tensors)
        return found


def _layout(program: Program, source: Source, tensors: Sequence[torch.Tensor]) -> Layout:
    elements = [tensors[i] for i in source.elements]
    scalars = [t for t, o in zip(tensors, program.operands) if o.scalar]
    if any(t.numel() != 1 for t in scalars):
        raise Misfit("an argument that had one element has several")
    whole = _broadcast(tensors)
    if len(whole) != program.rank:
        raise Misfit("the arguments have other dimensions")
    order = _order(elements, whole)
    outputs: list[Any] = []
    strides = [_strides(t, whole) for t in elements]
    for out in (o for o in program.outputs if o is not None):
        if out.value.place == ELEMENT:
            mine = _dense(whole, order)
            strides.append(mine)
            outputs.append((whole, mine))
        else:
            cell = tuple(whole[d] if d >= 0 else 1 for d in out.dims)
            outputs.append((cell, tuple(_dense(cell, range(len(cell))))))
    groups = [_cells(whole, over) for over in source.groups]
    for at, over in source.after:
        if not tensors[at].is_contiguous() or tensors[at].numel() != _count(_cells(whole, over)[0]):
            raise Misfit("an argument beside a sum is not contiguous")
    strides += [_cell_strides(whole, over) for over in source.groups]
    n = _count(whole)
    sizes, steps = _coalesced([whole[d] for d in order], [[s[d] for d in order] for s in strides])
    simple = all(s == [1] or (s == [0] and i >= len(strides) - len(groups)) for i, s in enumerate(steps)) or n <= 1
    if simple and all(_count(c[0]) == 1 for c in groups) and len(sizes) <= 1:
        return Layout(n, None, None, tuple(outputs))
    if len(sizes) > MOST_DIMENSIONS:
        raise Misfit("too many dimensions")
    words = [len(sizes), *sizes]
    for s in steps:
        words += [int(_linear(s, sizes)), *s]
    words += [_count(c[0]) for c in groups]
    memory = (ctypes.c_int64 * len(words))(*words)
    return Layout(n, ctypes.addressof(memory), memory, tuple(outputs))


def _broadcast(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    try:
        return tuple(torch.broadcast_shapes(*(t.shape for t in tensors)))
    except RuntimeError as error:
        raise Misfit("the arguments do not broadcast") from error


def _strides(tensor: torch.Tensor, whole: tuple[int, ...]) -> list[int]:
    missing = [0] * (len(whole) - tensor.dim())
    return missing + [0 if n == 1 else s for n, s in zip(tensor.shape, tensor.stride())]


def _order(elements: Sequence[torch.Tensor], whole: tuple[int, ...]) -> list[int]:
    """The dimensions from outermost to innermost in memory, as the first operand of full shape has them."""
    steps = next((t.stride() for t in elements if tuple(t.shape) == whole and 0 not in t.stride()), None)
    dims = list(range(len(whole)))
    return dims if steps is None else sorted(dims, key=lambda d: (-steps[d], d))


def _dense(whole: tuple[int, ...], order: Sequence[int]) -> list[int]:
    strides, step = [0] * len(whole), 1
    for d in reversed(order):
        strides[d], step = step, step * max(whole[d], 1)
    return strides


def _cells(whole: tuple[int, ...], over: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes = tuple(1 if d in over else n for d, n in enumerate(whole))
    return sizes, tuple(_dense(sizes, range(len(sizes))))


def _cell_strides(whole: tuple[int, ...], over: tuple[int, ...]) -> list[int]:
    _, strides = _cells(whole, over)
    return [0 if d in over else s for d, s in enumerate(strides)]


def _count(sizes: Sequence[int]) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


def _coalesced(sizes: list[int], strides: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """The same walk in the fewest dimensions."""
    kept = [d for d, n in enumerate(sizes) if n != 1]
    out: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d in kept:
        if out and all(s[-1] == sizes[d] * t[d] for s, t in zip(steps, strides)):
            out[-1] *= sizes[d]
            for s, t in zip(steps, strides):
                s[-1] = t[d]
        else:
            out.append(sizes[d])
            for s, t in zip(steps, strides):
                s.append(t[d])
    if not out:
        return [1], [[1] if t else [0] for t in strides]
    return out, steps


def _linear(steps: Sequence[int], sizes: Sequence[int]) -> bool:
    return list(steps) == _dense(tuple(sizes), range(len(sizes)))
