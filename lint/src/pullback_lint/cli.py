"""The command `pullback-lint`."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from pullback_lint import __version__, baseline, sources
from pullback_lint.catalogue import SEVERITIES, UnknownFaultError, family, fault
from pullback_lint.config import Config, ConfigError, load
from pullback_lint.finding import Finding
from pullback_lint.pipe import written
from pullback_lint.report import FileResult, Report, at_level
from pullback_lint.reports import FORMATS, renderer
from pullback_lint.run import Options, lint_files, lint_notebook, lint_text, repaired

DESCRIPTION = "Find mistakes in differentiable PyTorch functions by reading them. Nothing is imported or run."


class UsageError(Exception):
    """The command cannot do what it was asked."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: The command line without the program's name; by default that of the process.

    Returns:
        0 if nothing is at error level, 1 if something is, 2 if the command was not usable.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.explain:
            return written(lambda: explain(options.explain))
        return written(lambda: _lint(options))
    except (UsageError, ConfigError, baseline.BaselineError, UnknownFaultError, sources.NoSuchPathError) as error:
        print(f"pullback-lint: {error}", file=sys.stderr)
        return 2


def explain(key: str) -> int:
    """Print the page of a fault, or of several faults the first lines.

    Args:
        key: Its code or name, or what their codes begin with.
    """
    several = family(key)
    if len(several) > 1:
        print("\n".join(f"{item.code} {item.name} ({item.severity}): {item.summary}" for item in several))
        return 0
    record = fault(key)
    print(f"# {record.code} {record.name} ({record.severity})\n\n{record.page}", end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    shape = functools.partial(argparse.HelpFormatter, width=100)  # asking for the terminal's width loads archivers
    parser = argparse.ArgumentParser(prog="pullback-lint", description=DESCRIPTION, formatter_class=shape)
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files, directories, notebooks; - for standard input (default: .)")
    add("--stdin-filename", default="-", metavar="FILE", help="what standard input is called, and where it lies")
    add("--select", action="append", default=[], metavar="CODES", help="report these codes, prefixes or names only")
    add("--ignore", action="append", default=[], metavar="CODES", help="do not report these")
    add("--level", choices=SEVERITIES, help="report nothing less severe (default: warning for text, else note)")
    add("--strict", action="store_true", help="let warnings and unreadable files count for the exit status")
    add("--fix", action="store_true", help="repair what can be repaired safely")
    add("--unsafe-fixes", action="store_true", help="repair also where the result may differ in rounding")
    add("--format", choices=FORMATS, default="text", help="the format of the report (default: text)")
    add("--output", metavar="FILE", help="write the report to a file")
    add("--baseline", metavar="FILE", help="report only what the file does not know")
    add("--write-baseline", metavar="FILE", help="write all findings to the file as known, and report nothing")
    add("--exclude", action="append", default=[], metavar="GLOB", help="leave out paths that match")
    add(
        "--jobs", "-j", type=_count, default=0, metavar="N", help="processes; 0 for one per CPU if there are many files"
    )
    add("--isolated", action="store_true", help="do not read pyproject.toml")
    add("--explain", metavar="CODE", help="print the page of a fault, by code or name; of a prefix, a list")
    add("--version", action="version", version=f"pullback-lint {__version__}")
    return parser


def _count(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


def _lint(options: argparse.Namespace) -> int:
    config = Config() if options.isolated else load(Path.cwd())
    chosen = _options(options, config)
    files, fixed = _results(options, chosen, config)
    if options.write_baseline:
        known = [finding for file in files for finding in file.findings]
        count = len(known)
        _save(Path(options.write_baseline), baseline.text(known))
        print(f"{count} findings written to {options.write_baseline}", file=sys.stderr)
        return 0
    path = _baseline(options, config)
    if path is not None:
        files = _without_known(files, path)
    report = _at_level(
        files, options.level or config.level or ("warning" if options.format == "text" else "note"), fixed
    )
    repairs_input = chosen.fix and options.paths == ["-"]
    _write(renderer(options.format)(report), options.output, sys.stderr if repairs_input else sys.stdout)
    return report.status(strict=options.strict or config.strict)


def _options(options: argparse.Namespace, config: Config) -> Options:
    select = _keys(options.select) or config.select
    ignore = (*_keys(options.ignore), *config.ignore)
    for key in (*select, *ignore):
        _check_key(key)
    return Options(
        select,
        ignore,
        config.per_file_ignores,
        options.fix or options.unsafe_fixes,
        options.unsafe_fixes,
    )


def _keys(values: list[str]) -> tuple[str, ...]:
    return tuple(key.strip() for value in values for key in value.split(",") if key.strip())


def _check_key(key: str) -> None:
    """Refuse what is neither a code, nor a prefix of one, nor a name."""
    from pullback_lint.catalogue import codes

    if not any(code.startswith(key.upper()) for code in codes()):
        fault(key)


def _results(options: argparse.Namespace, chosen: Options, config: Config) -> tuple[list[FileResult], int]:
    paths = options.paths or ["."]
    if paths == ["-"]:
        return _standard_input(options.stdin_filename, chosen)
    if "-" in paths:
        raise UsageError("- stands alone")
    found = list(sources.find(paths, (*options.exclude, *config.exclude)))
    if not found:
        raise UsageError(f"no Python file or notebook in {', '.join(paths)}")
    return lint_files(found, chosen, options.jobs)


def _standard_input(name: str, chosen: Options) -> tuple[list[FileResult], int]:
    """What standard input gave; repaired, its text goes to standard output."""
    text, fixed = sources.standard_input(), 0
    place = None if name == "-" else Path(name)
    shown = "-" if place is None else sources.shown(place)
    if place is not None and place.suffix == ".ipynb":
        return [lint_notebook(text, shown, place, chosen)], 0
    if chosen.fix:
        text, fixed = repaired(text, shown, chosen, place)
        sys.stdout.write(text)
    return [lint_text(text, shown, chosen, place)], fixed


def _baseline(options: argparse.Namespace, config: Config) -> Path | None:
    if options.baseline:
        return Path(options.baseline)
    return config.root / config.baseline if config.baseline and config.root else None


def _without_known(files: list[FileResult], path: Path) -> list[FileResult]:
    unknown = set(map(id, baseline.new(path, [finding for file in files for finding in file.findings])))
    return [file._replace(findings=tuple(item for item in file.findings if id(item) in unknown)) for file in files]


def _at_level(files: list[FileResult], level: str, fixed: int) -> Report:
    if level not in SEVERITIES:
        raise UsageError(f"level `{level}` is none of {', '.join(SEVERITIES)}")
    everything: list[Finding] = [finding for file in files for finding in file.findings]
    shown = [file._replace(findings=tuple(at_level(file.findings, level))) for file in files]
    hidden = len(everything) - sum(len(file.findings) for file in shown)
    return Report(tuple(shown), hidden, fixed)


def _write(text: str, output: str | None, stream: TextIO) -> None:
    if output:
        _save(Path(output), text)
    else:
        stream.write(text)
        stream.flush()


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
