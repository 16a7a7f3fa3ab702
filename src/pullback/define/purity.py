"""Whether a function provably changes nothing in place, so that nobody has to look at versions on every call."""

from __future__ import annotations

import dis
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from pullback.define.captures import captures, is_plain, reachable, reads
from pullback.define.rule import nested_code

STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "INPLACE_")
ESCAPES = {"data", "numpy", "ops", "getattr", "setattr", "exec", "eval", "storage", "untyped_storage", "data_ptr"}
OPTIONS = {"out", "inplace"}
KNOWN = {
    "torch",
    "math",
    "builtins",
    "operator",
    "itertools",
    "functools",
    "pullback",
}  # code that writes only if told to


def changes_nothing(functions: Iterable[Any]) -> bool:
    """Whether no code that ``functions`` can reach writes into a tensor: no ``mul_``, ``x[0] =``, ``+=``, ``out=``.

    Unknown code counts as writing: a C function of one's own, an object's method, a function given as an argument.
    """
    functions = list(functions)
    if not all(isinstance(f, FunctionType) for f in functions) or not all(c.plain for c in captures(functions)):
        return False
    reached = reachable(functions)
    return all(_known(value) for f in reached for _, value in reads(f)) and all(
        _writes_nothing(code) for f in reached for code in nested_code(f.__code__)
    )


def _known(value: Any) -> bool:
    """Whether a value read from outside is plain data, one's own Python function, or of a library that is known."""
    if is_plain(value) or isinstance(value, FunctionType):
        return True
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or "builtins"
    return module.partition(".")[0] in KNOWN


def _writes_nothing(code: CodeType) -> bool:
    names = {*code.co_names, *(word for const in code.co_consts if isinstance(const, tuple) for word in const)}
    suspicious = [n for n in names if isinstance(n, str) and (n.endswith("_") or n in ESCAPES or n in OPTIONS)]
    return not suspicious and not any(map(_stores, dis.get_instructions(code)))


def _stores(step: dis.Instruction) -> bool:
    return step.opname.startswith(STORES) or (step.opname == "BINARY_OP" and step.argrepr.endswith("="))
