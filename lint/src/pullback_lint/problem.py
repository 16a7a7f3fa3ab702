"""What a rule finds: a problem at a node, before the engine makes a finding of it."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Edit(NamedTuple):
    """A replacement of a stretch of source text.

    Attributes:
        start: Line (from 1) and column (from 0, in characters) of the first character.
        end: Line and column after the last character.
        text: What takes its place.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


class Problem(NamedTuple):
    """A fault at one place of a syntax tree.

    Attributes:
        node: Where.
        message: What is wrong here, in one line, in the author's names.
        argument: The input that it concerns.
        fix: What to write instead, in one line.
        edits: Text edits that repair it.
        safe: Whether the edits keep the meaning of correct code.
        severity: Another severity than the catalogue's, where the reader is less sure than a run would be.
    """

    node: ast.AST
    message: str
    argument: str | None = None
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    safe: bool = True
    severity: str | None = None
