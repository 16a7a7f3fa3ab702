"""Rewrite autograd.Functions from forward(ctx, …) to forward and setup_context, as a diff. Runs nothing."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from pullback_lint import sources
from pullback_lint.modernize import modernize

EPILOG = """\
Without --write the change is shown as a diff. A class that cannot be rewritten without a change of meaning is named
with the reason. The rewritten classes are not run: `pullback check` compares their gradients with the derivative.

exit status: 0 all classes are in the new form or can be; 1 some cannot; 2 wrong usage.
"""


def main(argv: list[str]) -> int:
    """Rewrite files, or show how.

    Args:
        argv: Paths, and `--write`.
    """
    parser = argparse.ArgumentParser(
        "pullback modernize",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--write", action="store_true", help="change the files")
    options = parser.parse_args(argv)
    try:
        files = [path for path in sources.find(options.paths) if path.suffix == ".py"]
    except sources.NoSuchPathError as error:
        print(f"pullback modernize: {error}", file=sys.stderr)
        return 2
    return max((_file(path, write=options.write) for path in files), default=0)


def _file(path: Path, *, write: bool) -> int:
    """Treat one file; 1 if a class was left alone."""
    try:
        before = sources.read(path)
        after, outcomes = modernize(before, path)
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        print(f"{path}: cannot be read: {error}", file=sys.stderr)
        return 1
    if after != before and write:
        path.write_bytes(after.encode())
    elif after != before:
        lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), str(path), str(path))
        sys.stdout.writelines(lines)
    for outcome in outcomes:
        if outcome.reason:
            print(f"{path}:{outcome.line}: {outcome.name} is left alone: {outcome.reason}", file=sys.stderr)
        else:
            print(f"{path}:{outcome.line}: {outcome.name} is rewritten, not verified", file=sys.stderr)
    return int(any(outcome.reason for outcome in outcomes))
