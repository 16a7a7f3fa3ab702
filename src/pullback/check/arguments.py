"""The arguments of one call: what takes a gradient, copies of it, the same with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from pullback.check import tree
from pullback.check.target import Target


@dataclass(frozen=True)
class Arguments:
    """Positional arguments without history; ``diff`` are the positions, among all leaves, that take gradients."""

    values: tuple[Any, ...]
    diff: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def leaves(self) -> list[Any]:
        """All leaves of the arguments."""
        return tree.leaves(self.values)

    @property
    def differentiable(self) -> list[torch.Tensor]:
        """The tensors that take gradients."""
        flat = self.leaves
        return [flat[i] for i in self.diff]

    @property
    def diff_names(self) -> list[str]:
        """The names of the arguments that take gradients."""
        return [self.names[i] for i in self.diff]

    def with_leaves(self, flat: Sequence[Any]) -> Arguments:
        """The same arguments with other leaves."""
        return replace(self, values=tree.rebuild(self.values, iter(flat)))

    def with_differentiable(self, tensors: Sequence[torch.Tensor]) -> Arguments:
        """The same arguments with other values where gradients are taken."""
        flat = self.leaves
        for position, value in zip(self.diff, tensors, strict=True):
            flat[position] = value
        return self.with_leaves(flat)

    def map(self, fn: Callable[[Any], Any]) -> Arguments:
        """The same arguments with ``fn`` applied to every leaf."""
        return self.with_leaves([fn(leaf) for leaf in self.leaves])

    def only(self, *positions: int) -> Arguments:
        """The same arguments with gradients for some leaves only."""
        return replace(self, diff=tuple(positions))

    def position(self, leaf: int) -> int:
        """Which top-level argument a leaf belongs to."""
        ends, total = [], 0
        for value in self.values:
            total += len(tree.leaves(value))
            ends.append(total)
        return next(i for i, end in enumerate(ends) if leaf < end)

    def needs(self) -> tuple[bool, ...]:
        """What ``ctx.needs_input_grad`` says for these arguments."""
        wanted = {self.position(i) for i in self.diff}
        return tuple(i in wanted for i in range(len(self.values)))

    def nested(self) -> list[str]:
        """Names of arguments that hide tensors inside a list, tuple or dict."""
        found = [i for i in self.diff if not isinstance(self.values[self.position(i)], torch.Tensor)]
        return list(dict.fromkeys(self.names[i].split("[")[0] for i in found))

    def fresh(self) -> tuple[list[torch.Tensor], tuple[Any, ...]]:
        """New leaves that require gradients, and arguments computed from them that no experiment can spoil."""
        flat, leaves = [], []
        for index, value in enumerate(self.leaves):
            if index in self.diff:
                leaf = value.detach().clone().requires_grad_()
                leaves.append(leaf)
                flat.append(leaf.clone())
            else:
                flat.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)
        return leaves, self.with_leaves(flat).values

    def constant(self) -> tuple[Any, ...]:
        """Copies of the arguments of which none requires a gradient."""
        return tree.transform(_copy, self.values)  # type: ignore[no-any-return]


def _copy(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def arguments(target: Target, values: Sequence[Any]) -> Arguments:
    """The arguments of a call; gradients are taken where asked for, or everywhere possible if nowhere asked for."""
    flat = tree.leaves(tuple(values))
    names = [name for position, value in enumerate(values) for name in tree.paths(value, target.parameter(position))]
    asked = [i for i, leaf in enumerate(flat) if tree.is_differentiable(leaf) and leaf.requires_grad]
    diff = asked or [i for i, leaf in enumerate(flat) if tree.is_differentiable(leaf)]
    clean = tree.transform(lambda t: t.detach() if isinstance(t, torch.Tensor) else t, tuple(values))
    return Arguments(clean, tuple(diff), tuple(names))


DOUBLE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
DOUBLE[torch.complex64] = torch.complex128


def double(leaf: Any) -> Any:
    """A tensor of low precision in float64; anything else as it is."""
    if isinstance(leaf, torch.Tensor) and leaf.dtype in DOUBLE:
        return leaf.to(DOUBLE[leaf.dtype])
    return leaf
