"""Read notebooks: the code cells as one source text, and the way back to the cells."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pullback_lint.finding import Finding

_MAGIC = re.compile(r"^(\s*)([%!?]|.*\?\s*$)")


class NotebookError(ValueError):
    """A file is not a notebook."""


class Notebook(NamedTuple):
    """The code cells of a notebook.

    Attributes:
        source: All code cells, one after the other, with magics made into comments.
        starts: For each code cell its number, counted from 1 over all cells, and its first line in the source.
    """

    source: str
    starts: tuple[tuple[int, int], ...]

    def place(self, finding: Finding) -> Finding:
        """A finding with the line counted within its cell."""
        cell, start = max((item for item in self.starts if item[1] <= finding.line), key=lambda item: item[1])
        offset = start - 1
        return finding._replace(
            line=finding.line - offset,
            end_line=finding.end_line - offset,
            target_line=max(finding.target_line - offset, 1),
            cell=cell,
            edits=(),
        )


def read(text: str) -> Notebook:
    """Take a notebook's JSON apart.

    Raises:
        NotebookError: It is none.
    """
    try:
        cells = json.loads(text)["cells"]
        code = [(number, _text(cell)) for number, cell in enumerate(cells, 1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise NotebookError(f"not a notebook: {error}") from None
    lines: list[str] = []
    starts = []
    for number, source in code:
        starts.append((number, len(lines) + 1))
        lines += _without_magics(source)
    return Notebook("\n".join(lines) + "\n", tuple(starts))


def _text(cell: dict[str, object]) -> str:
    source = cell["source"]
    return "".join(source) if isinstance(source, list) else str(source)


def _without_magics(source: str) -> list[str]:
    """The lines of a cell; what only IPython understands becomes `pass`, so that lines keep their numbers."""
    lines = source.split("\n")
    if source.lstrip().startswith("%%") and not source.lstrip().startswith(("%%time", "%%capture")):
        return ["pass" for _ in lines]
    return [f"{match[1]}pass" if (match := _MAGIC.match(line)) else line for line in lines]
