"""The fault catalogue: a record per fault, by code or by name, each read only when it is asked for."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path
from typing import NamedTuple

from pullback_lint import faults

HEADINGS = ("Finds", "Why it matters", "Example", "Instead", "Exceptions", "Fix")
"""The headings of every page, in order."""

SEVERITIES = ("error", "warning", "note")
"""Severities, most severe first."""


class UnknownFaultError(KeyError):
    """No fault has this code or name."""

    def __str__(self) -> str:
        return str(self.args[0])


class Fault(NamedTuple):
    """Something that can be wrong with a differentiable function.

    Attributes:
        code: `PB` and three digits; the first digit is the family.
        name: The forbidden pattern in words, such as `missing-grad-output`.
        severity: `error`, `warning` or `note`.
        page: The whole page as Markdown; its first line is the summary.
    """

    code: str
    name: str
    severity: str
    page: str

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]

    @property
    def sections(self) -> dict[str, str]:
        """The text under each heading of the page."""
        _, *parts = re.split(r"^## (.+)\n", self.page, flags=re.MULTILINE)
        return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def fault(key: str) -> Fault:
    """The fault with a code (`PB201`) or a name (`missing-grad-output`).

    Args:
        key: Code, in either case, or name.

    Raises:
        UnknownFaultError: There is none; the message offers what comes near.
    """
    code = key.upper()
    if re.fullmatch(r"PB\d{3}", code) and code in codes():
        return _read(code)
    found = by_name().get(key)
    if found is None:
        raise UnknownFaultError(f"no fault `{key}`{_near(key)}")
    return found


def family(prefix: str) -> list[Fault]:
    """The faults whose codes begin with a prefix such as `PB2`, `PB20` or `PB2xx`; none for anything else.

    Args:
        prefix: In either case, shorter than a code.
    """
    start = prefix.upper().rstrip("X")
    return [_read(code) for code in codes() if code.startswith(start)] if start.startswith("PB") else []


@functools.cache
def codes() -> tuple[str, ...]:
    """All codes, sorted, without reading the pages."""
    return tuple(sorted(path.stem for path in Path(*faults.__path__).glob("PB*.py")))


@functools.cache
def by_name() -> dict[str, Fault]:
    """All faults by name, in the order of their codes."""
    return {found.name: found for found in map(_read, codes())}


@functools.cache
def _read(code: str) -> Fault:
    module = importlib.import_module(f"{faults.__name__}.{code}")
    return Fault(code, module.NAME, module.SEVERITY, (module.__doc__ or "").strip() + "\n")


def _near(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, [*codes(), *by_name()], n=3)
    return f"; near: {', '.join(near)}" if near else ""
