"""Find the differentiable functions in files, packages and notebooks, and what is wrong with them. Runs their code."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from pullback.errors import UsageError

EPILOG = """\
PATH is a file, a folder, a notebook, the name of an installed module or package, or module:name.

This command executes the code it checks, in worker processes with limits on time and memory but with your rights.
pullback-lint reads without executing.

exit status: 0 nothing at error level; 1 a fault, or every target unchecked; 2 wrong usage, or no target found.
"""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = argparse.ArgumentParser("pullback check", description=__doc__, epilog=EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = made.add_argument
    add("paths", nargs="+", metavar="PATH")
    add("--format", default="text", choices=("text", "json", "sarif", "junit", "html", "github"))
    add("--output", metavar="FILE", help="write the report there instead of to standard output")
    add("--select", default="", metavar="CODES", help="report only these, such as PB2,missing-grad-output")
    add("--ignore", default="", metavar="CODES", help="do not report these")
    add("--strict", action="store_true", help="warnings and unchecked targets count as faults")
    add("--jobs", "-j", type=int, default=0, metavar="N", help="worker processes (default: one per core, at most 4)")
    add("--probes", default="", metavar="NAMES", help="run only these, such as values,stacks; some compile, so they "
        "run only when named: compile, export, stacks")  # fmt: skip
    add("--timeout", type=float, metavar="SECONDS", help="per target (default: 60; with --probes 600)")
    add("--memory", type=int, default=16_384, metavar="MB", help="per worker, 0 for no limit (default: 16384)")
    add("--baseline", metavar="FILE", help="report only what this file does not list")
    add("--write-baseline", metavar="FILE", help="list what is found now, and succeed")
    add("--quiet", "-q", action="store_true", help="no progress")
    return made


def main(argv: list[str]) -> int:
    """Run the command; the exit status."""
    try:
        options = parser().parse_args(argv)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        return _run(options)
    except LookupError as error:
        print(f"pullback check: there is no file, module or package {error.args[0]!r}", file=sys.stderr)
        return 2
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    from pullback.check import battery, filters, formats, jobs

    config = configuration()
    todo = list(jobs.jobs(options.paths, cases_file(config)))
    if not todo:
        print("pullback check: no target found", file=sys.stderr)
        return 2
    named = tuple(_words(options.probes, config, "probes"))
    battery.known(named)
    for job in todo:
        job.probes = named
    limits = jobs.Limits(options.timeout or (600.0 if named else 60.0), options.memory or None)
    workers = options.jobs or min(4, os.cpu_count() or 1)
    report = jobs.run(todo, workers, limits, None if options.quiet else _progress)
    if not report.targets:
        print("pullback check: no target found", file=sys.stderr)
        return 2
    filters.select(report, _words(options.select, config, "select"), _words(options.ignore, config, "ignore"))
    if options.write_baseline:
        filters.write_baseline(report, Path(options.write_baseline))
        return 0
    if options.baseline:
        filters.apply_baseline(report, Path(options.baseline))
    _write(formats.FORMATS[options.format](report), options.output)
    return status(report, options.strict)


def _progress(message: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{message}", end="", file=sys.stderr, flush=True)


def _write(text: str, path: str | None) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    if path:
        Path(path).write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


def status(report: Any, strict: bool) -> int:
    """The exit status that a report deserves."""
    statuses = [target.status for target in report.targets]
    if "fault" in statuses or all(one == "unchecked" for one in statuses):
        return 1
    worse = any(finding.severity == "warning" for finding in report.findings) or "unchecked" in statuses
    return 1 if strict and worse else 0


def configuration() -> dict[str, Any]:
    """The table ``[tool.pullback]`` of the nearest pyproject.toml, with the folder it was found in."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        file = folder / "pyproject.toml"
        if file.exists():
            table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("pullback", {})
            return {**table, "folder": folder}
    return {}


def cases_file(config: dict[str, Any]) -> str | None:
    """The absolute path of the file with inputs, intentions and references."""
    return str((config["folder"] / config["cases"]).resolve()) if "cases" in config else None


def _words(text: str, config: dict[str, Any], key: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()] or list(config.get(key, ()))
