"""One fault at one place of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pullback_lint.problem import Edit


class Target(NamedTuple):
    """A Function or operator that was read."""

    name: str
    line: int
    kind: str


class Finding(NamedTuple):
    """A problem with its code, severity and position.

    Attributes:
        path: POSIX path as shown to the user; `-` for standard input.
        line: First line, from 1.
        column: First column, from 1.
        end_line: Last line.
        end_column: Column after the last character, from 1.
        code: Such as `PB201`.
        name: Such as `missing-grad-output`.
        severity: `error`, `warning` or `note`.
        target: The class or operator, or an empty string.
        target_line: Its line.
        kind: `autograd.Function`, `torch.library`, `pullback.Function` or `module`.
        argument: The input that it concerns.
        message: One line.
        fix: What to do, one line, or an empty string.
        source: The source line.
        edits: Text edits that repair it.
        safe: Whether the edits keep the meaning of correct code.
        cell: The notebook cell, from 1; 0 outside notebooks.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    severity: str
    target: str
    target_line: int
    kind: str
    argument: str | None
    message: str
    fix: str
    source: str
    edits: tuple[Edit, ...] = ()
    safe: bool = True
    cell: int = 0

    @property
    def key(self) -> str:
        """What stays the same when lines move: the file, target, code and argument."""
        return f"{self.path}::{self.target}::{self.code}::{self.argument or ''}"


def select(findings: Iterable[Finding], chosen: Iterable[str], ignored: Iterable[str]) -> list[Finding]:
    """The findings that are chosen and not ignored, by code, prefix of a code, or name."""
    chosen, ignored = tuple(chosen), tuple(ignored)
    return [item for item in findings if (not chosen or matches(item, chosen)) and not matches(item, ignored)]


def matches(finding: Finding, keys: Iterable[str]) -> bool:
    """Whether a finding has one of the codes, prefixes of codes, or names."""
    return any(finding.name == key or finding.code.startswith(key.upper()) for key in keys)
