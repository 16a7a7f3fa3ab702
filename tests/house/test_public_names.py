"""The public names: sorted, complete, documented, each with an example."""

from __future__ import annotations

import inspect
from types import ModuleType

import pullback


def problems(module: ModuleType) -> list[str]:
    """What is wrong with the names that a module offers."""
    names = list(module.__all__)
    listed = [] if names == sorted(names) else ["__all__ is not sorted"]
    missing = [f"{name} is public but not in __all__" for name in sorted(public(module) - set(names))]
    return listed + missing + [problem for name in names for problem in undocumented(module, name)]


def public(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value) and getattr(value, "__module__", "") != "__future__"
    }


def undocumented(module: ModuleType, name: str) -> list[str]:
    if not hasattr(module, name):
        return [f"{name} is in __all__ but cannot be imported"]
    value = getattr(module, name)
    text = inspect.getdoc(value) or ""
    is_error = isinstance(value, type) and issubclass(value, BaseException)
    if not text:
        return [f"{name} has no docstring"]
    if callable(value) and not is_error and ">>>" not in text:
        return [f"{name} has no example in its docstring"]
    return []


def test_the_public_names_are_in_order() -> None:
    assert problems(pullback) == []


def documented() -> None:
    """Nothing.

    >>> documented()
    """


def bare() -> None:
    """Nothing, and no example."""


def module_with(names: list[str], **values: object) -> ModuleType:
    module = ModuleType("planted")
    vars(module).update(values, __all__=names)
    return module


def test_each_planted_fault_is_found() -> None:
    assert problems(module_with(["a", "b"], a=documented, b=documented)) == []
    assert problems(module_with(["b", "a"], a=documented, b=documented)) == ["__all__ is not sorted"]
    assert problems(module_with([], a=documented)) == ["a is public but not in __all__"]
    assert problems(module_with(["a"])) == ["a is in __all__ but cannot be imported"]
    assert problems(module_with(["a"], a=bare)) == ["a has no example in its docstring"]
    assert problems(module_with(["a"], a=lambda: None)) == ["a has no docstring"]
