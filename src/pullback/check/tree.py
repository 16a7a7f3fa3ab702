"""Tensors inside tuples, lists and dicts: the same few words for arguments, outputs and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch


def leaves(thing: Any) -> list[Any]:
    """Everything in ``thing`` that is not a container, in order."""
    if isinstance(thing, dict):
        return [leaf for value in thing.values() for leaf in leaves(value)]
    if isinstance(thing, (tuple, list)):
        return [leaf for value in thing for leaf in leaves(value)]
    return [thing]


def tensors(thing: Any) -> list[torch.Tensor]:
    """The tensors among the leaves."""
    return [leaf for leaf in leaves(thing) if isinstance(leaf, torch.Tensor)]


def transform(fn: Callable[[Any], Any], thing: Any) -> Any:
    """The same structure with ``fn`` applied to every leaf."""
    if isinstance(thing, dict):
        return {key: transform(fn, value) for key, value in thing.items()}
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return type(thing)(*[transform(fn, value) for value in thing])
    if isinstance(thing, (tuple, list)):
        return type(thing)([transform(fn, value) for value in thing])
    return fn(thing)


def rebuild(thing: Any, flat: Iterator[Any]) -> Any:
    """The same structure with its leaves taken from ``flat`` in order."""
    return transform(lambda _: next(flat), thing)


def paths(thing: Any, prefix: str = "") -> list[str]:
    """A name for every leaf, such as ``params[0]`` or ``options['scale']``."""
    if isinstance(thing, dict):
        return [path for key, value in thing.items() for path in paths(value, f"{prefix}[{key!r}]")]
    if isinstance(thing, (tuple, list)):
        return [path for index, value in enumerate(thing) for path in paths(value, f"{prefix}[{index}]")]
    return [prefix]


def is_differentiable(leaf: Any) -> bool:
    """Whether a gradient can be asked for: a floating or complex tensor."""
    return isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())
