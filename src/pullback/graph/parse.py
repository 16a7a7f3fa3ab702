"""Formula text to SymPy: read with ``ast``, never evaluated, only names of the ops table allowed."""

from __future__ import annotations

import ast
import copy
import difflib
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import sympy as sp

from pullback.errors import UsageError
from pullback.graph.conjugate import COMPLEX, PARTS
from pullback.graph.fold import unparse
from pullback.graph.formula import Formula, Parameter, exact, symbol
from pullback.graph.functions import Test, where
from pullback.graph.losses import LOSSES
from pullback.graph.moved import INDEX, Moved, Several, fixed
from pullback.graph.ops import CONSTANTS, OPS, Op
from pullback.graph.pieces import PIECES
from pullback.graph.reductions import REDUCTIONS, sizeless
from pullback.graph.structure import ATTRIBUTES, STRUCTURE, sized, subscript

_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "remainder",
    ast.FloorDiv: "floor_divide", ast.MatMult: "matmul", ast.BitAnd: "logical_and", ast.BitOr: "logical_or",
    ast.USub: "neg", ast.UAdd: "positive", ast.Invert: "logical_not",
    ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_KNOWN = {
    name: Op(name, form, python=spelled)
    for name, (spelled, form) in {**PIECES, **STRUCTURE, **COMPLEX, **LOSSES, **REDUCTIONS}.items()
}
_KNOWN |= OPS
_ATTRIBUTES = {**ATTRIBUTES, **PARTS}
_MODULES = {"torch", "math", "F", "np", "special", "nn", "functional"}
_TAKEN = {"torch", "math", "pb", "ctx", "inputs", "output", "grad_output"}
_ARGUMENTS = {"e", "tau"}  # Greek and Latin letters that are seldom the constant where they stand alone
_BUILT_IN = {"abs", "pow", "float"}
_SCALAR_KINDS = {"float", "int", "bool", "complex"}
_JOINING = {"cat", "concat", "stack"}
_RESULTS = {"values": 0, "indices": 1, "sign": 0, "logabsdet": 1}
_MAKERS = {"tensor", "eye", "arange", "linspace", "logspace", "zeros", "ones", "full", "hann_window", "hamming_window"}
_PLACEMENT = ("dtype", "device", "requires_grad", "layout", "memory_format")
_ONE = "one result, and these are several: take one with [0] or .values, or name them"
_ALLOWED = "arithmetic, comparisons, &, |, ~, known torch functions and tensor methods, math constants"


def parse(text: str, *, name: str = "f", numbers: tuple[str, ...] = (), domain: str = "any") -> Formula:
    """Read a formula.

    Args:
        text: One expression, several statements of which the last is the result, or a whole ``def``.
        name: What to call the function, unless the text says.
        numbers: The names that are Python numbers rather than tensors.
        domain: ``complex`` where arguments may be complex in a formula without ``conj``, ``real`` or ``1j``; ``real``
            where they never are, so that gradients need no conjugate.

    Raises:
        UsageError: With the place in the text, and what is allowed there.

    >>> parse("x * torch.sigmoid(b * x)").out
    x*sigmoid(b*x)
    """
    return replace(_Reader(text, name, numbers).formula(), domain=domain)


