"""Backward uses the random numbers that forward drew."""

from __future__ import annotations

from collections.abc import Iterator

from pullback.check import compare, state, tree
from pullback.check.case import Case, cotangents, pull
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Change the random state between forward and backward."""
    one, two = (_gradients(case, seed) for seed in (1, 2))
    for name, a, b in zip(case.arguments.diff_names, one, two, strict=True):
        if not compare.same(a, b):
            if not compare.all_same(one, _gradients(case, 1)):
                yield _lasting(name)
                return
            yield Finding(
                "rng-not-saved", f"the gradient of {name!r} depends on random numbers drawn in backward",
                cause="backward draws new random numbers instead of those that forward used",
                fix="save what forward drew with ctx.save_for_backward, or its generator state", argument=name,
                level=None if case.is_random else "warning",  # noise that only backward has may be meant
            )  # fmt: skip
            return


def _lasting(name: str) -> Finding:
    return Finding(
        "not-deterministic", f"the same call gives another gradient of {name!r}, for the same random numbers",
        cause="something lasts from one call to the next",
        fix="pass what changes as an argument", argument=name,
    )  # fmt: skip


def _gradients(case: Case, seed: int) -> list:  # type: ignore[type-arg]
    state.seed()
    leaves, passed = case.arguments.fresh()
    outputs = tree.tensors(case.target.apply(*passed))
    state.seed(seed)
    return pull(outputs, leaves, cotangents(outputs))
