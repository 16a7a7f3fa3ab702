"""What a run of the linter gave, for all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pullback_lint.catalogue import SEVERITIES
from pullback_lint.finding import Finding, Target


class FileResult(NamedTuple):
    """What one file gave.

    Attributes:
        path: As shown to the user.
        findings: Sorted by position.
        targets: All Functions and operators in it.
        lines: The number of lines parsed.
        error: Why it could not be read, or an empty string.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    targets: tuple[Target, ...] = ()
    lines: int = 0
    error: str = ""


class Report(NamedTuple):
    """What a run gave.

    Attributes:
        files: One result per file, in the order of the paths.
        hidden: How many findings are below the level that is shown.
        fixed: How many findings were repaired.
    """

    files: tuple[FileResult, ...]
    hidden: int = 0
    fixed: int = 0

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return [finding for file in self.files for finding in file.findings]

    @property
    def errors(self) -> list[str]:
        """Why files could not be read."""
        return [file.error for file in self.files if file.error]

    @property
    def counts(self) -> Counter[str]:
        """The number of findings of each severity."""
        return Counter(finding.severity for finding in self.findings)

    def status(self, *, strict: bool) -> int:
        """The exit status: 1 if something counts as a fault, or if files cannot be read and no others have targets."""
        counting = SEVERITIES[: 2 if strict else 1]
        unread = bool(self.errors) and (strict or not any(file.targets for file in self.files))
        return int(any(self.counts[severity] for severity in counting) or unread)


def at_level(findings: Iterable[Finding], level: str) -> list[Finding]:
    """The findings that are at least as severe as a level."""
    shown = SEVERITIES[: SEVERITIES.index(level) + 1]
    return [finding for finding in findings if finding.severity in shown]