class _Reader:
    """Reads one text; rewrites its calls to the spelling of the ops table on the way."""

    def __init__(self, text: str, name: str, numbers: tuple[str, ...]) -> None:
        self.text = text.strip()
        self.name = name
        self.declared: list[Parameter] | None = None
        self.numbers = set(numbers)
        self.found: dict[str, Parameter] = {}
        self.values: dict[str, Any] = {}
        self.real: set[Any] = set()
        self.renamed: dict[str, str] = {}

    def formula(self) -> Formula:
        statements = self.statements()
        outcome = None
        for at, statement in enumerate(statements):
            last = at == len(statements) - 1
            outcome, statements[at] = self.statement(statement, last)
        if isinstance(outcome, Several):
            self.fail(statements[-1], _ONE)
        out = sp.sympify(outcome)
        if not isinstance(out, sp.Expr) or (isinstance(out, sp.logic.boolalg.Boolean) and not out.is_Symbol):
            self.fail(statements[-1], "a result that is one tensor of numbers")
        if not any(p.kind == "tensor" for p in self.found.values()):
            self.fail_at(1, 0, len(self.text), "a formula of at least one tensor argument")
        parameters = tuple(self.found.values()) if self.declared is None else tuple(self.declared)
        named = {v: k for k, v in self.values.items() if isinstance(v, sp.Basic) and v.args and v != out}
        body = tuple(unparse(ast.fix_missing_locations(s)) for s in statements)
        masks = {name for value in (*self.values.values(), out) for name in _masks(value)}
        kinds = tuple(replace(p, kind="mask") if p.name in masks else p for p in parameters)
        return Formula(self.name, kinds, out, body, named, real=frozenset(self.real))

    # statements ---------------------------------------------------------------------------------------------------

    def statements(self) -> list[ast.stmt]:
        try:
            body = ast.parse(self.text).body
        except SyntaxError as error:
            self.fail_at(error.lineno or 1, (error.offset or 1) - 1, 1, f"this is not Python: {error.msg}")
        if len(body) == 1 and isinstance(body[0], ast.FunctionDef):
            self.declare(body[0])
            body = body[0].body
        body = [
            s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and len(body) > 1)
        ]
        if not body:
            self.fail_at(1, 0, 1, "there is no formula")
        return body

    def declare(self, node: ast.FunctionDef) -> None:
        self.name = node.name
        a = node.args
        positional = a.posonlyargs + a.args
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
        self.declared = [self.parameter(arg, default, False) for arg, default in zip(positional, defaults, strict=True)]
        self.declared += [self.parameter(arg, d, True) for arg, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
        self.found = {p.name: p for p in self.declared}

    def parameter(self, arg: ast.arg, default: ast.expr | None, keyword_only: bool) -> Parameter:
        annotation = ast.unparse(arg.annotation) if arg.annotation else ""
        scalar = (
            annotation in _SCALAR_KINDS or arg.arg in self.numbers or isinstance(default, (ast.Constant, ast.UnaryOp))
        )
        text = ast.unparse(default) if default is not None else ""
        return Parameter(arg.arg, "number" if scalar else "tensor", text, keyword_only)

    def statement(self, node: ast.stmt, last: bool) -> tuple[Any, ast.stmt]:
        value = getattr(node, "value", None)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            value = ast.copy_location(
                ast.BinOp(ast.copy_location(ast.Name(node.target.id), node), node.op, node.value), node
            )
        elif isinstance(node, ast.Assign) and (len(node.targets) > 1 or not _are_names(node.targets[0])):
            self.fail(node.targets[0], "a name, or several separated by commas, on the left of each =")
        elif not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) or value is None:
            self.fail(node, "assignments and one result; branches are written with torch.where")
        elif isinstance(node, (ast.Expr, ast.Return)) and not last:
            self.fail(node, "the result comes last")
        outcome = self.read(value)
        if last:
            return outcome, ast.Return(value)
        target: Any = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        self.assign(target, outcome)
        return outcome, ast.Assign([target], value)

    def assign(self, target: Any, outcome: Any) -> None:
        """Remember what names stand for; an argument that is used up gets another name."""
        if isinstance(target, ast.Name):
            if target.id in self.found:
                self.renamed[target.id] = target.id = self.fresh(target.id)
            elif isinstance(target.ctx, ast.Store):
                self.renamed.pop(target.id, None)
            self.values[target.id] = outcome
            return
        if not isinstance(outcome, (tuple, Several)):
            self.fail(target, "as many names as the right side has parts; x.unbind(dim) takes a tensor apart")
        for at, name in enumerate(target.elts):
            try:
                self.assign(name, outcome[at])
            except (IndexError, TypeError):
                self.fail(target, "as many names as the right side has parts")

    def fresh(self, name: str) -> str:
        """A name that is not taken."""
        taken = {*self.found, *self.values, *_TAKEN}
        return next(new for at in itertools.count(2) if (new := f"{name}_{at}") not in taken)

    # expressions --------------------------------------------------------------------------------------------------

    def read(self, node: ast.expr) -> Any:
        reader: Callable[[Any], Any] = getattr(self, f"_{type(node).__name__}", self.unknown)
        return reader(node)

    def unknown(self, node: ast.AST) -> NoReturn:
        hint = "write torch.where(condition, a, b)" if isinstance(node, ast.IfExp) else _ALLOWED
        self.fail(node, hint)

    def _Constant(self, node: ast.Constant) -> Any:  # noqa: N802 - named for the syntax
        if isinstance(node.value, (bool, str, type(None))):
            return node.value
        if isinstance(node.value, complex):
            return exact(node.value.imag) * sp.I
        return exact(node.value) if isinstance(node.value, (int, float)) else self.unknown(node)

    def _Tuple(self, node: ast.Tuple) -> Any:  # noqa: N802
        return tuple(self.read(e) for e in node.elts)

    _List = _Tuple

    def _NamedExpr(self, node: ast.NamedExpr) -> Any:  # noqa: N802
        outcome = self.read(node.value)
        self.assign(node.target, outcome)
        return outcome

    def _Name(self, node: ast.Name) -> Any:  # noqa: N802
        node.id = self.renamed.get(node.id, node.id)
        if node.id in self.values:
            return self.values[node.id]
        if node.id not in self.found:
            if node.id in CONSTANTS and self.declared is None and node.id not in _ARGUMENTS:
                constant, node.id = CONSTANTS[node.id], f"math.{node.id}"
                return constant
            if node.id in _TAKEN:
                self.fail(node, "another name: printed code uses this one")
            if self.declared is not None:
                self.fail(node, "a parameter or an earlier name", near=[*self.found, *self.values])
            self.found[node.id] = Parameter(node.id, "number" if node.id in self.numbers else "tensor")
        return symbol(node.id)

    def _Attribute(self, node: ast.Attribute) -> Any:  # noqa: N802
        if self.module(node.value) and node.attr in CONSTANTS:
            return CONSTANTS[node.attr]
        if node.attr in _RESULTS and not self.module(node.value):
            outcome = self.read(node.value)
            return outcome[_RESULTS[node.attr]] if isinstance(outcome, Several) else self.unknown(node)
        if node.attr in _ATTRIBUTES and not self.module(node.value):
            return _ATTRIBUTES[node.attr](self.read(node.value))
        return self.fail(
            node, f"math.pi, math.e, math.tau, math.inf, or of a tensor .{', .'.join(sorted(_ATTRIBUTES))}"
        )

    def _Subscript(self, node: ast.Subscript) -> Any:  # noqa: N802
        items = [self.item(i) for i in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and isinstance(items[0], int):
            return sized(self.read(node.value.value), items[0])
        outcome = self.read(node.value)
        if isinstance(outcome, (tuple, Several)):
            return outcome[items[0]] if type(items[0]) is int else self.fail(node, "the number of a result")
        return subscript(outcome, items)

    def item(self, node: ast.expr) -> Any:
        """One part of a subscript."""
        if isinstance(node, ast.Slice):
            return slice(*(None if p is None else self.item(p) for p in (node.lower, node.upper, node.step)))
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = ""
        if value is None or value is ... or type(value) is int:
            return value
        outcome = self.read(node)
        if not isinstance(outcome, sp.Basic) or outcome.is_number:
            self.fail(node, "integers, slices, None, ... and tensors of indices or conditions")
        return outcome

    def _BinOp(self, node: ast.BinOp) -> Any:  # noqa: N802
        return self.apply(node, self.operator(node, node.op), [self.read(node.left), self.read(node.right)], {})

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:  # noqa: N802
        return self.apply(node, self.operator(node, node.op), [self.read(node.operand)], {})

    def _Compare(self, node: ast.Compare) -> Any:  # noqa: N802
        if len(node.ops) > 1:
            self.fail(node, "one comparison at a time; join two with &")
        op = self.operator(node, node.ops[0])
        return self.apply(node, op, [self.read(node.left), self.read(node.comparators[0])], {})

    def _Call(self, node: ast.Call) -> Any:  # noqa: N802
        method = isinstance(node.func, ast.Attribute) and not self.module(node.func.value)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("max", "min") and len(node.args) + method == 2 and not _is_integer(node.args[-1]):
            name += "imum"
        if name in _MAKERS and not method:
            return self.made(node)
        op = _KNOWN.get(name)
        if op is None:
            self.fail(node.func, "one of the known torch functions and tensor methods", near=[*_KNOWN])
        args = [self.read(node.func.value)] if method else []  # type: ignore[attr-defined]
        args += [self.read(a) for a in node.args]
        if name in _JOINING:
            args = [tuple(a) if isinstance(a, Several) and a.length else a for a in args]
        if name in LOSSES:
            self.real.update(*(a.free_symbols for a in args if isinstance(a, sp.Basic)))
        if method and name == "where":
            args[:2] = reversed(args[:2])
        keywords = {k.arg: self.read(k.value) for k in node.keywords if k.arg and k.arg not in ("input", *_PLACEMENT)}
        args = [self.read(k.value) for k in node.keywords if k.arg == "input"] + args
        if not method:
            self.respell(node, op, args)
        if name in ("clamp", "clip"):
            self.alike(node, 0 if method else 1)
        return self.apply(node, op, args, keywords)

    def alike(self, node: ast.Call, first: int) -> None:
        """Make both bounds tensors where one is: PyTorch clamps between two numbers or two tensors."""
        bounds = [*node.args[first:], *(k.value for k in node.keywords if k.arg in ("min", "max"))]
        read = [sp.sympify(self.read(b)) for b in bounds]
        tensors = {p.symbol for p in self.found.values() if p.kind != "number"}
        plain = [
            b for b, value in zip(bounds, read, strict=True) if value is not None and not value.free_symbols & tensors
        ]
        if len(bounds) != 2 or len(plain) != 1:
            return
        made = ast.parse(f"torch.as_tensor({ast.unparse(plain[0])})", mode="eval").body
        node.args = [made if a is plain[0] else a for a in node.args]
        for keyword in node.keywords:
            keyword.value = made if keyword.value is plain[0] else keyword.value

    def made(self, node: ast.Call) -> Any:
        """A tensor of constants, as its author wrote it; a single number is the number."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "tensor" and _is_integer(node.args[0]):
            return self.read(node.args[0])
        copied, mentioned = copy.deepcopy(node), list[Any]()
        for part in ast.walk(copied):
            if isinstance(part, ast.Name) and part.id not in _MODULES and part.id not in CONSTANTS:
                mentioned.append(self._Name(part))
                part.id = f"_mentioned_{len(mentioned) - 1}_"
        text = re.sub(r"_mentioned_(\d+)_", r"{like\1}", unparse(copied))
        return fixed(text, mentioned)

    def apply(self, node: ast.AST, op: Op, args: list[Any], keywords: dict[str, Any]) -> Any:
        if any(isinstance(a, Several) for a in (*args, *keywords.values())):
            self.fail(node, _ONE)
        try:
            return op.form(*args, **keywords)
        except (TypeError, AttributeError, KeyError, ValueError, IndexError) as error:
            detail = str(error).replace("<lambda>", op.name).replace("_elu", "elu")
            self.fail(node, f"arguments that {op.spelling} takes ({detail})")

    # spelling and errors ------------------------------------------------------------------------------------------

    def operator(self, node: ast.AST, kind: ast.AST) -> Op:
        if type(kind) not in _OPERATORS:
            self.fail(node, _ALLOWED)
        return _KNOWN[_OPERATORS[type(kind)]]

    def module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in _MODULES and node.id not in self.found

    def respell(self, node: ast.Call, op: Op, args: list[Any]) -> None:
        """Write bare and abbreviated names in full: on tensors as torch's, on numbers as Python's."""
        if (isinstance(node.func, ast.Name) and op.name in _BUILT_IN) or op.name == "tensor":
            return
        tensors = {p.symbol for p in self.found.values() if p.kind != "number"}
        flat = [part for a in args for part in (a if isinstance(a, tuple) else (a,))]
        free = set().union(*(sizeless(a).free_symbols for a in flat if isinstance(a, sp.Basic)))
        if free & tensors and ast.unparse(node.func).startswith("torch."):
            return
        spelling = op.spelling if free & tensors or not args else f"math.{op.name}"
        node.func = ast.copy_location(ast.parse(spelling, mode="eval").body, node.func)

    def fail(self, node: ast.AST, allowed: str, near: list[str] | None = None) -> NoReturn:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        width = (getattr(node, "end_col_offset", column + 1) or column + 1) - column
        word = ast.unparse(node).rpartition(".")[2]
        close = difflib.get_close_matches(word, near or [], 3)
        self.fail_at(line, column, max(width, 1), f"allowed here: {allowed}", close)

    def fail_at(self, line: int, column: int, width: int, allowed: str, close: list[str] | None = None) -> NoReturn:
        lines = self.text.splitlines() or [""]
        shown = lines[min(line, len(lines)) - 1]
        marker = " " * column + "^" * min(width, max(len(shown) - column, 1))
        do = f"did you mean {' or '.join(close)}?" if close else ""
        raise UsageError(f"formula, line {line}, column {column + 1}", allowed, f"\n    {shown}\n    {marker}", do)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _are_names(target: ast.expr) -> bool:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(isinstance(part, ast.Name) for part in parts)


def _masks(value: Any) -> set[str]:
    """The names that are used as conditions or indices."""
    if not isinstance(value, sp.Basic):
        return set()
    indices = {u for m in value.atoms(Moved) for u, pull in zip(m.operands, m.args[1]) if pull.name == INDEX}
    conditions = [w.args[0] for w in value.atoms(where)] + [value] * (
        isinstance(value, sp.logic.boolalg.Boolean) and not value.is_Symbol
    )
    junctions = [c for cond in conditions for c in (cond, *cond.atoms(sp.And, sp.Or, sp.Not))]
    found = {
        a.name
        for c in junctions
        for a in (c, *(() if c.is_Relational or isinstance(c, Test) else c.args))
        if a.is_Symbol
    }
    return found | {u.name for u in indices if u.is_Symbol}
