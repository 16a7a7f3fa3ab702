"""Comments that steer the linter: `# pullback: ignore[PB201]` and `# pullback: surrogate`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pullback_lint.finding import Finding
    from pullback_lint.model.function import Function

_COMMENT = re.compile(r"#\s*pullback:\s*(?P<word>ignore-file|ignore|surrogate)\s*(?:\[(?P<keys>[^\]]*)\])?")


class Comments:
    """The steering comments of one file.

    Attributes:
        ignored: For each line the codes and names ignored there; an empty set ignores all.
        surrogates: The lines that declare a surrogate.
        whole_file: What is ignored in the whole file; None if nothing is.
    """

    def __init__(self) -> None:
        self.ignored: dict[int, frozenset[str]] = {}
        self.surrogates: set[int] = set()
        self.whole_file: frozenset[str] | None = None


def read(source: str) -> Comments:
    """The steering comments of a source text."""
    found = Comments()
    if "pullback:" not in source:
        return found
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                _note(found, token.start[0], token.string)
    except (tokenize.TokenError, IndentationError):
        pass
    return found


def _note(found: Comments, line: int, comment: str) -> None:
    for match in _COMMENT.finditer(comment):
        keys = frozenset(key.strip() for key in (match["keys"] or "").split(",") if key.strip())
        if match["word"] == "surrogate":
            found.surrogates.add(line)
        elif match["word"] == "ignore":
            found.ignored[line] = keys
        else:
            found.whole_file = keys


def is_surrogate(found: Comments, function: Function) -> bool:
    """Whether a class is declared to be a surrogate, on any of its lines or the line above it."""
    first = min([function.node.lineno, *(item.lineno for item in function.node.decorator_list)])
    return any(first - 1 <= line <= (function.node.end_lineno or first) for line in found.surrogates)


def silences(found: Comments, finding: Finding, target: Function | None) -> bool:
    """Whether a comment on the finding's lines, on its target's line or for the file ignores it."""
    lines = {*range(finding.line, finding.end_line + 1)}
    if target is not None:
        lines.add(target.node.lineno)
    places = [found.ignored[line] for line in lines if line in found.ignored]
    if found.whole_file is not None:
        places.append(found.whole_file)
    return any(not keys or finding.name in keys or _has_code(keys, finding.code) for keys in places)


def _has_code(keys: frozenset[str], code: str) -> bool:
    return any(code.startswith(key.upper()) for key in keys)
