"""Checks a target that nobody gave arguments for: with those that a search finds, or not at all, and then says why."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pullback.check import battery, state
from pullback.check.inferred import search
from pullback.check.inferred.names import is_parameter
from pullback.check.report import TargetReport
from pullback.check.target import Target

__all__ = ["examine", "is_parameter"]


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
    started = time.perf_counter()
    best: TargetReport | None = None
    with state.restored():
        guesses, reason = search.search(target)
    for values in guesses:
        report = battery.examine(
            target, values, intended=intended, reference=reference, evaluations=evaluations, inputs="inferred"
        )
        if best is None or _errors(report) < _errors(best):
            best = report
        if not _doubtful(report) or time.perf_counter() - started > 3 * search.SECONDS:
            break
    if best is None:
        best = TargetReport(target.name, target.kind, target.file, target.line, "none")
        best.unchecked = why(reason)
        battery.static(target, best)
    best.seconds = time.perf_counter() - started
    return best


def _errors(report: TargetReport) -> int:
    return sum(finding.severity == "error" for finding in report.findings)


def _doubtful(report: TargetReport) -> bool:
    """Whether the errors could come from the arguments: those that no arguments excuse are not doubted."""
    errors = [finding.name for finding in report.findings if finding.severity == "error"]
    return bool(errors) and not any(name in search.SURE for name in errors)


def why(reason: str) -> str:
    """Why no arguments were found, in a line."""
    return f"no arguments found that forward accepts; last error: {reason.strip().splitlines()[0][:300]}"
