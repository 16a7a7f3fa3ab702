"""Text for people: each finding with its source line and a caret, and a summary."""

from __future__ import annotations

from pullback_lint.finding import Finding
from pullback_lint.report import Report


def render(report: Report) -> str:
    """The report as text."""
    parts = [_finding(finding) for finding in report.findings]
    parts += [f"error: {error}\n" for error in report.errors]
    return "\n".join([*parts, _summary(report)])


def _finding(finding: Finding) -> str:
    gutter = " " * len(str(finding.line))
    place = f"{finding.path}:cell {finding.cell}" if finding.cell else finding.path
    source = finding.source.replace("\t", " ").rstrip()
    lines = [
        f"{finding.severity}[{finding.code}] {finding.name}: {finding.message}",
        f"{gutter}--> {place}:{finding.line}:{finding.column}",
        f"{gutter} |",
        f"{finding.line} | {source}",
        f"{gutter} | {' ' * (finding.column - 1)}{'^' * _width(finding, source)}",
    ]
    if finding.fix:
        lines.append(f"{gutter} = help: {finding.fix}")
    return "\n".join(lines) + "\n"


def _width(finding: Finding, source: str) -> int:
    end = finding.end_column if finding.end_line == finding.line else len(source) + 1
    return max(end - finding.column, 1)


def _summary(report: Report) -> str:
    total = sum(report.counts.values())
    targets = sum(len(file.targets) for file in report.files)
    parts = [f"{_count(targets, 'Function')} in {_count(len(report.files), 'file')}: "]
    if total:
        parts.append(
            ", ".join(_count(report.counts[item], item) for item in ("error", "warning", "note") if report.counts[item])
        )
    else:
        parts.append("nothing found")
    if report.fixed:
        parts.append(f"; {_count(report.fixed, 'finding')} repaired")
    if report.hidden:
        parts.append(f" ({_count(report.hidden, 'note')} hidden; --level note shows them)")
    return "".join(parts) + "\n"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
