"""Rewrite autograd.Functions from forward(ctx, …) to forward and setup_context, as a diff, and compare both."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pullback_lint import sources
from pullback_lint.modernize import Outcome, modernize

if TYPE_CHECKING:
    from pullback.check import alike

EPILOG = """\
Without --write the change is shown as a diff. A class that cannot be rewritten without a change of meaning is named
with the reason and left alone.

Both versions of each class are then run, in a worker process, on inputs from the file (<Class>_inputs or make_inputs)
or on inferred ones: values, gradients, second order, torch.func, vmap, compile and the checker's findings must agree,
else the class is left alone. Where no inputs can be had, it is rewritten and said to be not verified.
With --no-verify nothing of the file is run.

exit status: 0 all classes are in the new form or can be; 1 some cannot; 2 wrong usage.
"""


class Change(NamedTuple):
    """One file: its text before and after, what became of each class, and what was compared."""

    path: Path
    before: str
    after: str
    outcomes: list[Outcome]
    notes: dict[str, str]


def main(argv: list[str]) -> int:
    """Rewrite files, or show how.

    Args:
        argv: Paths, `--write` and `--no-verify`.
    """
    parser = argparse.ArgumentParser(
        "pullback modernize",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders")
    parser.add_argument("--write", action="store_true", help="change the files")
    parser.add_argument("--no-verify", action="store_true", help="do not run anything")
    options = parser.parse_args(argv)
    try:
        files = [path for path in sources.find(options.paths) if path.suffix == ".py"]
    except sources.NoSuchPathError as error:
        print(f"pullback modernize: {error}", file=sys.stderr)
        return 2
    if not files:
        print(f"pullback modernize: no Python file in {', '.join(options.paths)}", file=sys.stderr)
        return 2
    changes = [_change(path) for path in files]
    read = [change for change in changes if change is not None]
    if not options.no_verify:
        read = _verified(read)
    for change in read:
        _tell(change, write=options.write)
    return int(len(read) < len(changes) or any(outcome.reason for change in read for outcome in change.outcomes))


def _change(path: Path) -> Change | None:
    """What would become of a file; None if it cannot be read."""
    try:
        before = sources.read(path)
        after, outcomes = modernize(before, path)
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        print(f"{path}: cannot be read: {error}", file=sys.stderr)
        return None
    return Change(path, before, after, outcomes, {})


def _rewritten(change: Change) -> tuple[str, ...]:
    return tuple(outcome.name for outcome in change.outcomes if not outcome.reason)


def _verified(changes: list[Change]) -> list[Change]:
    """The changes that keep what the classes do: of what differs, first the batching rule is taken back, then all."""
    from pullback.check import alike

    def compared(some: list[Change], names: Callable[[Change], tuple[str, ...]]) -> dict[str, alike.Verdict]:
        pairs = [alike.Pair(item.path, item.before, item.after, names(item)) for item in some if names(item)]
        return {f"{path}:{name}": verdict for (path, name), verdict in alike.verdicts(pairs).items()}

    found = compared(changes, _rewritten)
    unbatched = {key for key, verdict in found.items() if verdict.same is False and verdict.reason.startswith("vmap")}
    changes = [_anew(change, {}, unbatched) for change in changes]
    found |= compared(changes, lambda change: tuple(n for n in _rewritten(change) if f"{change.path}:{n}" in unbatched))
    differ = {
        key: f"rewritten it would differ in {verdict.reason}" for key, verdict in found.items() if verdict.same is False
    }
    notes = {key: _note(verdict) for key, verdict in found.items()}
    return [_anew(change, differ, unbatched)._replace(notes=notes) for change in changes]


def _anew(change: Change, leave: dict[str, str], unbatched: set[str]) -> Change:
    """The change without some classes, and without a batching rule for others."""
    keys = [f"{change.path}:{name}" for name in _rewritten(change)]
    if not any(key in leave or key in unbatched for key in keys):
        return change
    prefix = f"{change.path}:"
    after, outcomes = modernize(
        change.before,
        change.path,
        leave={key.removeprefix(prefix): reason for key, reason in leave.items() if key in keys},
        unbatched={key.removeprefix(prefix) for key in unbatched if key in keys},
    )
    return change._replace(after=after, outcomes=outcomes)


def _note(verdict: alike.Verdict) -> str:
    if verdict.same is None:
        return f"not verified: {verdict.reason}"
    source = {"module": "inputs of its file", "inferred": "inferred inputs"}.get(verdict.inputs, verdict.inputs)
    return f"verified with {source}: {', '.join(verdict.compared)}"


def _tell(change: Change, *, write: bool) -> None:
    """Show the change or make it, and say what became of each class."""
    path, before, after = change.path, change.before, change.after
    if after != before and write:
        sources.write(path, after)
    elif after != before:
        lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), str(path), str(path))
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    for outcome in change.outcomes:
        note = change.notes.get(f"{path}:{outcome.name}", "not verified, as asked")
        told = f"left alone: {outcome.reason}" if outcome.reason else f"rewritten, {note}"
        print(f"{path}:{outcome.line}: {outcome.name} is {told}", file=sys.stderr)
