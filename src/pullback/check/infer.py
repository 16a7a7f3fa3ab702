"""Checks a target that nobody gave arguments for: with those that a search finds, or not at all, and then says why."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from pullback.check import battery, groups, state
from pullback.check.inferred import search
from pullback.check.inferred.names import is_parameter
from pullback.check.report import TargetReport
from pullback.check.target import Target

__all__ = ["examine", "is_parameter"]

SURE = (
    "vmap",
    "fill",
    "interleave",
    "twice",
    "mutation",
    "lifetime",
    "captured",
    "rng",
)  # no values excuse these
DOMAINS = 4  # sets from narrower domains that are tried when all others show an error


def examine(
    target: Target,
    *,
    intended: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    evaluations: int | None = None,
) -> TargetReport:
    """Infer arguments and check; a target for which none can be found is unchecked, with the reason.

    An error may come from arguments that the author never meant: then a few others are tried, and the report with the
    fewest errors is taken.
    """
    found = _examine(target, intended, reference, evaluations)
    if groups.NEEDED in (found.unchecked or ""):
        with groups.alone():
            found = _examine(target, intended, reference, evaluations)
        found.notes.append(groups.SAID)
        found.findings = [f for f in found.findings if f.name != "needless-function"]  # it is, for one rank
    return found


def _examine(
    target: Target,
    intended: Callable[..., Any] | None,
    reference: Callable[..., Any] | None,
    evaluations: int | None,
) -> TargetReport:
    started = time.perf_counter()
    best: TargetReport | None = None
    looking, clock = search.Search(target), search.Clock(3 * search.SECONDS)
    with state.restored():
        guesses, reason = looking.run()
    for values in itertools.chain(guesses, _later(looking)):
        report = battery.examine(
            target, values, intended=intended, reference=reference, evaluations=evaluations, inputs="inferred"
        )
        if best is None or _excuses(report, best):
            best = report
        if not _doubtful(best) or clock.over():
            break
    if best is None:
        best = TargetReport(target.name, target.kind, target.file, target.line, "none")
        best.unchecked = why(reason)
        battery.static(target, best)
    best.seconds = time.perf_counter() - started
    return best


def _later(looking: search.Search) -> Iterator[search.Values]:
    """Arguments from narrower domains, made when they are asked for."""
    with state.restored():
        found = list(itertools.islice(looking.domains(), DOMAINS))
    yield from found


def _excuses(report: TargetReport, best: TargetReport) -> bool:
    """Whether arguments show less that is wrong: not those for which forward happens to be flat, or nothing ran."""
    silent = report.verdict in ("intent", None) and best.verdict in ("tested", "proved")
    return _errors(report) < _errors(best) and not silent


def _errors(report: TargetReport) -> int:
    return sum(finding.severity == "error" for finding in report.findings)


def _doubtful(report: TargetReport) -> bool:
    """Whether the errors could come from the arguments: those that no arguments excuse are not doubted."""
    errors = [finding for finding in report.findings if finding.severity == "error"]
    return bool(errors) and not any(error.name in search.SURE or error.probe in SURE for error in errors)


def why(reason: str) -> str:
    """Why no arguments were found, in a line."""
    return f"no arguments found that forward accepts; last error: {reason.strip().splitlines()[0][:300]}"
