"""Named values taken apart into their tensors and everything else, and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from pullback._torch import pytree


class Split:
    """The structure of named values without their tensors.

    Attributes:
        names: The names, in order.
        owners: For each tensor, the name of the value that it is in.
    """

    __slots__ = ("_leaves", "_specs", "names", "owners")

    def __init__(self, names: tuple[str, ...], specs: list[Any], leaves: list[list[Any]], owners: list[str]) -> None:
        self.names, self._specs, self._leaves, self.owners = names, specs, leaves, owners

    @classmethod
    def flat(cls, values: dict[str, Any]) -> Split:
        """The structure of values without containers, in which ``TENSOR`` stands for tensors."""
        owners = [name for name, value in values.items() if value is TENSOR]
        return cls(tuple(values), [None] * len(values), [[value] for value in values.values()], owners)

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, Any, list[Any]]]) -> Split:
        """The structure that `rows` gave."""
        names, specs, leaves = zip(*rows, strict=True)
        owners = [name for name, row in zip(names, leaves) for leaf in row if leaf is TENSOR]
        return cls(names, list(specs), list(leaves), owners)

    def rows(self) -> Iterator[tuple[str, Any, list[Any]]]:
        """Each name with its pytree spec (``None`` for a tensor or scalar) and its leaves."""
        yield from zip(self.names, self._specs, self._leaves)

    def join(self, tensors: Iterable[Any]) -> dict[str, Any]:
        """The named values with ``tensors`` in the places of the original ones."""
        supply = iter(tensors)
        values = {}
        for name, spec, leaves in zip(self.names, self._specs, self._leaves, strict=True):
            filled = [next(supply) if leaf is TENSOR else leaf for leaf in leaves]
            values[name] = filled[0] if spec is None else pytree.tree_unflatten(filled, spec)
        return values

    def parts(self, name: str, value: Any) -> list[Any] | None:
        """What ``value`` holds in the places of the tensors of ``name``; ``None`` if its structure differs."""
        index = self.names.index(name)
        spec, leaves = self._specs[index], self._leaves[index]
        if value is None:
            return [None for leaf in leaves if leaf is TENSOR]
        if spec is None:
            return [value]
        try:
            found = spec.flatten_up_to(value)
        except ValueError:
            return None
        return [part for part, leaf in zip(found, leaves, strict=True) if leaf is TENSOR]

    def forget(self, wanted: set[str]) -> None:
        """Let go of what is no tensor in the values whose names are not ``wanted``."""
        for name, row in zip(self.names, self._leaves):
            if name not in wanted:
                row[:] = [leaf if leaf is TENSOR else None for leaf in row]

    def is_tensor(self, name: str) -> bool:
        """Whether the value of that name is a tensor itself, not a container."""
        index = self.names.index(name)
        leaves = self._leaves[index]  # compared by identity: an array's == gives an array
        return self._specs[index] is None and len(leaves) == 1 and leaves[0] is TENSOR

    def rest(self, name: str) -> list[Any]:
        """The leaves of that name that are no tensors."""
        return [leaf for leaf in self._leaves[self.names.index(name)] if leaf is not TENSOR]


class _Tensor:
    def __repr__(self) -> str:
        return "TENSOR"


TENSOR = _Tensor()


def split(names: Sequence[str], values: Iterable[Any]) -> tuple[Split, list[torch.Tensor]]:
    """Take named values apart: tensors at any depth of tuples, lists, dicts (and registered pytrees) are found."""
    specs: list[Any] = []
    rows: list[list[Any]] = []
    owners: list[str] = []
    tensors: list[torch.Tensor] = []
    for name, value in zip(names, values, strict=True):
        leaves, spec = ([value], None) if isinstance(value, torch.Tensor) else pytree.tree_flatten(value)
        row = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                tensors.append(leaf)
                owners.append(name)
                leaf = TENSOR
            row.append(leaf)
        specs.append(None if spec is not None and spec.is_leaf() else spec)
        rows.append(row)
    return Split(tuple(names), specs, rows, owners), tensors
