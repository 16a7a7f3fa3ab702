"""Two calls whose backward passes come later do not disturb each other."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback.check import compare, state, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, cotangents, pull
from pullback.check.reference import nudged
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Call once, call again with other values, then go back through the first call."""
    for other in others(case.arguments):
        finding = _disturbed(case, other)
        if finding is not None:
            yield finding
            return
    yield from _repeated(case)


def _disturbed(case: Case, other: Arguments) -> Finding | None:
    state.seed()
    leaves, passed = case.arguments.fresh()
    outputs = tree.tensors(case.target.apply(*passed))
    values = [out.detach().clone() for out in outputs]
    if not _call(case, other):
        return None
    if any(not torch.equal(a, b.detach()) for a, b in zip(values, outputs, strict=True) if not a.isnan().any()):
        return _finding("a later call changes the output of an earlier one")
    try:
        late = pull(outputs, leaves, cotangents(outputs))
    except Exception as error:  # a result of the experiment
        return _finding(f"backward raises after another call: {str(error).splitlines()[0][:160]}")
    for name, got, alone in zip(case.arguments.diff_names, late, case.base.grads, strict=True):
        if not compare.same(got, alone):
            return _finding(f"after another call the gradient of {name!r} is another one", name)
    return None


def _finding(message: str, argument: str | None = None) -> Finding:
    return Finding(
        "global-state", message, argument=argument,
        cause="something of a call is kept in the module, the class or an object instead of the context",
        fix="keep it with ctx.save_for_backward (tensors) or on ctx (anything else)",
    )  # fmt: skip


def others(arguments: Arguments) -> list[Arguments]:
    """Arguments of the same shapes with other values."""
    tensors = arguments.differentiable
    turned = [_turned(x) for x in tensors]
    return [arguments.with_differentiable(turned), nudged(arguments, 23, 0.2)]


def _turned(x: torch.Tensor) -> torch.Tensor:
    flipped = x.flip(0) if x.ndim else x
    return flipped * (0.9 if not x.is_complex() and bool((x >= 0).all()) else -0.9)


def _call(case: Case, arguments: Arguments) -> bool:
    try:
        case.target.apply(*arguments.fresh()[1])
    except Exception:
        return False
    return True


def _repeated(case: Case) -> Iterator[Finding]:
    """The same call with the same random state gives the same values."""
    again = case.run()
    if again.ok and any(
        not torch.equal(torch.nan_to_num(a.detach()), torch.nan_to_num(b.detach()))
        for a, b in zip(case.base.outputs, again.outputs, strict=True)
        if a.shape == b.shape
    ):
        yield _finding("the same call gives other values the next time")
