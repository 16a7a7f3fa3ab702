"""What a check has found: findings, one report per target, one report for all, and their JSON form."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from pullback.check import faults

VERSION = 1


@dataclass(frozen=True)
class Finding:
    """One fault at one place, with its cause, its evidence and, where known, the fix."""

    name: str
    message: str
    cause: str = ""
    fix: str = ""
    argument: str | None = None
    line: int | None = None
    probe: str = ""
    stack: str = "eager"
    formula: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    level: str | None = None

    @property
    def code(self) -> str:
        """The fault's code in the catalogue, such as ``PB201``."""
        return faults.code(self.name)

    @property
    def severity(self) -> str:
        """``error``, ``warning`` or ``note``: the catalogue's word, unless this finding is a milder or a worse case."""
        return self.level or faults.severity(self.name)

    def to_dict(self) -> dict[str, Any]:
        """The finding in the stable JSON form."""
        keys = ("probe", "stack", "argument", "line", "message", "cause", "fix", "formula", "evidence")
        head = {"code": self.code, "name": self.name, "severity": self.severity}
        return head | {key: getattr(self, key) for key in keys}


@dataclass
class TargetReport:
    """Everything about one target."""

    name: str
    kind: str
    file: str | None = None
    line: int | None = None
    inputs: str = "given"
    inputs_repr: str = ""
    reference: str | None = None
    verdict: str | None = None
    findings: list[Finding] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    unchecked: str | None = None
    notes: list[str] = field(default_factory=list)
    coverage: dict[str, str] = field(default_factory=dict)  # how each argument's part of the Jacobian was compared
    stacks: dict[str, str] = field(default_factory=dict)  # what each way of running does with the rule
    values: tuple[Any, ...] = field(default=(), repr=False)  # the arguments themselves, which no file holds

    @property
    def status(self) -> str:
        """``fault`` with an error among the findings, ``unchecked`` if the target could not be run, else ``ok``."""
        if any(finding.severity == "error" for finding in self.findings):
            return "fault"
        return "unchecked" if self.unchecked else "ok"

    def to_dict(self) -> dict[str, Any]:
        """The report of one target in the stable JSON form."""
        return {
            "name": self.name,
            "file": self.file,
            "line": self.line,
            "kind": self.kind,
            "status": self.status,
            "inputs": self.inputs,
            "inputs_repr": self.inputs_repr,
            "reference": self.reference,
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
            "skipped": self.skipped,
            "unchecked": self.unchecked,
            "notes": self.notes,
            "coverage": self.coverage,
            "stacks": self.stacks,
            "seconds": round(self.seconds, 4),
        }


def target_from_dict(data: dict[str, Any]) -> TargetReport:
    """The report of one target from its JSON form, as a worker process sends it."""
    simple = {k: v for k, v in data.items() if k not in ("findings", "status")}
    report = TargetReport(**simple)
    for item in data["findings"]:
        level = item["severity"] if item["severity"] != faults.severity(item["name"]) else None
        known = {k: v for k, v in item.items() if k not in ("code", "severity")}
        report.findings.append(Finding(**known, level=level))
    return report


@dataclass
class Report:
    """The result of a check.

    >>> report = Report([TargetReport("Clamp", "autograd.Function")])
    >>> report.ok, len(report.findings)
    (True, 0)
    """

    targets: list[TargetReport] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every target was checked and none has a finding at error level."""
        return all(target.status == "ok" for target in self.targets)

    @property
    def findings(self) -> list[Finding]:
        """The findings of all targets."""
        return [finding for target in self.targets for finding in target.findings]

    def names(self) -> list[str]:
        """The names of the faults found, each once, in order."""
        return list(dict.fromkeys(finding.name for finding in self.findings))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The stable, versioned JSON form."""
        statuses = [target.status for target in self.targets]
        counts = {status: statuses.count(status) for status in ("ok", "fault", "unchecked")}
        return {
            "version": VERSION,
            "tool": {
                "name": "pullback",
                "version": sys.modules["pullback"].__version__,  # the package above this one
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
            "targets": [target.to_dict() for target in self.targets],
            "summary": {"targets": len(statuses)} | counts,
        }

    def __str__(self) -> str:
        from pullback.check import formats

        return formats.text(self)

    def __repr__(self) -> str:
        words = ", ".join(f"{target.name}: {target.status}" for target in self.targets) or "nothing checked"
        return f"Report({words}; {len(self.findings)} findings)"

    def _repr_html_(self) -> str:
        from pullback.check import formats

        return formats.html_fragment(self)
