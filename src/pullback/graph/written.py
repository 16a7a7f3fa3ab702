"""A Function with its derived rules as Python code."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from pullback import _describe
from pullback.define.function import Function
from pullback.define.ways import WRITERS
from pullback.errors import UsageError

if TYPE_CHECKING:
    from pullback.graph.formula import Formula

FORMS = ("function", "autograd", "classic", "latex")


def written(function: Function[..., Any], to: str = "function") -> str:
    """The code of a Function with derived rules.

    Raises:
        TraceError: If the forward is no formula of operations that can be written down.
        UsageError: If there is no such form.
    """
    if to not in FORMS:
        raise UsageError(f"{function.name}.source", f"to= is one of {_describe.names(FORMS)}", repr(to), "use one")
    from pullback.graph import source  # SymPy takes half a second to import

    formula = formula_for(function.fn, function.name)
    if to == "function":
        return source.function_source(formula)
    if to == "latex":
        return source.latex_source(formula)
    return source.autograd_source(formula, classic=to == "classic")


def formula_for(fn: Callable[..., Any], name: str) -> Formula:
    """What a function computes: read from its text; where that is no single formula, from running it."""
    from pullback.graph.parse import parse
    from pullback.graph.read import formula_of

    numbers = [p.name for p in inspect.signature(fn).parameters.values() if _is_number(p)]
    try:
        return parse(_text(fn), name=name, numbers=tuple(numbers))
    except (UsageError, OSError, SyntaxError):
        return formula_of(fn, *map(_made_up, inspect.signature(fn).parameters.values()))


def _text(fn: Callable[..., Any]) -> str:
    node = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
    return ast.unparse(node)


def _is_number(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in (float, "float", int, "int") or type(parameter.default) in (float, int)


def _made_up(parameter: inspect.Parameter) -> Any:
    if parameter.default is not parameter.empty:
        return parameter.default
    return 0.5 if _is_number(parameter) else torch.linspace(0.1, 0.9, 3, dtype=torch.float64)


WRITERS.append(written)
