"""Which form of a Function serves a call: the general way in, for every stack but plain eager and torch.compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pullback._torch import (
    autocast_enabled,
    grad_enabled,
    has_tangent,
    in_transform,
    unwrap_dead,
)
from pullback.define import recording
from pullback.define.autograd import (
    apply,
    autocast_state,
    changed_input,
    check_captured,
)
from pullback.define.call import Call
from pullback.define.function import Function
from pullback.define.recorded import emit
from pullback.define.running import versions
from pullback.errors import CapturedTensorError, StackError


def general(function: Function[..., Any], values: Sequence[Any], ready: Any = None) -> Any:
    """The result of a call in whatever stack is active.

    Args:
        function: The Function.
        values: One value for each of its parameters.
        ready: The result of its forward, if that has run already.
    """
    return finish(function, Call(function, values), ready)


def finish(function: Function[..., Any], call: Call, ready: Any = None) -> Any:
    """The result of ``call``; afterwards the call knows the structure of the output and of what is kept."""
    call.ready = ready
    if autocast_enabled():
        call.autocast = autocast_state(call.tensors)
        if function.autocast != "leave":
            return _cast(function, call)
    check_modules(function, call)
    results = _run(function, call)
    return call.result(results[: len(call.out.owners)])


def _run(function: Function[..., Any], call: Call) -> Sequence[torch.Tensor]:
    recorded = recording.active()
    if recorded and function.inplace is not None:
        raise _no_inplace(function)
    if in_transform():
        call.operator = emit if recorded else None
        return apply(call, call.tensors)
    tensors = [unwrap_dead(t) for t in call.tensors]
    owners = [owner for owner, t in zip(call.args.owners, tensors, strict=True) if t.requires_grad]
    rules = [function.rule(owner) for owner in owners] if grad_enabled() else []  # each is asked: one may be missing
    if any(rules) or has_tangent(tensors):
        return emit(call, tensors) if recorded else apply(call, tensors)
    return emit(call, tensors) if recorded else _plain(function, call, tensors)


def _plain(function: Function[..., Any], call: Call, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Nothing can ask for a gradient: nothing is kept and no node is made."""
    before = versions(tensors)
    _, nondiff = function.opted_out()
    results = call.forward([t.detach() if o in nondiff else t for t, o in zip(tensors, call.args.owners, strict=True)])
    if function.inplace is None and versions(tensors) != before:
        raise changed_input(function)
    if grad_enabled():
        check_captured(function, results)
    return results


def _no_inplace(function: Function[..., Any]) -> StackError:
    return StackError(
        function.name,
        "a recorded graph (make_fx, export) holds functions without side effects",
        f"a Function that changes {function.inplace!r} in place",
        "use the out-of-place form there",
    )


def _cast(function: Function[..., Any], call: Call) -> Any:
    """The policy given at definition: run in float32, or in autocast's dtype, with autocast off inside."""
    kind = call.autocast[0][0] if call.autocast else "cpu"
    dtype = torch.float32 if function.autocast == "float32" else torch.get_autocast_dtype(kind)
    tensors = [t.to(dtype) if t.is_floating_point() and t.dtype is not torch.float64 else t for t in call.tensors]
    inner = Call(function, call.args.join(tensors).values())
    with torch.autocast(kind, enabled=False):
        inner.autocast = autocast_state(call.tensors)
        return finish(function, inner, call.ready)


def check_modules(function: Function[..., Any], call: Call) -> None:
    """A module with trainable parameters as an argument is a captured tensor."""
    for name in call.args.names:
        for value in call.args.rest(name):
            if isinstance(value, torch.nn.Module) and any(p.requires_grad for p in value.parameters()):
                raise CapturedTensorError(
                    f"{function.name} ({function.where})",
                    "everything that needs a gradient must be an argument of its own",
                    f"argument {name!r}, a {type(value).__name__} with trainable parameters",
                    "pass the parameters themselves: f(x, module.weight)",
                )
