"""`from_autograd`: an autograd.Function that somebody wrote, as a Function.

Its forward and backward run as they are, with a stand-in for ``ctx``; what they store on it is kept like any other
residual. So the class gains torch.func, vmap, forward mode and compile, and its second derivative goes through the
kept values instead of silently treating them as constants.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback import _describe
from pullback._torch import AutogradFunction
from pullback.define.decorate import function_from
from pullback.define.derivative import differentiable
from pullback.define.function import Function
from pullback.define.keep import keep
from pullback.define.rule import Rule
from pullback.errors import DefinitionError, RuleResultError

BASE = AutogradFunction


class Context:
    """Stands in for ``ctx``: takes what forward stores and gives it to backward."""

    def __init__(self, needs: Sequence[bool], saved: Any = (), attributes: dict[str, Any] | None = None) -> None:
        self.__dict__.update(attributes or {})
        self.needs_input_grad = tuple(needs)
        self.saved_tensors = saved
        self._pullback_forward: Any = ()
        self._pullback_dirty: tuple[Any, ...] = ()
        self._pullback_constant: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for forward mode."""
        self._pullback_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Note what forward changes in place."""
        self._pullback_dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Note the outputs that have no gradient."""
        self._pullback_constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Accept the request: cotangents that did not come are zeros without memory."""

    def stored(self) -> dict[str, Any]:
        """The attributes that the author's forward set."""
        own = vars(Context((), ()))
        return {name: value for name, value in vars(self).items() if name not in own}


@dataclass(frozen=True, eq=False)
class ClassicRule(Rule):
    """The backward of an autograd.Function, for any of its arguments."""

    cls: Any = None

    def bind(self, needed: Sequence[str]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Backward, told which arguments need a gradient."""

        def run(g: Any, state: Any) -> Any:
            needs = [name in needed for name in state["inputs"]]
            ctx = Context(needs, state["saved"], state["attributes"])
            cotangents = [torch.zeros_like(t) if i in state["constant"] else t for i, t in enumerate(_flat(g))]
            return self._by_argument(needed, state["inputs"], self.cls.backward(ctx, *cotangents))

        return run, tuple(needed)

    def _by_argument(self, needed: Sequence[str], inputs: Sequence[str], result: Any) -> Any:
        grads = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(grads) < len(inputs) or any(g is not None for g in grads[len(inputs) :]):
            raise RuleResultError(
                f"{self.cls.__name__}.backward ({self.where})",
                f"must return {len(inputs)} gradients, one for each input of forward",
                f"{len(grads)}",
                "return None for inputs without a gradient",
            )
        found = {name: [g for g, owner in zip(grads, inputs) if owner == name] for name in needed}
        values = [tuple(found[n]) if inputs.count(n) != 1 or n == self.starred else found[n][0] for n in needed]
        return values[0] if len(values) == 1 else tuple(values)

    starred: str | None = None


def from_autograd(cls: type[torch.autograd.Function], *, inplace: str | None = None) -> Function[..., Any]:
    """An autograd.Function as a Function: its rules in every stack, and second derivatives that are right or loud.

    Args:
        cls: The class, in the form ``forward(ctx, …)`` or with ``setup_context``.
        inplace: The argument that its forward marks as dirty.

    Returns:
        A Function with the parameters of the class's forward.

    Raises:
        DefinitionError: If ``cls`` is no autograd.Function with static methods.

    Example:
        >>> import torch, pullback as pb
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad_output):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad_output
        >>> square = pb.from_autograd(Square)
        >>> torch.vmap(torch.func.grad(square))(torch.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 6.])
    """
    _check(cls)
    signature = _signature(cls)
    state = "state"
    while state in signature.parameters:
        state += "_"
    made = function_from(_forward(cls, signature, state, inplace), inplace=inplace)
    args = tuple(signature.parameters)
    starred = next((n for n, p in signature.parameters.items() if p.kind is p.VAR_POSITIONAL), None)
    where = _describe.place(cls.backward)
    once = getattr(cls.backward, "__wrapped__", None) is not None
    made.__pullback__.code = tuple(getattr(cls, n) for n in ("forward", "setup_context", "backward"))
    made.__pullback__.where = _describe.place(cls.forward)
    rule = ClassicRule(_reads_all, args, (state,), where, cls=cls, starred=starred, opaque=once)
    made.__pullback__.attach(rule)
    if cls.jvp is not BASE.jvp:
        made.__pullback__.attach_jvp(args, _jvp(cls, len(args), state))
    return made  # type: ignore[no-any-return]


def _forward(cls: Any, signature: inspect.Signature, state: str, inplace: str | None) -> Callable[..., Any]:
    def forward(*args: Any) -> Any:
        ctx = Context([isinstance(a, torch.Tensor) and differentiable(a) for a in args])
        if _new_style(cls):
            out = cls.forward(*args)
            cls.setup_context(ctx, args, out)
        else:
            out = cls.forward(ctx, *args)
        if ctx._pullback_dirty and inplace is None:
            raise DefinitionError(
                f"from_autograd({cls.__name__})",
                "needs to know what forward changes in place",
                f"a forward that marks {len(ctx._pullback_dirty)} tensors as dirty",
                f'from_autograd({cls.__name__}, inplace="{next(iter(signature.parameters))}")',
            )
        constant = [i for i, o in enumerate(_flat(out)) if any(o is c for c in ctx._pullback_constant)]
        kept = {"saved": ctx.saved_tensors, "forward": ctx._pullback_forward, "attributes": ctx.stored()}
        return keep(out, **{state: {**kept, "inputs": _owners(signature, args), "constant": constant}})

    forward.__signature__ = signature  # type: ignore[attr-defined]
    forward.__name__ = forward.__qualname__ = cls.__name__
    forward.__module__, forward.__doc__ = cls.__module__, cls.__doc__
    return forward


def _jvp(cls: Any, count: int, state: str) -> Callable[..., Any]:
    tangents = ", ".join(f"t{i}" for i in range(count))
    space: dict[str, Any] = {
        "run": lambda ts, kept: cls.jvp(Context((), kept["forward"] or kept["saved"], kept["attributes"]), *ts)
    }
    exec(f"def jvp({tangents}, {state}): return run(({tangents},), {state})", space)
    return space["jvp"]  # type: ignore[no-any-return]


def _reads_all(g: Any) -> Any:
    return g


def _owners(signature: inspect.Signature, args: tuple[Any, ...]) -> list[str]:
    """The parameter's name for each positional input."""
    names = list(signature.parameters)
    return [names[min(i, len(names) - 1)] for i in range(len(args))]


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _new_style(cls: Any) -> bool:
    return cls.setup_context is not BASE.setup_context


def _signature(cls: Any) -> inspect.Signature:
    signature = inspect.signature(cls.forward)
    parameters = list(signature.parameters.values())
    return signature if _new_style(cls) else signature.replace(parameters=parameters[1:])


def _check(cls: Any) -> None:
    if not (isinstance(cls, type) and issubclass(cls, BASE)):
        raise DefinitionError(
            "from_autograd", "takes an autograd.Function class", _describe.value(cls), "pass the class"
        )
    for name in ("forward", "backward"):
        if not isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod)):
            raise DefinitionError(
                f"from_autograd({cls.__name__})",
                f"{name} is a static method",
                f"{name} without @staticmethod",
                f"put @staticmethod above def {name}",
            )
