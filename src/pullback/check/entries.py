"""The Jacobian entry by entry: rows of one colour share a backward pass, so that none hides in a sum.

Random incoming gradients already show every entry of a pointwise function; for others an entry that is wrong by little
could drown among the right ones of its column.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

from pullback import _tolerances
from pullback.check import samples as comparisons
from pullback.check import sparsity
from pullback.check.case import Case, cotangents, filled
from pullback.check.points import Point
from pullback.check.reference import Reference

ROWS = 128  # backward passes for all arguments together
TRIED, SHOWN = 16, 2  # suspicious rows that are tried alone, and wrong ones that are looked into

Row = list[torch.Tensor | None]


def samples(case: Case, reference: Reference, taken: list[comparisons.Sample]) -> list[comparisons.Sample]:
    """Samples of rows that are wrong, none for a right Jacobian; notes how each argument was compared."""
    base = next((s for s in taken if s.point.label == "nudged"), taken[0] if taken else None)
    if base is None or reference.rows is None:
        return []
    plans = {leaf: _plan(case, reference, base, leaf) for leaf in range(len(case.arguments.diff))}
    rows = [row for _, made in plans.values() for row in made]
    names = case.arguments.diff_names
    case.facts["coverage"] = {names[leaf]: how for leaf, (how, _) in plans.items()}
    if not rows or base.point.arguments.diff == ():
        return []
    try:
        return list(_wrong(case, reference, base, rows))
    except Exception as error:  # backward cannot run more than once: the random incoming gradients must do
        case.facts["coverage"] = dict.fromkeys(names, f"random incoming gradients ({type(error).__name__})")
        return []


def _plan(case: Case, reference: Reference, base: comparisons.Sample, leaf: int) -> tuple[str, list[Row]]:
    """How an argument's part of the Jacobian is compared, and with which incoming gradients."""
    along = reference.directions and reference.directions(base.arguments, leaf)
    if along:
        return f"{len(along)} random directions", []
    pattern = sparsity.pattern(case, base.arguments, leaf)
    live = [k for k, g in enumerate(base.incoming) if g is not None]
    count = sum(pattern.rows(k) for k in range(len(pattern.outputs)))
    if pattern.is_pointwise and count == 1:
        return "every entry, pointwise", []
    if count > ROWS or len(live) != len(pattern.outputs):
        return f"random incoming gradients ({count} rows are too many)", []
    coloured = "coloured, " if pattern.steps else ""
    gradients = "incoming gradient" if count == 1 else "incoming gradients"
    return f"every entry, {coloured}{count} {gradients}", list(_rows(base, pattern, live))


def _rows(base: comparisons.Sample, pattern: sparsity.Pattern, live: list[int]) -> Iterator[Row]:
    full = cotangents(base.outputs, 5)
    for output, position in enumerate(live):
        whole = full[position]
        assert whole is not None  # an output that takes a gradient
        for place in pattern.row_places(output):
            row: Row = [None] * len(full)
            row[position] = torch.zeros_like(whole)
            row[position][place] = whole[place]  # type: ignore[index]
            yield row


def _wrong(case: Case, reference: Reference, base: comparisons.Sample, rows: list[Row]) -> Iterator[comparisons.Sample]:
    assert reference.rows is not None
    weights = [filled(base.outputs, row) for row in rows]
    got, expected = case.rows(base.arguments, weights), reference.rows(base.arguments, weights)
    share = _tolerances.ISOLATED[1] if reference.doubts is None else _tolerances.DOUBTED[1]
    confirmed = (_alone(case, reference, base, weights[k]) for k in _suspects(got, expected, share)[:TRIED])
    yield from itertools.islice((sample for sample in confirmed if sample is not None), SHOWN)


def _alone(case: Case, reference: Reference, base: comparisons.Sample, weights: Row) -> comparisons.Sample | None:
    """One row by a call of its own, if it is wrong there too."""
    outcome = case.run(base.arguments, weights)
    incoming = [g if b is not None else None for g, b in zip(weights, base.incoming, strict=True)]
    sample = comparisons.Sample(Point("one row", base.arguments), incoming, base.outputs, outcome.grads, [])
    found = comparisons.judged(case, reference, sample) if outcome.ok else None
    if found is None or not any(comparisons.bad(found, leaf, reference.level) for leaf in range(len(found.got))):
        return None
    return found


def _suspects(got: list[Row], expected: list[Row], share: float) -> list[int]:
    """Rows in which an entry differs more than rounding explains."""
    found: set[int] = set()
    rtol = _tolerances.ISOLATED[0]
    for mine, right in zip(zip(*got, strict=True), zip(*expected, strict=True), strict=True):
        if any(e is None for e in right) or any(g is not None and g.shape != e.shape for g, e in zip(mine, right)):
            continue
        e = torch.stack([x.reshape(-1) for x in right])
        g = torch.stack([y.reshape(-1) * 0 if x is None else x.reshape(-1) for x, y in zip(mine, right, strict=True)])
        if not e.numel():
            continue
        error = torch.nan_to_num((g - e).abs(), nan=torch.inf)
        far = error > rtol * e.abs() + share * e.abs().amax(1, keepdim=True) + _tolerances.NOTHING * share
        found.update(far.any(1).nonzero().reshape(-1).tolist())
    return sorted(found)
