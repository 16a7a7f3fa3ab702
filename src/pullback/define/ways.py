"""Other ways for plain eager calls, which higher layers add: a plan that keeps less, a compiled kernel.

A way is asked once for each Function, shape of call and set of arguments that need a gradient. It gets the eager way
and returns what shall serve such calls: that same way, or a function around it that takes over the calls that suit it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from pullback.define.eager import Shape
    from pullback.define.function import Function

Entry = Callable[..., Any]


class Way(Protocol):
    """Something that can serve calls."""

    def __call__(self, function: Function[..., Any], shape: Shape, needed: tuple[str, ...], eager: Entry) -> Entry:
        """What serves calls of ``function`` in which ``needed`` need a gradient, from what has served them so far.

        Args:
            function: The Function.
            shape: What its first call has shown.
            needed: The arguments that need a gradient; none where no gradient can be asked for.
            eager: Takes one value for each parameter. Returns what the forward returns if nothing is needed; else
                the output's tensors, flat, then those that ``shape.hidden`` names (one tensor alone is no tuple).

        Returns:
            A function of the same arguments and results, or ``eager`` itself.
        """


class Foresight(Protocol):
    """Something that can tell what a first call will show without running forward on its values."""

    def __call__(self, function: Function[..., Any], values: Sequence[Any]) -> Shape | None:
        """What a call with these values would show, or ``None`` where that is not known or not worth knowing."""


FORESIGHT: list[Foresight] = []
"""Asked before the first call, so that a way can serve it too: a call and its repetition keep the same tensors."""

WAYS: list[Way] = []
"""All ways, the last one asked last: it sees what the others have made of the eager way."""


@dataclass(frozen=True)
class Account:
    """What a way has to say about calls of a Function.

    Args:
        path: What the way is called, where it serves them; else nothing.
        reason: Why it does, or does not.
        kept: Name, source, shape, dtype, bytes and rules of all that is kept, where it serves them.
        lines: More for the reader.
        kernels: The text in C of the kernels that serve them.
    """

    path: str
    reason: str
    kept: tuple[tuple[str, str, tuple[int, ...], torch.dtype, int, tuple[str, ...]], ...] = ()
    lines: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()


class Teller(Protocol):
    """Something that can give an account of a way."""

    def __call__(self, function: Function[..., Any], needed: tuple[str, ...], values: Sequence[Any]) -> Account:
        """The account of calls with values like these, in which ``needed`` need a gradient."""


TELLERS: list[Teller] = []
"""One for each way that ``describe`` speaks of."""


class Writer(Protocol):
    """Something that can write a Function with derived rules as Python code."""

    def __call__(self, function: Function[..., Any], to: str) -> str:
        """The code, in the form ``to``."""


WRITERS: list[Writer] = []
"""Whoever can write code; the first one is asked."""


def through_all(function: Function[..., Any], shape: Shape, needed: tuple[str, ...], eager: Entry) -> Entry:
    """The eager way as all ways have changed it."""
    for way in WAYS:
        eager = way(function, shape, needed, eager)
    return eager


def foreseen(function: Function[..., Any], values: Sequence[Any]) -> Shape | None:
    """What a first call will show, if anybody knows."""
    return next((shape for ask in FORESIGHT if (shape := ask(function, values)) is not None), None)
