"""Which findings are reported: selected codes, and those that a baseline does not know yet."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from pullback.check.report import Finding, Report, TargetReport


def matches(finding: Finding, words: Collection[str]) -> bool:
    """Whether a finding has one of the names, codes or beginnings of codes (``PB2``)."""
    return any(finding.name == word or finding.code.startswith(word.upper()) for word in words)


def select(report: Report, chosen: Sequence[str], ignored: Sequence[str]) -> None:
    """Keep the chosen findings (all, if none are named) that are not ignored."""
    for target in report.targets:
        target.findings = [
            f for f in target.findings if (not chosen or matches(f, chosen)) and not (ignored and matches(f, ignored))
        ]


def key(target: TargetReport, finding: Finding) -> str:
    """What makes a finding the same as before: target, code and argument."""
    return " ".join([target.file or "", target.name, finding.code, finding.argument or ""]).strip()


def write_baseline(report: Report, path: Path) -> None:
    """Note every finding as known."""
    keys = sorted({key(target, finding) for target in report.targets for finding in target.findings})
    path.write_text(json.dumps({"version": 1, "known": keys}, indent=1) + "\n", encoding="utf-8")


def apply_baseline(report: Report, path: Path) -> int:
    """Leave out known findings; the number of those left out."""
    known = set(json.loads(path.read_text(encoding="utf-8"))["known"])
    before = len(report.findings)
    for target in report.targets:
        target.findings = [finding for finding in target.findings if key(target, finding) not in known]
    return before - len(report.findings)
