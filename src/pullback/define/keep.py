"""What a forward keeps for its rules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from pullback.errors import DefinitionError, UsageError

T = TypeVar("T")

MARK = "_pullback_forward"  # a global of the modules (this one, generated code) whose frames run forwards
_pullback_forward = True


class Kept:
    """A forward's output together with what it keeps, by name."""

    __slots__ = ("named", "out")

    def __init__(self, out: Any, named: dict[str, Any]) -> None:
        self.out, self.named = out, named


def keep(out: T, /, **named: Any) -> T:
    """The output of a forward, together with residuals that its rules may name.

    Return the result from the forward of a Function; callers of the Function see only ``out``.

    Args:
        out: What the forward returns.
        **named: Residuals by name: tensors, containers of tensors, or any other object. Only those that a rule
            names, for an argument that needs a gradient, are kept.

    Returns:
        ``out`` for the callers of the Function.

    Raises:
        UsageError: If called outside the forward of a Function, or without any residual.

    Example:
        >>> import torch, pullback as pb
        >>> @pb.function
        ... def relu(x):
        ...     positive = x > 0
        ...     return pb.keep(x.clamp(min=0), positive=positive)
        >>> @relu.grad("x")
        ... def _(g, positive):
        ...     return g * positive
        >>> relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    try:
        usual = named and "out" not in named and sys._getframe(2).f_globals.get(MARK)
    except ValueError:  # no frame there: called by a module's own code
        usual = False
    if not usual:
        _check(named)
    return Kept(out, named)  # type: ignore[return-value]


def _check(named: dict[str, Any]) -> None:
    if not named:
        raise UsageError("pullback.keep", "needs at least one residual by name", "none", "pb.keep(out, mask=mask)")
    if "out" in named:
        raise DefinitionError("pullback.keep", "'out' always means the output", "a residual called 'out'", "rename it")
    if not _inside_a_forward():
        raise UsageError(
            "pullback.keep",
            "may only be called while the forward of a pullback Function runs",
            f"a call from {_caller()}",
            "decorate the function that returns it with @pb.function",
        )


def run_forward(fn: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The result of a forward, in a frame in which `keep` may be called."""
    return fn(*args, **keywords)


def without_kept(result: Any) -> Any:
    """What callers see of a forward's result."""
    return result.out if type(result) is Kept else result


def _inside_a_forward() -> bool:
    frame = sys._getframe(3)
    while frame is not None:
        if frame.f_globals.get(MARK):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _caller() -> str:
    frame = sys._getframe(3)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
