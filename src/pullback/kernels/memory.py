"""Memory of large results: used again, where the platform allows it.

Small results, and all where the pool is switched off by ``PULLBACK_POOL=0`` or cannot be had, are PyTorch's own.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from pullback.kernels import cache as kept
from pullback.kernels.compile import CompileError, compiler, log

LARGE = 2 << 20
"""Bytes from which a result comes from the pool."""
_NAME = b"dltensor"
_INTEGER, _UNSIGNED, _FLOAT, _BRAIN, _BOOL = 0, 1, 2, 4, 6
_CODES = {
    torch.float32: _FLOAT, torch.float64: _FLOAT, torch.float16: _FLOAT, torch.bfloat16: _BRAIN, torch.bool: _BOOL,
    torch.uint8: _UNSIGNED, torch.int8: _INTEGER, torch.int16: _INTEGER, torch.int32: _INTEGER, torch.int64: _INTEGER,
}  # fmt: skip
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Pool:
    """The pool of this process.

    Args:
        library: The compiled pool.c.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self._tensor = library, library.pb_pool_tensor
        self._tensor.restype = ctypes.c_void_p
        self._tensor.argtypes = [
            ctypes.c_int64, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
        ]  # fmt: skip
        library.pb_pool_idle.restype = ctypes.c_size_t
        lock, unlock = library.pb_pool_lock, library.pb_pool_unlock  # a fork must not happen while a thread holds it
        os.register_at_fork(before=lock, after_in_parent=unlock, after_in_child=unlock)

    def tensor(self, sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype, bytes_: int) -> Any:
        """A tensor without content; ``None`` if there is no memory for it here."""
        words = ctypes.c_int64 * len(sizes)
        code = _CODES[dtype]
        found = self._tensor(bytes_, len(sizes), words(*sizes), words(*strides), code, 8 * dtype.itemsize)
        return None if found is None else from_dlpack(_capsule(found, _NAME, None))

    def idle(self) -> int:
        """Bytes that lie aside."""
        return int(self.library.pb_pool_idle())

    def trim(self) -> None:
        """Give what lies aside back to the system at once."""
        self.library.pb_pool_trim()


@cache
def pool() -> Pool | None:
    """The pool, made by the first kernel; ``None`` where there is none."""
    found = compiler() if sys.platform == "linux" else None
    if found is None:
        return None
    try:
        text = (files("pullback.kernels") / "pool.c").read_text(encoding="utf-8")
        return Pool(kept.library(text, found))
    except (CompileError, OSError, AttributeError) as error:
        log.info("large results are not pooled: %s", error)
        return None


def empty(sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A dense tensor without content, of these sizes and strides."""
    bytes_ = dtype.itemsize
    for size in sizes:
        bytes_ *= size
    if bytes_ >= LARGE and os.environ.get("PULLBACK_POOL") != "0" and (own := pool()) is not None:
        made = own.tensor(sizes, strides, dtype, bytes_)
        if made is not None:
            return made  # type: ignore[no-any-return]
    return torch.empty_strided(tuple(sizes), tuple(strides), dtype=dtype)


def empty_like(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A tensor without content like a contiguous one."""
    return empty(tensor.shape, tensor.stride(), dtype or tensor.dtype)
