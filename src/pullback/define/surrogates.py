"""Functions whose gradient is meant to differ from their derivative."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pullback import _describe
from pullback.define.decorate import function_from
from pullback.define.function import Function
from pullback.define.signature import with_parameter
from pullback.errors import DefinitionError

R = TypeVar("R")


def surrogate(
    forward: Callable[..., R],
    like: Callable[..., Any],
    args: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
) -> Function[..., R]:
    """A Function with the values of one function and the gradient of another.

    Args:
        forward: What the values are.
        like: The smooth function whose derivative is borrowed. It may have parameters that ``forward`` has not, such
            as a slope; the Function then takes them, too.
        args: The arguments that get a gradient; all parameters of ``like`` if not given.
        name: The Function's name; the forward's if not given.

    Returns:
        The Function.

    Raises:
        DefinitionError: If an argument in ``args`` does not exist, or neither function has all parameters.

    Example:
        >>> import torch, pullback as pb
        >>> spike = pb.surrogate(lambda x: (x > 0).float(), like=lambda x, slope: torch.sigmoid(slope * x))
        >>> x = torch.zeros(1, requires_grad=True)
        >>> spike(x, 4.0).backward(); x.grad
        tensor([1.])
    """
    like = with_parameter(like, next(iter(inspect.signature(_python_function(forward)).parameters), "x"))
    made = function_from(_named(_with_parameters_of(forward, like), name))
    if inspect.isfunction(forward):
        made.__pullback__.where = _describe.place(forward)  # what takes more parameters is made here
    chosen = tuple(inspect.signature(like).parameters) if args is None else (args,) if isinstance(args, str) else args
    return made.grad_like(chosen, like)  # type: ignore[no-any-return]


def straight_through(forward: Callable[..., R], arg: str | None = None, *, name: str | None = None) -> Function[..., R]:
    """A Function that passes its cotangent straight through, as if it were the identity.

    Args:
        forward: What the values are; its result has the shape of the argument.
        arg: The argument that gets the cotangent; the first if not given. Others can be given rules.
        name: The Function's name; the forward's if not given.

    Returns:
        The Function.

    Example:
        >>> import torch, pullback as pb
        >>> rounded = pb.straight_through(torch.round)
        >>> x = torch.tensor([0.6], requires_grad=True)
        >>> rounded(x).backward(); x.grad
        tensor([1.])
    """
    made = function_from(_named(_python_function(forward), name))
    made.grad(arg or next(iter(made.__pullback__.params)))(lambda g: g)
    return made  # type: ignore[no-any-return]


def _with_parameters_of(forward: Callable[..., Any], like: Callable[..., Any]) -> Callable[..., Any]:
    """``forward``, taking the parameters that only ``like`` has as well."""
    plain = _python_function(forward)
    own, other = inspect.signature(plain), inspect.signature(like)
    extra = [p for n, p in other.parameters.items() if n not in own.parameters]
    if not extra:
        return plain
    kinds = {p.kind.name for p in (*own.parameters.values(), *extra)}
    if kinds - {"POSITIONAL_OR_KEYWORD"}:
        raise DefinitionError(
            f"surrogate({plain.__name__})",
            "the forward and the smooth function take ordinary named parameters",
            f"{plain.__name__}{own} and {other}",
            "give the forward all parameters that the smooth function has",
        )
    count = len(own.parameters)

    @functools.wraps(plain)
    def wide(*args: Any) -> Any:
        return plain(*args[:count])

    del wide.__wrapped__
    ordered = sorted((*own.parameters.values(), *extra), key=lambda p: p.default is not p.empty)
    wide.__signature__ = own.replace(parameters=ordered)  # type: ignore[attr-defined]
    return wide


def _named(fn: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """``fn`` under another name: a copy, as the function may be the caller's."""
    if name is None:
        return fn
    own = types.FunctionType(fn.__code__, fn.__globals__, name, fn.__defaults__, fn.__closure__)
    own.__kwdefaults__, own.__module__, own.__doc__ = fn.__kwdefaults__, fn.__module__, fn.__doc__
    own.__dict__.update(fn.__dict__)
    return own


def _python_function(forward: Callable[..., Any]) -> Callable[..., Any]:
    """``forward`` if it is a function of one's own; else a function around it (torch.round, a partial)."""
    if inspect.isfunction(forward):
        return forward
    if not callable(forward):
        raise DefinitionError("surrogate", "the forward is a function", _describe.value(forward), "pass a function")

    def around(x: Any) -> Any:
        return forward(x)

    around.__name__ = around.__qualname__ = getattr(forward, "__name__", type(forward).__name__)
    return around
