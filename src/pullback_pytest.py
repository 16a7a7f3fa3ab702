"""The pytest plugin: the fixture ``pullback_check``, and ``--pullback`` to collect one test per target.

It starts without importing torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags."""
    group = parser.getgroup("pullback")
    group.addoption("--pullback", action="store_true", help="check the differentiable functions in the given files")
    group.addoption("--pullback-strict", action="store_true", help="warnings and unchecked targets fail too")
    group.addoption("--pullback-baseline", metavar="FILE", help="known findings, as pullback check writes them")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "pullback: a test that pullback made for a differentiable function")


@pytest.fixture
def pullback_check() -> Callable[..., Any]:
    """`pullback.check.assert_correct`: fails the test with the report unless all is well."""
    from pullback.check import assert_correct

    return assert_correct


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """With ``--pullback``, one collector per file that has targets."""
    if not parent.config.getoption("pullback") or file_path.suffix not in (".py", ".ipynb"):
        return None
    from pullback.check import discover

    return Targets.from_parent(parent, path=file_path) if discover.source(file_path).candidates else None


class Targets(pytest.File):
    """The targets of one file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item per target."""
        from pullback.check import discover

        for found in discover.source(self.path).candidates:
            yield TargetItem.from_parent(self, name=f"pullback:{found.name}", target=found.name)


class FoundError(Exception):
    """The target has faults; the text is the report."""


class TargetItem(pytest.Item):
    """One target, checked in a worker process."""

    def __init__(self, *, target: str, **options: Any) -> None:
        super().__init__(**options)
        self.target = target
        self.add_marker("pullback")

    def runtest(self) -> None:
        """Check the target."""
        from pullback.check import filters, jobs

        report = jobs.run([jobs.Job(self.path, only=(self.target,))])
        baseline = self.config.getoption("pullback_baseline")
        if baseline:
            filters.apply_baseline(report, Path(baseline))
        statuses = [target.status for target in report.targets]
        strict = self.config.getoption("pullback_strict")
        warned = any(finding.severity == "warning" for finding in report.findings)
        if "fault" in statuses or (strict and (warned or "unchecked" in statuses)):
            raise FoundError(str(report))
        if statuses and all(status == "unchecked" for status in statuses):
            pytest.skip(f"unchecked: {report.targets[0].unchecked}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report instead of a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, FoundError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the item comes from."""
        return self.path, None, self.name
