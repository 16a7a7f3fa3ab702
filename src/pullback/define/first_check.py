"""``PULLBACK_CHECK=first``: compare the rules with the derived gradient once, on a Function's first real call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from pullback import _describe
from pullback._tolerances import gradient_tolerance
from pullback.define.call import Call, Residuals
from pullback.define.derivative import Derived, differentiable, vjp
from pullback.define.function import Function
from pullback.define.rule import Rule
from pullback.errors import GradientMismatchError, MissingRuleError, UsageError

VARIABLE = "PULLBACK_CHECK"
VALUES = ("", "0", "first")


def wanted(function: Function[..., Any]) -> bool:
    """Whether this call is the one to check; true once per Function, and only if the variable is set."""
    value = os.environ.get(VARIABLE, "")
    if value not in VALUES:
        required = f"the environment variable {VARIABLE} is 'first', or not set"
        raise UsageError(VARIABLE, required, repr(value), f"unset it, or set {VARIABLE}=first")
    if function.compared or value != "first":
        return False
    function.compared = True
    return True


def compare(function: Function[..., Any], values: Sequence[Any]) -> None:
    """Raise if a rule gives another gradient than the derivative of the forward, at these values.

    Deliberate differences pass: a declared one (``grad_like``, ``surrogate=True``), those of a Function that has a
    surrogate (for some argument the forward's own derivative is zero everywhere, or there is none, and the rule's is
    not), a gradient modifier (the forward is the identity).

    Raises:
        GradientMismatchError: If a rule differs from the derivative.
    """
    call = Call(function, values)
    chosen = [i for i, (t, a) in enumerate(zip(call.tensors, call.args.owners)) if _comparable(function, t, a)]
    if function.inplace is not None or not chosen:
        return
    inputs = [t.detach() for t in call.tensors]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        state = torch.get_rng_state()
        flat = call.forward(inputs)
        outputs = flat[: len(call.out.owners)]
        cotangents = _cotangents(outputs)
        mask = [i in chosen for i in range(len(inputs))]
        rules = call.gradients(mask, Residuals.cut(call, [*inputs, *flat]), cotangents)
        torch.set_rng_state(state)
        derived = _derived(call, inputs, chosen, cotangents)
    if derived is None or any(o.shape == t.shape and torch.equal(o, t) for o in outputs for t in inputs):
        return
    if any(not _moves(d) and _moves(rules[i]) for i, d in zip(chosen, derived, strict=True)):
        return
    for i, expected in zip(chosen, derived, strict=True):
        _compare_one(function, call.args.owners[i], rules[i], expected)


def _comparable(function: Function[..., Any], tensor: torch.Tensor, arg: str) -> bool:
    rule: Rule | None = function.declared(arg)
    declared = rule is None or rule.surrogate or isinstance(rule, Derived)
    return not declared and differentiable(tensor)


def _moves(gradient: torch.Tensor | None) -> bool:
    return gradient is not None and bool(gradient.any())


def _cotangents(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Cotangents of both signs."""
    return [torch.randn_like(o) if differentiable(o) else torch.zeros_like(o) for o in outputs]


def _derived(call: Call, inputs: list[torch.Tensor], chosen: list[int], cotangents: list[torch.Tensor]) -> Any:
    def forward(*tensors: torch.Tensor) -> Any:
        full = list(inputs)
        for i, t in zip(chosen, tensors, strict=True):
            full[i] = t
        return call.function.by_name(**call.args.join(full))

    try:
        return vjp(forward, [inputs[i] for i in chosen], call.result(cotangents), call.function.name)
    except (MissingRuleError, RuntimeError):  # nothing to compare with: piecewise constant, or not PyTorch
        return None


def _compare_one(
    function: Function[..., Any], arg: str, got: torch.Tensor | None, expected: torch.Tensor | None
) -> None:
    if expected is None or not _moves(expected):
        return
    got = torch.zeros_like(expected) if got is None else got
    rtol, atol = gradient_tolerance(expected.dtype)
    scale = float(expected.abs().max())
    error = float((got - expected).abs().max())
    if error <= 10 * (rtol * scale + atol) or error != error:
        return
    worst = int((got - expected).abs().argmax())
    rule = function.declared(arg)
    assert rule is not None  # it was compared because it is declared
    raise GradientMismatchError(
        rule.who(function.name, [arg]),
        f"must be the derivative of the forward, {expected.flatten()[worst]:.6g} at element {worst} on the first call",
        f"{got.flatten()[worst]:.6g} for {_describe.tensor(got)}, off by {error:.3g} at most",
        f'correct the rule; if it is meant to differ, @{function.name}.grad("{arg}", surrogate=True), or grad_like',
    )
