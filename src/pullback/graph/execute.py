"""Plans in eager PyTorch: the forward as its author wrote it, and what the plan keeps, not what the rules name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback._torch import AutogradFunction, bare_apply, grad_enabled
from pullback.define.autograd import changed_input
from pullback.define.call import zero
from pullback.define.fit import like
from pullback.define.function import Function
from pullback.define.keep import run_forward, without_kept
from pullback.define.running import versions
from pullback.errors import DoubleBackwardError
from pullback.graph.packing import pack, unpack
from pullback.graph.plan import Plan

Entry = Callable[..., Any]


def executor(function: Function[..., Any], plan: Plan) -> Entry:
    """What serves calls for which a plan was made: one value for each parameter, the output's tensors back."""
    body = {"forward": staticmethod(_forward), "backward": staticmethod(_backward), "__pullback__": function}
    apply = bare_apply(type(function.name, (AutogradFunction,), {**body, "__module__": function.fn.__module__}))
    return lambda *values: apply(function, plan, *values)


def _forward(ctx: Any, function: Function[..., Any], plan: Plan, *values: Any) -> Any:
    given = dict(zip(function.params, values, strict=True))
    tensors = [given[n] for n in plan.arguments]
    before = versions(tensors)
    args, keywords = function.arguments.call(given)
    outputs = _flat(without_kept(run_forward(function.fn, args, keywords)), tensors)
    if versions(tensors) != before:
        raise changed_input(function)
    numbers = [given[n] for n in plan.numbers]
    made = iter(plan.encode.forward(*tensors, *outputs, *numbers))
    known = dict(zip([*plan.arguments, *output_names(plan)], [*tensors, *outputs], strict=True))
    kept = [known[r.name] if r.source in ("argument", "output") else next(made) for r in plan.residuals]
    pairs = zip(plan.residuals, kept, strict=True)
    ctx.save_for_backward(*[_packed(r.source, value) for r, value in pairs if isinstance(value, torch.Tensor)])
    ctx.shapes = [value.shape if isinstance(value, torch.Tensor) else value for value in kept]
    ctx.plan, ctx.numbers, ctx.params = plan, numbers, function.params
    ctx.set_materialize_grads(False)
    ctx.likes = [like(o) for o in outputs]
    ctx.anchors = _anchors(plan, given)
    return outputs[0] if len(outputs) == 1 and not isinstance(outputs, tuple) else tuple(outputs)


def _flat(out: Any, inputs: Sequence[torch.Tensor]) -> Any:
    """The output's tensors, none of which is an input; a list for a single one that is no tuple."""
    flat = list(out) if isinstance(out, tuple) else [out]
    seen = {id(t) for t in inputs}
    fresh = []
    for tensor in flat:
        fresh.append(tensor.view_as(tensor) if id(tensor) in seen else tensor)
        seen.add(id(tensor))
    return tuple(fresh) if isinstance(out, tuple) else fresh


def output_names(plan: Plan) -> list[str]:
    """What the output's tensors are called."""
    return [f"out_{i}" if i else "out" for i in range(plan.outputs)]


def _packed(source: str, value: torch.Tensor) -> torch.Tensor:
    return pack(value) if source == "bits" else value


def _backward(ctx: Any, *cotangents: Any) -> Any:
    nothing = (None, None)
    if all(g is None for g in cotangents):
        return *nothing, *(None for _ in ctx.params)
    plan: Plan = ctx.plan
    saved = iter(ctx.saved_tensors)
    kept = [
        _restored(residual.source, entry, saved) for residual, entry in zip(plan.residuals, ctx.shapes, strict=True)
    ]
    gs = [zero(w) if g is None else g for g, w in zip(cotangents, ctx.likes, strict=True)]
    found = dict(zip(plan.needed, plan.backward.forward(*kept, *gs, *ctx.numbers), strict=True))
    if grad_enabled() and ctx.anchors:
        rope = sum(ctx.anchors)
        found = {name: g if g is None else g + rope.to(g.dtype) for name, g in found.items()}
    if grad_enabled() and plan.keep == "small":
        found = {name: _last(plan.function, g, *kept, *gs) for name, g in found.items()}
    return *nothing, *(found.get(name) for name in ctx.params)


class _Last(AutogradFunction):
    """A gradient read off the output: right itself, and nothing to differentiate."""

    @staticmethod
    def forward(ctx: Any, name: str, gradient: torch.Tensor, *_: Any) -> torch.Tensor:
        """The gradient as it is."""
        ctx.name = name
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """Raise: it says nothing about the second derivative."""
        raise DoubleBackwardError(
            ctx.name,
            'keep="small" keeps too little for a second derivative',
            "a gradient read off the output, differentiated again",
            'use @pb.function(keep="lossless"), which is the default',
        )


_last = bare_apply(_Last)


class _Anchor(AutogradFunction):
    """A zero that depends on a tensor without keeping it.

    Where only conditions are kept, a gradient does not depend on the argument any more. Asking for its derivative
    shall give zero, as it does where the argument is kept.
    """

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        """A zero."""
        ctx.like = like(tensor)
        return tensor.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: Any) -> torch.Tensor:
        """Zero."""
        return zero(ctx.like)


_anchor = bare_apply(_Anchor)


def _anchors(plan: Plan, given: dict[str, Any]) -> list[torch.Tensor]:
    """One for each argument that a second derivative goes to and no residual leads to."""
    kept = {r.name for r in plan.residuals}
    lost = [name for name in plan.bound if name in plan.needed and name not in kept]
    if not lost or any(r.source == "output" for r in plan.residuals):
        return []
    with torch.enable_grad():
        return [_anchor(given[name]) for name in lost]


def _restored(source: str, entry: Any, saved: Any) -> Any:
    if source == "size":
        return entry
    tensor = next(saved)
    return unpack(tensor, entry) if source == "bits" else tensor
