"""Running one rule: with its name in every traceback, its residuals guarded, its results counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback import _describe
from pullback._torch import (
    AutogradFunction,
    TorchFunctionMode,
    bare_apply,
    compiling,
    grad_enabled,
    in_transform,
    pytree,
)
from pullback.define.rule import Rule
from pullback.errors import DoubleBackwardError, MutationError, PullbackError, RuleResultError

LEAVES_TORCH = ("numpy", "__array__", "tolist", "data_ptr", "__dlpack__", "untyped_storage", "storage")


def run(
    function: Any, rule: Rule, fn: Callable[..., Any], args: tuple[str, ...], g: Any, values: Sequence[Any]
) -> tuple[Any, ...]:
    """The results of a rule, one for each of ``args``.

    Raises:
        MutationError: If the rule changed its cotangent or a residual in place.
        RuleResultError: If it returned another number of results.
    """
    if compiling():  # compiled autograd: tensors are symbols without versions there
        return count(function, rule, args, fn(g, *values))
    tensors = [t for t in pytree.tree_leaves((g, values)) if isinstance(t, torch.Tensor)]
    before = versions(tensors)
    try:
        result = _sealed(function, rule, fn, g, values, tensors) if _again() else fn(g, *values)
    except Exception as error:
        noted(error, function, rule)
        raise
    if versions(tensors) != before:
        raise changed(function, rule)
    return count(function, rule, args, result)


def count(function: Any, rule: Rule, args: tuple[str, ...], result: Any) -> tuple[Any, ...]:
    """``result`` as a tuple with one entry for each of ``args``."""
    if len(args) == 1:
        return (result,)
    if isinstance(result, (tuple, list)) and len(result) == len(args):
        return tuple(result)
    got = f"{len(result)} results" if isinstance(result, (tuple, list)) else _describe.value(result)
    raise RuleResultError(
        rule.who(function.name),
        f"must return {len(args)} results, one for each of {_describe.names(args)}",
        got,
        "return them as a tuple, in this order",
    )


def noted(error: BaseException, function: Any, rule: Rule) -> None:
    """Say in the traceback whose rule was running."""
    if not isinstance(error, PullbackError):
        error.add_note(f"while running {rule.who(function.name)}")


def changed(function: Any, rule: Rule) -> MutationError:
    """The error of a rule that changes what it does not own."""
    return MutationError(
        rule.who(function.name),
        "a rule must not change its cotangent or a residual in place: others hold the same tensor",
        "a changed tensor",
        "use the out-of-place form (mul instead of mul_), or clone first",
    )


def versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    """The version counters of tensors; 0 for those made in inference mode, which have none."""
    return [0 if t.is_inference() else t._version for t in tensors]


def _again() -> bool:
    """Whether the rule's results may be differentiated again, by plain autograd."""
    return grad_enabled() and not in_transform()


class _Watch(TorchFunctionMode):
    """Notes whether tensors are taken out of PyTorch, where no graph follows."""

    left = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in LEAVES_TORCH:
            self.left = name
        return func(*args, **(kwargs or {}))


def _sealed(function: Any, rule: Rule, fn: Callable[..., Any], g: Any, values: Sequence[Any], tensors: Any) -> Any:
    """Run a rule whose results may be differentiated again; what left PyTorch raises when that happens."""
    with _Watch() as watch:
        result = fn(g, *values)
    sources = [t for t in tensors if t.requires_grad]
    left = watch.left or ("once_differentiable" if rule.opaque else "")
    if not left or not sources:
        return result
    who = rule.who(function.name)
    return pytree.tree_map_only(torch.Tensor, lambda t: bare_apply(Sealed)(who, left, t, *sources), result)


class Sealed(AutogradFunction):
    """A value that cannot be differentiated, connected to what it was computed from so that trying is an error."""

    @staticmethod
    def forward(ctx: Any, who: str, left: str, value: torch.Tensor, *sources: torch.Tensor) -> torch.Tensor:
        """The value as it is."""
        ctx.who, ctx.left = who, left
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """Raise: nothing follows a value out of PyTorch."""
        raise DoubleBackwardError(
            ctx.who,
            "cannot be differentiated again: its computation leaves PyTorch",
            f"a second derivative through a rule that calls {ctx.left}",
            "write the rule with torch operations, or drop create_graph=True",
        )
