"""The only place that makes autograd.Functions: the general one, which every stack but the eager fast way uses.

It handles flat tensors; the `Call` that is its first operand knows what they mean. Kept tensors are outputs too
(hidden from callers), so that a second derivative finds its way through them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from pullback import _describe
from pullback._torch import (
    AutogradFunction,
    TorchFunctionMode,
    bare_apply,
    current_level,
    custom_function_call,
    in_transform,
    is_transformed,
    level_of,
    lower_levels,
    pytree,
    tracing_graph,
    unwrap_dead,
)
from pullback.define import forward_mode
from pullback.define.call import Call, Residuals, add, filled
from pullback.define.fit import like
from pullback.define.function import Function
from pullback.define.rng import RandomState, no_random
from pullback.define.running import versions
from pullback.errors import CapturedTensorError, MutationError

Tensors = Sequence[torch.Tensor]


def apply(call: Call, tensors: Tensors) -> Tensors:
    """Run a call with its gradient recorded; the flat outputs, then what is kept."""
    if in_transform():
        call.transformed = True
        return custom_function_call(general(call.function), call, *tensors)  # type: ignore[no-any-return]
    results: Tensors = bare_apply(general(call.function))(call, *tensors)
    call.forget(call.needed([t.requires_grad for t in tensors]))
    return results


def general(function: Function[..., Any]) -> type[AutogradFunction]:
    """The general autograd.Function under the name of ``function``: graphs and profiles show ``<name>Backward``."""
    if function.general is None:
        function.general = type(function.name, (General,), {"__pullback__": function})
    return function.general  # type: ignore[no-any-return]


class General(AutogradFunction):
    """Every Function in every stack: setup_context, backward, jvp and vmap from one set of rules."""

    @staticmethod
    def forward(call: Call, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The flat outputs, then what is kept."""
        if call.operator is not None:
            return tuple(call.operator(call, tensors))
        before = versions(tensors)
        if call.function.inplace is not None:
            return _inplace(call, tensors)
        with _watched(call, tensors):
            results = call.forward([t.detach() for t in tensors])
        check_captured(call.function, results)
        if versions(tensors) != before:
            raise changed_input(call.function)
        return results

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep what the rules for the needed arguments name, and nothing else."""
        call, *tensors = inputs
        ctx.call = call
        ctx.set_materialize_grads(False)
        if call.function.inplace is not None:
            ctx.mark_dirty(*[t for t, owner in zip(tensors, call.args.owners) if owner == call.function.inplace])
        everything = [*tensors, *output]
        needed = call.needed(ctx.needs_input_grad[1:])
        call.check_smooth(needed, output)
        ctx.save_for_backward(*[t if w else None for t, w in zip(everything, call.wanted(needed))])
        ctx.save_for_forward(*[t if w else None for t, w in zip(everything, forward_mode.wanted(call, output))])
        ctx.output_like = [like(t) for t in output]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        """The gradients of the arguments: the rules', and for second derivatives what kept values add."""
        call: Call = ctx.call
        res = Residuals.cut(call, [t if t is None else unwrap_dead(t) for t in ctx.saved_tensors])
        mask = ctx.needs_input_grad[1:]
        n = len(call.out.owners)
        total: list[Any] = [None] * len(mask)
        if any(g is not None for g in cotangents[:n]):
            with autocast_as(call.autocast):
                total = call.gradients(mask, res, filled(cotangents[:n], ctx.output_like[:n]))
        if any(g is not None for g in cotangents[n:]):
            total = add(total, call.kept_gradients(mask, res, cotangents[n:]))
        return (None, *total)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
        """The tangents of outputs and kept values."""
        call: Call = ctx.call
        with autocast_as(call.autocast), lower_levels() as primal:
            res = Residuals.cut(call, [primal(t) for t in ctx.saved_tensors])
            results = forward_mode.tangents(call, res, [primal(t) for t in tangents], ctx.output_like)
            return results if call.function.inplace is None else forward_mode.into_place(call, tangents, results)

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Call, *tensors: torch.Tensor) -> tuple[Any, Any]:
        """The same Function over the batch."""
        results = custom_function_call(general(call.function), call.vmapped(in_dims[1:], info), *tensors)
        return results, tuple(0 for _ in results)


