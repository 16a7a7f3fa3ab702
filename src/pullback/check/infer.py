"""Checks a target that nobody gave arguments for: with those that a search finds, or not at all, and then says why."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from pullback import _torch
from pullback.check import battery, groups, state, tree
from pullback.check.inferred import search
from pullback.check.inferred.names import is_parameter, iterates
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
DOMAINS = 6  # sets from narrower domains that are tried when all others show an error


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
        guesses, reason = looking.run() if _torch.runs_on_cpu(target.subject) else ([], search.FINAL[0][0])
    examined = functools.partial(
        battery.examine, target, intended=intended, reference=reference, evaluations=evaluations, inputs="inferred"
    )
    for values in itertools.chain(_of_each_form(guesses), _later(looking)):
        report = examined(values)
        if best is None or _excuses(report, best):
            best = report
        if not _doubtful(best) or clock.over():
            break
    first = best is not None and bool(guesses) and best.values is guesses[0]  # it needed no domain of its own
    steady = not iterates(target.subject)  # what converges for small numbers only need not do so for others
    if best is not None and best.verdict in ("tested", "proved") and not _errors(best) and first and steady:
        best = _elsewhere(examined, guesses[1:], best)
    if best is not None and search.final(best.unchecked or ""):
        best.unchecked = why(search.final(best.unchecked or ""))
    if best is None:
        best = TargetReport(target.name, target.kind, target.file, target.line, "none")
        best.unchecked = why(reason)
        battery.static(target, best)
    best.seconds = time.perf_counter() - started
    return best


def _elsewhere(
    examined: Callable[[search.Values], TargetReport], others: list[search.Values], best: TargetReport
) -> TargetReport:
    """The report on the first of other arguments whose gradients are wrong, else the one there is."""
    if battery.is_limited():
        return best
    for values in others:
        with battery.chosen(["values"]):
            wrong = _errors(examined(values))
        if wrong and _errors(report := examined(values)):
            return report
    return best


def _of_each_form(guesses: list[search.Values]) -> Iterator[search.Values]:
    """The first of those that differ in their sizes alone: what is wrong for it is not excused by another size."""
    forms = [form(values) for values in guesses]
    yield from (values for place, values in enumerate(guesses) if forms[place] not in forms[:place])


def form(values: search.Values) -> tuple[Any, ...]:
    """What arguments have in common that differ in their sizes alone: numbers, dimensions, wide, square or tall."""
    return tuple(_form(leaf) for leaf in tree.leaves(values))


def _form(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)
    rows, columns = leaf.shape[-2:] if leaf.ndim > 1 else (0, 0)
    return leaf.dtype, leaf.ndim, leaf.requires_grad, (rows > columns) - (rows < columns)


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
