"""What is checked: an autograd.Function, an operator of torch.library, a pullback Function, any callable or module."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from pullback import _torch
from pullback.check.context import Context
from pullback.check.placed import Placed


@dataclass(frozen=True)
class Target:
    """One differentiable thing, in the few words that every probe uses.

    ``apply`` is the real call; ``plain`` is its forward as ordinary PyTorch code (given a stand-in context), or None
    where there is none; ``backward`` takes a context and the incoming gradients, or is None where it cannot be called
    by hand.
    """

    name: str
    kind: str
    subject: Any
    apply: Callable[..., Any]
    plain: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None
    parameters: tuple[str, ...] = ()
    variadic: str | None = None
    file: str | None = None
    line: int | None = None
    context: str = "ctx"
    incoming: str = "grad_output"
    call: Callable[..., Any] | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def has_rules(self) -> bool:
        """Whether it is a pullback Function with rules of its own, not those of a class."""
        return self.kind == "pullback.Function" and not self.subject.__pullback__.code

    @property
    def function(self) -> type[torch.autograd.Function] | None:
        """The class, when the target is an autograd.Function."""
        return self.subject if self.kind == "autograd.Function" else None

    def parameter(self, position: int) -> str:
        """The name of the argument at a position, ``weights[1]`` for the second of ``*weights``."""
        if position < len(self.parameters):
            return self.parameters[position]
        return f"{self.variadic or 'args'}[{position - len(self.parameters)}]"


def target(subject: Any, call: Callable[..., Any] | None = None) -> Target:
    """What ``subject`` is."""
    owner = getattr(subject, "__self__", None)
    if getattr(subject, "__name__", "") == "apply" and is_function(owner):
        subject = owner
    if is_function(subject):
        return _autograd(subject, call)
    if isinstance(subject, torch.nn.Module):
        return _plain(subject, "module", type(subject).__name__, subject.forward, call or Placed(subject))
    if _torch.is_custom_op(subject):
        return _operator(subject, call)
    if _is_pullback(subject):
        return _pullback(subject, call)
    return _plain(subject, "callable", getattr(subject, "__name__", type(subject).__name__), subject, call)


def is_function(subject: Any) -> bool:
    """Whether ``subject`` is a class derived from torch.autograd.Function."""
    return isinstance(subject, type) and issubclass(subject, torch.autograd.Function)


def has_setup(cls: type[torch.autograd.Function]) -> bool:
    """Whether a class has the newer form, with ``setup_context`` apart from ``forward``."""
    return cls.setup_context is not torch.autograd.Function.setup_context


def own_backward(cls: type[torch.autograd.Function]) -> Callable[..., Any] | None:
    """The class's ``backward`` (or ``vjp``), None when it has none."""
    for name in ("backward", "vjp"):
        method = getattr(cls, name, None)
        if method is not None and method is not getattr(torch.autograd.Function, name):
            return method  # type: ignore[no-any-return]
    return None


def _autograd(cls: type[torch.autograd.Function], call: Callable[..., Any] | None) -> Target:
    backward = own_backward(cls)
    names, variadic = _parameters(cls.forward, skip=0 if has_setup(cls) or inspect.ismethod(cls.forward) else 1)
    if inspect.ismethod(cls.forward) and not has_setup(cls):
        names = names[1:]
    file, line = _place(cls)
    incoming = _parameters(backward, skip=0)[0] if backward else ()
    return Target(
        name=cls.__name__,
        kind="autograd.Function",
        subject=cls,
        apply=call or cls.apply,
        plain=forward_of(cls),
        backward=backward,
        parameters=names,
        variadic=variadic,
        file=file,
        line=line,
        context=incoming[0] if incoming else "ctx",
        incoming=incoming[1] if len(incoming) > 1 else "grad_output",
        call=call,
    )


def forward_of(cls: type[torch.autograd.Function]) -> Callable[..., Any]:
    """The forward of a class as a function of a stand-in context and the arguments."""

    def old(ctx: Context, *args: Any) -> Any:
        return cls.forward(ctx, *args)

    def new(ctx: Context, *args: Any) -> Any:
        bound = inspect.signature(cls.forward).bind(*args)
        bound.apply_defaults()
        output = cls.forward(*bound.args)
        cls.setup_context(ctx, bound.args, output)
        return output

    return new if has_setup(cls) else old


def _operator(subject: Any, call: Callable[..., Any] | None) -> Target:
    parts = _torch.custom_op_parts(subject)

    def plain(ctx: Context, *args: Any) -> Any:
        if parts.forward is None:
            raise LookupError("no forward to run")
        output = parts.forward(*args)
        if parts.setup_context is not None:
            parts.setup_context(ctx, args, output)
        return output

    names, variadic = _parameters(parts.forward, skip=0) if parts.forward else ((), None)
    file, line = _place(parts.forward) if parts.forward else (None, None)
    return Target(
        name=parts.name,
        kind="operator",
        subject=subject,
        apply=call or subject,
        plain=plain if parts.forward else None,
        backward=parts.backward,
        parameters=names,
        variadic=variadic,
        file=file,
        line=line,
        call=call,
    )


def _is_pullback(subject: Any) -> bool:
    return callable(subject) and hasattr(subject, "__pullback__")


def _pullback(subject: Any, call: Callable[..., Any] | None) -> Target:
    forward = inspect.unwrap(subject)
    names, variadic = _parameters(forward, skip=0)
    file, line = _place(forward)
    where, _, at = subject.__pullback__.where.rpartition(":")
    if where and where != file:  # the forward is made by pullback, around what somebody wrote elsewhere
        file, line = where, int(at)

    def plain(ctx: Context, *args: Any) -> Any:
        return forward(*args)

    return Target(
        name=subject.__name__,
        kind="pullback.Function",
        subject=subject,
        apply=call or subject,
        plain=plain,
        parameters=names,
        variadic=variadic,
        file=file,
        line=line,
        call=call,
    )


def _plain(
    subject: Any, kind: str, name: str, signature: Callable[..., Any], call: Callable[..., Any] | None
) -> Target:
    names, variadic = _parameters(signature, skip=0)
    file, line = _place(type(subject) if kind == "module" else subject)
    return Target(
        name=name,
        kind=kind,
        subject=subject,
        apply=call or subject,
        parameters=names,
        variadic=variadic,
        file=file,
        line=line,
        call=call,
    )


@functools.lru_cache(maxsize=256)
def _parameters_of(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(fn).parameters.values())


def _parameters(fn: Callable[..., Any], skip: int) -> tuple[tuple[str, ...], str | None]:
    try:
        parameters = _parameters_of(fn)
    except (TypeError, ValueError):
        return (), None
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(names[skip:]), variadic


def _place(thing: Any) -> tuple[str | None, int | None]:
    try:
        return _found_in(thing)
    except TypeError:  # what has no hash is looked for every time
        return _found_in.__wrapped__(thing)


@functools.lru_cache(maxsize=256)  # a file is parsed for its line numbers
def _found_in(thing: Any) -> tuple[str | None, int | None]:
    try:
        file = inspect.getsourcefile(thing)
        line = inspect.getsourcelines(thing)[1]
    except (TypeError, OSError):
        return None, None
    return (portable(file) if file else None), line


def portable(file: str) -> str:
    """A path relative to the working directory where it lies below it, with forward slashes."""
    relative = os.path.relpath(file)
    return (file if relative.startswith("..") else relative).replace(os.sep, "/")
