"""Apply the text edits of findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pullback_lint.finding import Finding
from pullback_lint.problem import Edit

MAX_PASSES = 20


def fix(source: str, findings: Callable[[str], Iterable[Finding]], *, unsafe: bool = False) -> tuple[str, int]:
    """Repair a source text until nothing is left that can be repaired.

    Args:
        source: The text.
        findings: Gives the findings of a text.
        unsafe: Whether to apply edits that may change what correct code computes.

    Returns:
        The new text, and how many findings were repaired.
    """
    count = 0
    for _ in range(MAX_PASSES):
        groups = [item.edits for item in findings(source) if item.edits and (unsafe or item.safe)]
        source, applied = apply(source, groups)
        count += applied
        if not applied:
            break
    return source, count


def apply(source: str, groups: Iterable[tuple[Edit, ...]]) -> tuple[str, int]:
    """Apply groups of edits, each wholly or not at all; of overlapping groups the first.

    Returns:
        The new text, and the number of groups applied.
    """
    line_end = "\r\n" if "\r\n" in source else "\n"
    is_open = not source.endswith(("\n", "\r"))
    source += line_end * is_open
    starts = _line_starts(source)
    taken: list[tuple[int, int, str]] = []
    applied = 0
    for group in groups:
        spans = sorted({(_offset(starts, edit.start), _offset(starts, edit.end), edit.text) for edit in group})
        if not any(_overlap(one, other) for one in spans for other in taken):
            taken += spans
            applied += 1
    for start, stop, text in sorted(taken, reverse=True):
        source = source[:start] + text.replace("\n", line_end) + source[stop:]
    return (source.removesuffix(line_end) if is_open else source), applied


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    if one[0] == one[1] or other[0] == other[1]:
        return other[0] <= one[0] <= other[1] or one[0] <= other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]


def _line_starts(source: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", source))]


def _offset(starts: list[int], position: tuple[int, int]) -> int:
    return starts[position[0] - 1] + position[1]
