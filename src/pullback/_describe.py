"""Tensors, signatures and places in code in short form, for every message and report."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch


def tensor(value: torch.Tensor) -> str:
    """A tensor in one word, such as ``float32[3, 4]`` or ``float32[3, 4] cuda:0``."""
    return like(value.shape, value.dtype, value.device)


def like(shape: Iterable[int], dtype: torch.dtype, device: torch.device) -> str:
    """Shape, dtype and device in the same form as `tensor`."""
    place = "" if device.type == "cpu" else f" {device}"
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]{place}"


def value(thing: object) -> str:
    """Anything in short form: tensors as ``float32[3]``, containers by their elements, others by type and repr."""
    if isinstance(thing, torch.Tensor):
        return tensor(thing)
    if isinstance(thing, (tuple, list)) and type(thing) in (tuple, list):
        inner = ", ".join(map(value, thing))
        return f"[{inner}]" if isinstance(thing, list) else f"({inner}{',' if len(thing) == 1 else ''})"
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{k!r}: {value(v)}" for k, v in thing.items()) + "}"
    if thing is None:
        return "None"
    return f"{type(thing).__name__} {_short(repr(thing))}"


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def names(words: Iterable[str]) -> str:
    """Names as a reader expects them: ``'x', 'low' and 'high'``."""
    quoted = [repr(word) for word in words]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted) or "none"


def place(fn: Callable[..., Any]) -> str:
    """Where a function is defined, as ``file.py:12``."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else getattr(fn, "__module__", None) or "built-in"
