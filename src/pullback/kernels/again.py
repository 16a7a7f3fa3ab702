"""Backward in PyTorch's operations: for second derivatives, and for what no kernel takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from pullback._torch import grad_enabled
from pullback.define.function import Function
from pullback.graph.closed import rules_below
from pullback.kernels.compile import Unsupported

if TYPE_CHECKING:
    from pullback.graph.plan import Plan


def backward(
    function: Function[..., Any], plan: Plan, eager: Callable[..., Any], fixed: Mapping[str, Any]
) -> Callable[..., Any]:
    """What takes what the plan's backward takes, and does it in PyTorch's operations.

    Where the result is to be differentiated, and a rule calls a Function that has rules, too, the eager way runs again,
    in which those rules are asked.

    Args:
        function: The Function.
        plan: Its plan.
        eager: The way without kernels.
        fixed: The arguments that are no tensors.

    Raises:
        Unsupported: If that way needs what the plan does not keep.
    """
    below = rules_below(function) if plan.needed else []
    if not below:
        return plan.backward.forward
    if not {*plan.arguments} <= {r.name for r in plan.residuals if r.source == "argument"}:
        raise Unsupported(f"a second derivative goes by the rules of {', '.join(below)}, which a rule calls")

    def again(*values: Any) -> Any:
        if not grad_enabled():
            return plan.backward.forward(*values)
        kept = dict(zip([r.name for r in plan.residuals], values, strict=False))
        cotangents = values[len(plan.residuals) : len(plan.residuals) + plan.outputs]
        numbers = dict(zip(plan.numbers, values[len(plan.residuals) + plan.outputs :], strict=True))
        tensors = {n: kept[n].view_as(kept[n]) for n in plan.arguments}
        given = {**fixed, **numbers, **tensors}
        out = eager(*(given[n] for n in function.params))
        pairs = zip(out if isinstance(out, tuple) else (out,), cotangents, strict=True)
        outs, gs = zip(*((o, g) for o, g in pairs if o.requires_grad), strict=True)
        return torch.autograd.grad(outs, [tensors[n] for n in plan.needed], gs, create_graph=True, allow_unused=True)

    return again