# ---- what is watched while a forward runs


@contextmanager
def _watched(call: Call, tensors: Tensors) -> Iterator[None]:
    """Gradients are on and inputs detached, so that an output that requires one betrays a captured tensor."""
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        if in_transform() or call.transformed:
            stack.enter_context(_NoCapture(call.function))
        if tracing_graph() and call.function.reruns():
            stack.enter_context(no_random(call.function.name))
        watch = (call.function.reruns() or in_transform()) and not tracing_graph()
        values = [*tensors, *(v for name in call.args.names for v in call.args.rest(name))]
        state = RandomState(values) if watch else None
        yield
    if state is not None and state.moved():
        call.note_random(state)


class _NoCapture(TorchFunctionMode):
    """Under torch.func, a tensor of an outer level that forward uses without being given it would get no gradient."""

    def __init__(self, function: Function[..., Any]) -> None:
        super().__init__()
        self.function = function

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let the operation through unless it uses such a tensor."""
        tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(level_of(t) > current_level() for t in tensors):
            raise captured(self.function)
        return func(*args, **(kwargs or {}))


def check_captured(function: Function[..., Any], results: Tensors) -> None:
    """Raise if a result betrays that forward used a tensor it was not given."""
    if any(t.requires_grad or (is_transformed(t) and not in_transform()) for t in results):
        raise captured(function)


def captured(function: Function[..., Any]) -> CapturedTensorError:
    """The error of a forward that uses a tensor which needs a gradient, without being given it."""
    return CapturedTensorError(
        f"{function.name} ({function.where})",
        "everything that needs a gradient must be an argument",
        "a forward that uses a tensor from a closure, a global, a module or another object, "
        "which would silently get no gradient",
        "pass the tensor (or the module's parameters) as an argument and give it a rule",
    )


def changed_input(function: Function[..., Any]) -> MutationError:
    """The error of a forward that changes an argument without saying so."""
    return MutationError(
        f"{function.name} ({function.where})",
        "a forward must not change an argument in place without saying so",
        "a changed argument",
        'use the out-of-place form, or declare it: @pb.function(inplace="x")',
    )


def _inplace(call: Call, tensors: Tensors) -> tuple[torch.Tensor, ...]:
    name = call.function.inplace
    mine = [t for t, owner in zip(tensors, call.args.owners, strict=True) if owner == name]
    others = [t for t, owner in zip(tensors, call.args.owners, strict=True) if owner != name]
    before = versions(others)
    results = call.forward(tensors)
    if versions(others) != before:
        raise changed_input(call.function)
    if not all(any(t is r for r in results) for t in mine):
        raise not_returned(call.function, results)
    return results


def not_returned(function: Function[..., Any], results: Tensors) -> MutationError:
    """The error of a forward that works in place and returns something else."""
    return MutationError(
        f"{function.name} ({function.where})",
        f"a forward that changes {function.inplace!r} in place must return it",
        ", ".join(map(_describe.tensor, results)),
        f"return {function.inplace}",
    )


# ---- autocast


def autocast_state(tensors: Tensors) -> list[tuple[str, torch.dtype, bool]]:
    """The autocast state of the devices that tensors are on, for `autocast_as`."""
    kinds = dict.fromkeys(t.device.type for t in tensors if t.device.type != "meta")
    return [(k, torch.get_autocast_dtype(k), torch.is_autocast_enabled(k)) for k in kinds]


@contextmanager
def autocast_as(state: Sequence[tuple[str, torch.dtype, bool]]) -> Iterator[None]:
    """Run under a recorded autocast state: rules under their forward's."""
    with ExitStack() as stack:
        for device, dtype, enabled in state:
            stack.enter_context(torch.autocast(device, dtype, enabled))
        yield
