"""Whether a text can hold anything to lint: asked of every file, before anything else is loaded."""

from __future__ import annotations

import re

_WORDS = ("Function", "def backward", "custom_op", "triton_op", "pullback")
"""A file without any of these words holds nothing to lint."""

_RELEVANT = re.compile(
    r"class\s+\w+\s*\([^)]*Function\s*[,)]|def backward|custom_op\(|triton_op\(|(?:import|from) pullback"
)
"""Nor does one with these words, but none in the place of a base class, a definition, a decorator or an import."""


def is_relevant(source: str) -> bool:
    """Whether a text can contain anything that a rule looks at."""
    return any(word in source for word in _WORDS) and _RELEVANT.search(source) is not None
