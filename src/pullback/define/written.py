"""Named values written as text and read again: what a graph can hold besides tensors and sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch

from pullback import _describe
from pullback._torch import hint, pytree
from pullback.define.fit import Like
from pullback.define.split import TENSOR, Split
from pullback.errors import StackError

KINDS: dict[str, type] = {
    "dtype": torch.dtype,
    "device": torch.device,
    "layout": torch.layout,
    "memory_format": torch.memory_format,
}


def write(split: Split, sizes: list[Any]) -> list[Any]:
    """A structure as plain data; symbolic numbers in it are added to ``sizes``."""

    def plain(leaf: Any) -> Any:
        if leaf is TENSOR:
            return {"tensor": 0}
        if isinstance(leaf, (torch.SymInt, torch.SymFloat)):
            sizes.append(leaf)
            return {"size": len(sizes) - 1}
        for name, kind in KINDS.items():
            if isinstance(leaf, kind):
                return {name: str(leaf).removeprefix("torch.")}
        if isinstance(leaf, complex):
            return {"complex": [leaf.real, leaf.imag]}
        return {"value": leaf}

    return [[n, s and pytree.treespec_dumps(s), [plain(x) for x in row]] for n, s, row in split.rows()]


def read(rows: Sequence[Any], sizes: Sequence[Any]) -> Split:
    """The structure that `write` wrote."""

    def value(leaf: dict[str, Any]) -> Any:
        ((kind, said),) = leaf.items()
        if kind in ("tensor", "size"):
            return TENSOR if kind == "tensor" else sizes[said]
        if kind == "complex":
            return complex(*said)
        if kind == "device":
            return torch.device(said)
        return getattr(torch, said) if kind in KINDS else said

    return Split.of_rows([(n, s and pytree.treespec_loads(s), [value(x) for x in row]) for n, s, row in rows])


def write_likes(likes: Sequence[Like]) -> list[Any]:
    """What tensors look like, as plain data, with the sizes that they have been seen to have."""
    return [[[hint(n) for n in w.shape], str(w.dtype).removeprefix("torch."), str(w.device)] for w in likes]


def read_likes(data: Sequence[Any]) -> list[Like]:
    """What `write_likes` wrote."""
    return [Like(torch.Size(s), getattr(torch, t), torch.device(d)) for s, t, d in data]


def dumps(who: str, data: Any, values: Split) -> str:
    """Plain data as text.

    Raises:
        StackError: If it is none, because of a hyperparameter among ``values``.
    """
    try:
        return json.dumps(data)
    except TypeError:
        odd = [x for _, _, row in values.rows() for x in row if not isinstance(x, PLAIN) and x is not TENSOR]
        raise StackError(
            who,
            "in a recorded graph hyperparameters must be plain data (numbers, strings, booleans, None, dtypes)",
            _describe.value(odd),
            "pass the numbers themselves",
        ) from None


PLAIN: tuple[type, ...] = (bool, int, float, str, type(None), complex, torch.SymInt, *KINDS.values())
