"""Running one rule: with its name in every traceback, its residuals guarded, its results counted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback import _describe
from pullback._torch import (
    AutogradFunction,
    TorchFunctionMode,
    bare_apply,
    compiling,
    custom_function_call,
    grad_enabled,
    in_saved_tensor_hook,
    in_transform,
    pytree,
)
from pullback.define import leaving
from pullback.define.leaving import LEAVES_TORCH
from pullback.define.rule import Rule
from pullback.errors import DoubleBackwardError, ForwardModeError, MutationError, PullbackError, RuleResultError

READS_NUMBERS = ("item", "tolist", "__float__", "__complex__")  # right where the tensor has no derivative


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
        result = _sealed(function, rule, fn, g, values, tensors) if grad_enabled() else fn(g, *values)
    except Exception as error:
        leaving.explain(error, rule.who(function.name), function.name, rule.fn, tensors)
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
    """Say in the traceback whose rule was running.

    Raises:
        MutationError: If the error is PyTorch's about writing into an expanded tensor: a cotangent, changed in place.
    """
    if isinstance(error, RuntimeError) and "single memory location" in str(error):
        raise changed(function, rule) from error
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


class _Watch(TorchFunctionMode):
    """Notes whether values are taken out of PyTorch, where no graph follows."""

    left = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if (name in LEAVES_TORCH or (name in READS_NUMBERS and _follows(args))) and not in_saved_tensor_hook():
            self.left = name
        return func(*args, **(kwargs or {}))


def _follows(args: Sequence[Any]) -> bool:
    """Whether a number read from a tensor would have had a derivative."""
    return bool(args) and isinstance(args[0], torch.Tensor) and args[0].requires_grad


def _sealed(function: Any, rule: Rule, fn: Callable[..., Any], g: Any, values: Sequence[Any], tensors: Any) -> Any:
    """Run a rule whose results may be differentiated again; what left PyTorch raises when that happens."""
    with _Watch() as watch:
        result = fn(g, *values)
    sources = [t for t in tensors if t.requires_grad]
    left = watch.left or ("once_differentiable" if rule.opaque else "")
    if not left or not sources:
        return result
    who = rule.who(function.name)
    return pytree.tree_map_only(torch.Tensor, lambda t: closed(who, left, _first, (t, *sources))[0], result)


def _first(value: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor]:
    return (value.view_as(value),)


def closed(who: str, left: str, run: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
    """The results of ``run``, which nothing can differentiate: trying to is an error that says ``who`` and why."""
    apply = functools.partial(custom_function_call, Closed) if in_transform() else bare_apply(Closed)
    return apply(run, who, left, *tensors)


class Closed(AutogradFunction):
    """What cannot be differentiated, connected to what it was computed from so that trying is an error."""

    @staticmethod
    def forward(run: Callable[..., Any], who: str, left: str, *tensors: torch.Tensor) -> Any:
        """The results as they are."""
        return run(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep what the message says."""
        _, ctx.who, ctx.left, *_ = inputs

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """Raise: nothing follows a value out of PyTorch."""
        raise DoubleBackwardError(
            ctx.who,
            "cannot be differentiated again: its computation leaves PyTorch",
            f"a second derivative through a rule that calls {ctx.left}",
            "write the rule with torch operations, or drop create_graph=True",
        )

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> Any:
        """Raise, likewise."""
        raise ForwardModeError(
            ctx.who,
            "cannot be differentiated in forward mode: its computation leaves PyTorch",
            f"a tangent through a rule that calls {ctx.left}",
            "write the rule with torch operations",
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, run: Callable[..., Any], who: str, left: str, *tensors: torch.Tensor) -> Any:
        """The same over the batch."""
        batched = torch.vmap(run, tuple(in_dims[3:]), 0, randomness=info.randomness)
        results = custom_function_call(Closed, batched, who, left, *tensors)
        return results, tuple(0 for _ in results)
