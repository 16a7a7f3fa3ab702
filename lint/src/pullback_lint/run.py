"""Lint many files, in this process or in several."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pullback_lint import sources
from pullback_lint.finding import Finding, select
from pullback_lint.relevance import is_relevant
from pullback_lint.report import FileResult

MIN_FILES_PER_JOB = 40
"""Starting a process costs as much as linting some tens of files."""


class Options(NamedTuple):
    """What to report and repair.

    Attributes:
        select: Codes, prefixes or names to report; empty for all.
        ignore: Codes, prefixes or names not to report.
        per_file_ignores: For a glob of paths, what is not reported there.
        fix: Whether to repair what is safe.
        unsafe_fixes: Whether to repair all that can be repaired.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fix: bool = False
    unsafe_fixes: bool = False


def lint_text(source: str, path: str, options: Options, place: Path | None = None) -> FileResult:
    """Lint one source text; the linter itself is loaded for the first one that may hold something."""
    if not is_relevant(source):
        return FileResult(path)
    from pullback_lint.engine import lint

    result = lint(source, path, place=place)
    return FileResult(path, _chosen(result.findings, path, options), result.targets, result.lines, result.error)


def lint_file(path: Path, options: Options) -> tuple[FileResult, int]:
    """Lint one file; returns the result and how many findings were repaired."""
    name = sources.shown(path)
    try:
        text = sources.read(path)
    except (OSError, SyntaxError, ValueError, LookupError) as error:
        return FileResult(name, error=f"{name}: cannot be read: {error}"), 0
    if path.suffix == ".ipynb":
        return lint_notebook(text, name, path, options), 0
    fixed = 0
    if options.fix and is_relevant(text):
        text, fixed = repaired(text, name, options, path)
        if fixed:
            sources.write(path, text)
    return lint_text(text, name, options, path), fixed


def repaired(text: str, name: str, options: Options, place: Path | None = None) -> tuple[str, int]:
    """A source text with all repaired that the options allow, and how many findings that are."""
    from pullback_lint import fixes

    def findings(source: str) -> Iterable[Finding]:
        return lint_text(source, name, options, place).findings

    return fixes.fix(text, findings, unsafe=options.unsafe_fixes)


def lint_notebook(text: str, name: str, path: Path, options: Options) -> FileResult:
    """Lint a notebook's JSON."""
    from pullback_lint import notebooks

    try:
        notebook = notebooks.read(text)
    except notebooks.NotebookError as error:
        return FileResult(name, error=f"{name}: {error}")
    result = lint_text(notebook.source, name, options, path)
    return result._replace(findings=tuple(map(notebook.place, result.findings)))


def _chosen(findings: Sequence[Finding], path: str, options: Options) -> tuple[Finding, ...]:
    ignored = [*options.ignore]
    for glob, keys in options.per_file_ignores:
        if fnmatch.fnmatch(path, glob) or fnmatch.fnmatch(Path(path).name, glob):
            ignored += keys
    return tuple(select(findings, options.select, ignored))


def lint_files(paths: Sequence[Path], options: Options, jobs: int = 1) -> tuple[list[FileResult], int]:
    """Lint files in order; returns the results and how many findings were repaired."""
    jobs = min(jobs or os.cpu_count() or 1, len(paths) // MIN_FILES_PER_JOB + 1)
    if jobs > 1:
        pairs = _in_processes(paths, options, jobs)
    else:
        with rare_collection():
            pairs = [lint_file(path, options) for path in paths]
    return [result for result, _ in pairs], sum(fixed for _, fixed in pairs)


@contextlib.contextmanager
def rare_collection() -> Iterator[None]:
    """Let the cycle collector run rarely: syntax trees make it look at millions of objects that are all alive."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _in_processes(paths: Sequence[Path], options: Options, jobs: int) -> list[tuple[FileResult, int]]:
    from concurrent.futures import ProcessPoolExecutor

    from pullback_lint.engine import all_rules

    all_rules()  # loaded once, for all processes that are forked
    with ProcessPoolExecutor(jobs, initializer=gc.set_threshold, initargs=(200_000, 20, 100)) as pool:
        task = functools.partial(lint_file, options=options)
        return list(pool.map(task, paths, chunksize=max(1, len(paths) // (jobs * 8))))
