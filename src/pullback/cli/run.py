"""Run a script under watch: every autograd.Function it meets is checked with its real inputs. Runs the script."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

EPILOG = """\
exit status: the script's own, unless --fail-on asks for 1 when something is found.
"""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = argparse.ArgumentParser("pullback run", description=__doc__, epilog=EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    made.add_argument("--format", default="text", choices=("text", "json", "sarif", "junit", "html", "github"))
    made.add_argument("--output", metavar="FILE", help="write the report there instead of to standard error")
    made.add_argument("--fail-on", choices=("error", "warning"))
    made.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    made.add_argument("script", metavar="SCRIPT")
    made.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return made


def main(argv: list[str]) -> int:
    """Run the command; the exit status."""
    try:
        options = parser().parse_args(argv)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    if not options.module and not Path(options.script).exists():
        print(f"pullback run: there is no file {options.script!r}", file=sys.stderr)
        return 2
    from pullback.check.watch import watch

    if options.output and "RANK" in os.environ:  # what an earlier run left is no part of this one
        _part(Path(options.output), int(os.environ["RANK"])).unlink(missing_ok=True)
    with watch() as report:
        status = _script(options)
    _write(report, options)
    return _status(report, options.fail_on, status)


def _script(options: argparse.Namespace) -> int:
    """Run the script as Python would; its exit status."""
    before = sys.argv[:], sys.path[:]
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, os.getcwd() if options.module else str(Path(options.script).resolve().parent))
    try:
        if options.module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.script, run_name="__main__")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        return 130
    except BaseException:  # the script's own failure: shown as Python would, then the report
        traceback.print_exc()
        return 1
    finally:
        sys.argv[:], sys.path[:] = before
    return 0


def _write(report: Any, options: argparse.Namespace) -> None:
    from pullback.check import formats

    form = formats.FORMATS[options.format]
    if not options.output:
        print(form(report), file=sys.stderr)
    elif "RANK" in os.environ:
        _together(report, Path(options.output), form)
    else:
        Path(options.output).write_text(form(report) + "\n", encoding="utf-8")


def _together(report: Any, output: Path, form: Callable[[Any], str]) -> None:
    """What all ranks that have ended so far have found; each keeps its own part beside the whole, as JSON."""
    from pullback.check.watch import merged

    _replace(_part(output, int(os.environ["RANK"])), json.dumps(report.to_dict(), default=str))
    parts: list[Path] = []
    while parts != (ended := _parts(output)):  # another rank may have ended since, and have written before this one
        parts = ended
        _replace(output, form(merged([json.loads(part.read_text(encoding="utf-8")) for part in parts])))


def _replace(path: Path, text: str) -> None:
    """Write a file at once: whoever reads it meanwhile sees the old one or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text + "\n", encoding="utf-8")
    new.replace(path)


def _parts(output: Path) -> list[Path]:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    return [part for part in (_part(output, rank) for rank in range(world)) if part.exists()]


def _part(output: Path, rank: int) -> Path:
    return output.with_name(f"{output.stem}.rank{rank}.json")


def _status(report: Any, fail_on: str | None, status: int) -> int:
    levels = {"error": ("error",), "warning": ("error", "warning")}.get(fail_on or "", ())
    found = any(finding.severity in levels for finding in report.findings)
    return status or int(found)
