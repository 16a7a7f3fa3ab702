"""Known findings: write them down once, report only what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pullback_lint.finding import Finding

VERSION = 1


class BaselineError(Exception):
    """A baseline cannot be read."""


def text(findings: Iterable[Finding]) -> str:
    """What is known, as a baseline's text."""
    import json

    counts = Counter(finding.key for finding in findings)
    return json.dumps({"version": VERSION, "findings": dict(sorted(counts.items()))}, indent=1) + "\n"


def new(path: Path, findings: Iterable[Finding]) -> list[Finding]:
    """The findings that are not known, counted by file, target, code and argument.

    Raises:
        BaselineError: The file is missing or malformed.
    """
    import json

    try:
        known = Counter(dict(json.loads(path.read_text("utf-8"))["findings"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BaselineError(f"cannot read the baseline {path}: {error}") from None
    left = []
    for finding in findings:
        if known[finding.key] > 0:
            known[finding.key] -= 1
        else:
            left.append(finding)
    return left
