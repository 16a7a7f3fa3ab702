"""``@pullback.function``: an ordinary Python function around a `Function`."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from pullback import _describe
from pullback._torch import (
    AutogradFunction,
    autocast_enabled,
    compiling,
    dispatch_modes,
    forward_ad,
    function_modes,
    in_transform,
    jit_tracing,
    pre_dispatch_modes,
)
from pullback.define import compiled
from pullback.define.eager import entry
from pullback.define.function import Function
from pullback.define.source import compiled as compile_source
from pullback.define.source import prefix
from pullback.define.stacks import general
from pullback.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")
METHODS = ("grad", "jvp", "derive", "nondiff", "grad_like", "fake", "describe", "source")


@overload
def function(fn: Callable[P, R], /) -> Function[P, R]: ...
@overload
def function(
    *,
    inplace: str | None = None,
    autocast: str = "leave",
    keep: str = "lossless",
    fuse: bool | str = "auto",
    opaque: str | None = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(
    fn: Any = None,
    /,
    *,
    inplace: str | None = None,
    autocast: str = "leave",
    keep: str = "lossless",
    fuse: bool | str = "auto",
    opaque: str | None = None,
) -> Any:
    """Make a differentiable function with rules of its own.

    Used as a decorator on a forward written with plain PyTorch. Rules are attached with ``@f.grad("x")``; without
    any, the gradients are derived from the forward. See `Function` for all that can be declared.

    Args:
        fn: The forward. Tensors at any depth of its arguments are tracked; all else are hyperparameters.
        inplace: The argument that the forward changes in place and returns.
        autocast: Under autocast, run the forward as it is (``"leave"``), in ``"float32"``, or in autocast's dtype
            (``"autocast"``); rules run under the same state.
        keep: What plain eager calls with many elements keep for backward: the least from which the gradient comes
            out as written (``"lossless"``), less where the error stays in the dtype's budget (``"small"``), or
            exactly what rules name (``"named"``).
        fuse: Serve plain calls on the CPU by one compiled kernel each for forward and backward, where what the
            Function computes allows it: once it is compiled in the background (``"auto"``), always, waiting for the
            compiler (``True``), or never (``False``). The variable ``PULLBACK_FUSE=0`` turns it off everywhere.
        opaque: A name, ``"namespace::name"``, for code that leaves PyTorch (NumPy, ctypes, any Python): forward and
            rules become operators of that name, into which no stack looks. Say what the forward returns with
            ``@f.fake``.

    Returns:
        A Python function with the forward's signature, and the methods of `Function` as attributes.

    Raises:
        DefinitionError: If ``fn`` is no function with named parameters, or stands in a class body.

    Example:
        >>> import torch, pullback as pb
        >>> @pb.function
        ... def clip(x, bound=1.0):
        ...     return x.clamp(-bound, bound)
        >>> @clip.grad("x")
        ... def _(g, x, bound):
        ...     return g * (x.abs() <= bound)
        >>> x = torch.tensor([0.5, 2.0], requires_grad=True)
        >>> clip(x).sum().backward(); x.grad
        tensor([1., 0.])
    """
    options = {"inplace": inplace, "autocast": autocast, "keep": keep, "fuse": fuse, "opaque": opaque}
    if fn is None:
        return lambda f: function_from(f, **options)
    return function_from(fn, **options)


def function_from(fn: Callable[..., Any], **options: Any) -> Any:
    """The Python function that users hold, for a forward."""
    _check_forward(fn)
    made = Function(fn, **options)
    face = functools.update_wrapper(_face(made), fn)
    face.__signature__ = made.arguments.signature  # type: ignore[attr-defined]
    face.__pullback__ = made  # type: ignore[attr-defined]
    for name in METHODS:
        setattr(face, name, getattr(made, name))
    made.face = face
    return face


def _face(made: Function[..., Any]) -> types.FunctionType:
    """A function with the forward's signature that picks the form for each call."""
    p = prefix(made)
    values = "".join(f"{n}, " for n in made.params)
    graph = f"{p}compiled_call({p}token, {p}outside, ({values}))"
    if made.inplace:
        fresh = "".join(f"{n}.clone(), " if n == made.inplace else f"{n}, " for n in made.params)
        graph = f"{made.inplace}.copy_({p}compiled_call({p}token, {p}outside, ({fresh})))"
    name = made.name if made.name.isidentifier() else f"{p}unnamed"
    lines = [
        f"def {name}({made.arguments.header(p + 'default_')}):",
        f" if {p}compiling(): return {graph}",
        f" if {p}transform() or {p}dual._current_level >= 0 or {p}modes() or {p}autocast() or {p}jit() or \\",
        f"   {p}function_modes() and {p}pre_dispatch():",
        f"  return {p}general({p}function, ({values}))",
        f" {p}types = ({''.join(f'{n}.__class__, ' for n in made.params)})",
        f" {p}way = {p}get({p}types)",
        f" if {p}way is None: {p}way = {p}entry({p}function, {p}types)",
        f" return {p}way({', '.join(made.params)})",
    ]
    names = {
        "compiled_call": compiled.call, "token": made.token, "outside": compiled.Outside(made), "compiling": compiling,
        "transform": in_transform, "dual": forward_ad, "modes": dispatch_modes, "autocast": autocast_enabled,
        "function_modes": function_modes, "pre_dispatch": pre_dispatch_modes, "jit": jit_tracing,
        "general": general, "function": made, "get": made.entries.get, "entry": entry,
    }  # fmt: skip
    names |= made.arguments.defaults("default_")
    return compile_source(made, p, lines, names)[name]  # type: ignore[no-any-return]


def _check_forward(fn: Any) -> None:
    name = getattr(fn, "__name__", type(fn).__name__)
    where = _describe.place(fn) if callable(fn) else ""
    if isinstance(fn, type) and issubclass(fn, AutogradFunction):
        raise DefinitionError(
            name, "@pb.function decorates a forward", "an autograd.Function class", f"pb.from_autograd({name})"
        )
    if getattr(fn, "__pullback__", None) is not None:
        raise DefinitionError(f"{name} ({where})", "is a Function already", "@pb.function twice", "remove one")
    if not isinstance(fn, types.FunctionType):
        raise DefinitionError(
            name,
            "@pb.function decorates a Python function with named parameters",
            _describe.value(fn),
            "write def f(x): return … around it",
        )
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn):
        raise DefinitionError(
            f"{name} ({where})", "a forward returns its result", "a generator or coroutine", "return it"
        )
    outer = fn.__qualname__.rpartition(".")[0]
    if outer and not outer.endswith(">"):  # <locals>, <listcomp>: not a class
        raise DefinitionError(
            f"{fn.__qualname__} ({where})",
            "a Function stands outside of classes",
            "@pb.function in a class body",
            f"define it beside the class and call it there, with the parameters as arguments:\n"
            f"         @pb.function\n"
            f"         def {name}_function(x, weight): ...\n"
            f"         def {name}(self, x): return {name}_function(x, self.weight)",
        )


def function_of(thing: Any) -> Function[..., Any] | None:
    """The `Function` behind a Python function that `function` made."""
    return getattr(thing, "__pullback__", None)
