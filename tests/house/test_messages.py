"""Every error says who, what was required, what was got and what to do, in that order."""

from __future__ import annotations

import ast
import inspect
import pickle
from collections.abc import Iterable
from pathlib import Path

import pytest

from pullback import errors
from pullback.errors import PullbackError

PARTS = {"who": "mish, rule for 'x' (a.py:3)", "required": "must return a tensor", "got": "int 3", "do": "return g * 3"}


def error_classes() -> list[type[PullbackError]]:
    """All error classes of the library, the base first."""
    defined = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, PullbackError)]
    return sorted(defined, key=lambda cls: (cls is not PullbackError, cls.__name__))


def faults(cls: type[PullbackError]) -> list[str]:
    """What is wrong with an error class."""
    error = cls(**PARTS)
    checks = {
        "keeps its parts": {name: getattr(error, name, None) for name in PARTS} == PARTS,
        "says all parts in order": in_order(str(error), PARTS.values()),
        "leaves out what is empty": "got" not in str(cls("f", "must hold")) and "do:" not in str(cls("f", "must hold")),
        "survives pickling": str(pickle.loads(pickle.dumps(error))) == str(error),
        "is also an error that Python users catch": cls is PullbackError or is_builtin_error(cls),
        "is documented": bool(cls.__doc__),
    }
    return [name for name, holds in checks.items() if not holds]


def in_order(text: str, pieces: Iterable[str]) -> bool:
    positions = [text.find(piece) for piece in pieces]
    return -1 not in positions and positions == sorted(positions)


def is_builtin_error(cls: type[Exception]) -> bool:
    return any(base.__module__ == "builtins" and base not in (Exception, BaseException, object) for base in cls.__mro__)


def silent_raises(text: str, names: set[str]) -> list[str]:
    """Places that make one of our errors without saying what to do."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [
        f"line {call.lineno}: {ast.unparse(call.func)}"
        for call in calls
        if ast.unparse(call.func).split(".")[-1] in names and not says_what_to_do(call)
    ]


def says_what_to_do(call: ast.Call) -> bool:
    spread = any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords)
    return spread or len(call.args) >= 4 or any(keyword.arg == "do" for keyword in call.keywords)


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.__name__)
def test_an_error_carries_the_four_parts(cls: type[PullbackError]) -> None:
    assert faults(cls) == []


def test_every_raise_says_what_to_do() -> None:
    names = {cls.__name__ for cls in error_classes()}
    sources = sorted(Path(inspect.getfile(errors)).parent.rglob("*.py"))
    assert {path.name: found for path in sources if (found := silent_raises(path.read_text(), names))} == {}


class ForgetfulError(PullbackError, ValueError):
    """Says nothing of what was got or what to do."""

    def __init__(self, who: str, required: str, got: str = "", do: str = "") -> None:
        super().__init__(who, required)


class SwappedError(PullbackError, ValueError):
    """Says what to do before what is wrong."""

    def __str__(self) -> str:
        return f"{self.do}: {self.who}, {self.required}, {self.got}"


class UncatchableError(PullbackError):
    """Caught by nobody who does not know pullback."""


def test_each_planted_faulty_class_is_found() -> None:
    assert "keeps its parts" in faults(ForgetfulError)
    assert "says all parts in order" in faults(SwappedError)
    assert "is also an error that Python users catch" in faults(UncatchableError)


def test_a_planted_silent_raise_is_found() -> None:
    assert silent_raises("raise errors.UsageError(who, 'must hold')", {"UsageError"}) != []
    assert silent_raises("raise UsageError(who, 'must hold', do='change it')", {"UsageError"}) == []
    assert silent_raises("raise UsageError(who, 'must hold', 'int', 'change it')", {"UsageError"}) == []
