"""Evaluate elementwise forwards and backwards on single numbers, to compare a formula with the derivative.

Nothing of the user's is run: the syntax tree is interpreted with Python's own floats, operation by operation, and
whatever is not a plain elementwise formula is refused.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

from pullback_lint.model.imports import Imports

Number = float | bool
Scope = dict[str, "Number | tuple[Number, ...] | None"]


class NotElementwiseError(Exception):
    """The function is not a plain elementwise formula."""


class Interpreter:
    """Interprets the body of a method on numbers.

    Args:
        imports: What imported names stand for.
        ctx: The name of the context.
        names: The values of the parameters.
        kept: The attributes of the context; `saved_tensors` is the tuple of saved numbers.
    """

    def __init__(self, imports: Imports, ctx: str | None, names: Scope, kept: Scope) -> None:
        self.imports = imports
        self.ctx = ctx
        self.names = dict(names)
        self.kept = dict(kept)

    def run(self, body: list[ast.stmt]) -> tuple[Number | None, ...]:
        """Run a body of assignments; what it returns, always as a tuple.

        Raises:
            NotElementwiseError: It contains something else.
        """
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self._several(statement.value)
            self._statement(statement)
        raise NotElementwiseError

    def _several(self, node: ast.expr) -> tuple[Number | None, ...]:
        if isinstance(node, ast.Tuple):
            return tuple(self._optional(item) for item in node.elts)
        return (self._optional(node),)

    def _optional(self, node: ast.expr) -> Number | None:
        return None if isinstance(node, ast.Constant) and node.value is None else self.number(node)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self._value(node.value)
            for target in node.targets:
                self._bind(target, value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        elif isinstance(node, ast.Expr) and self._is_save(node.value):
            self.kept["saved_tensors"] = tuple(map(self.number, node.value.args))  # type: ignore[attr-defined]
        else:
            raise NotElementwiseError

    def _is_save(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and self._is_ctx(node.func.value)
            and node.func.attr == "save_for_backward"
            and not any(isinstance(item, ast.Starred) for item in node.args)
        )

    def _is_ctx(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.ctx

    def _bind(self, target: ast.expr, value: Number | tuple[Number, ...] | None) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Attribute) and self._is_ctx(target.value):
            self.kept[target.attr] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, tuple) and len(value) == len(target.elts):
            for item, element in zip(target.elts, value, strict=True):
                self._bind(item, element)
        else:
            raise NotElementwiseError

    def _value(self, node: ast.expr) -> Number | tuple[Number, ...] | None:
        if isinstance(node, ast.Tuple):
            return tuple(map(self.number, node.elts))
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.Attribute) and self._is_ctx(node.value) and node.attr in self.kept:
            return self.kept[node.attr]
        return self.number(node)

    def number(self, node: ast.expr) -> Number:
        """The value of an expression."""
        handler: Callable[[Interpreter, ast.expr], Number] | None = _HANDLERS.get(type(node))
        if handler is None:
            raise NotElementwiseError
        return handler(self, node)


def _constant(at: Interpreter, node: ast.Constant) -> Number:
    if isinstance(node.value, int | float):
        return node.value
    raise NotElementwiseError


def _looked_up(at: Interpreter, node: ast.expr) -> Number:
    value = None
    if isinstance(node, ast.Name):
        value = at.names.get(node.id)
    elif isinstance(node, ast.Attribute) and at._is_ctx(node.value):
        value = at.kept.get(node.attr)
    elif isinstance(node, ast.Attribute) and at.imports.dotted(node) in _CONSTANTS:
        value = _CONSTANTS[at.imports.dotted(node)]
    if isinstance(value, tuple) or value is None:
        raise NotElementwiseError
    return value


def _subscript(at: Interpreter, node: ast.Subscript) -> Number:
    if isinstance(node.value, ast.Attribute) and at._is_ctx(node.value.value) and isinstance(node.slice, ast.Constant):
        saved = at.kept.get(node.value.attr)
        if isinstance(saved, tuple) and isinstance(node.slice.value, int) and node.slice.value < len(saved):
            return saved[node.slice.value]
    raise NotElementwiseError


def _binary(at: Interpreter, node: ast.BinOp) -> Number:
    operation = _BINARY.get(type(node.op))
    if operation is None:
        raise NotElementwiseError
    return operation(at.number(node.left), at.number(node.right))


def _unary(at: Interpreter, node: ast.UnaryOp) -> Number:
    value = at.number(node.operand)
    if isinstance(node.op, ast.USub):
        return -value
    if isinstance(node.op, ast.UAdd):
        return value
    raise NotElementwiseError


def _call(at: Interpreter, node: ast.Call) -> Number:
    dotted = at.imports.dotted(node.func)
    name = dotted.rpartition(".")[2]
    arguments = node.args
    if isinstance(node.func, ast.Attribute) and not dotted.startswith(("torch.", "math.")):
        name, arguments = node.func.attr, [node.func.value, *node.args]
    operation = _FUNCTIONS.get(name)
    if operation is None or node.keywords or (isinstance(node.func, ast.Name) and not dotted.startswith("torch.")):
        raise NotElementwiseError
    try:
        return operation(*map(at.number, arguments))
    except TypeError:
        raise NotElementwiseError from None


_HANDLERS: dict[type[ast.expr], Callable[..., Number]] = {
    ast.Constant: _constant,
    ast.Name: _looked_up,
    ast.Attribute: _looked_up,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Call: _call,
}

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: float(a) ** b,
}

_CONSTANTS = {"math.pi": math.pi, "torch.pi": math.pi, "math.e": math.e, "math.tau": math.tau}


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def _ones(x: float) -> float:
    return 1.0


_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "exp": math.exp,
    "expm1": math.expm1,
    "log": math.log,
    "log1p": math.log1p,
    "log2": math.log2,
    "log10": math.log10,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "square": lambda x: x * x,
    "pow": lambda x, y: float(x) ** y,
    "reciprocal": lambda x: 1 / x,
    "neg": lambda x: -x,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "arctan": math.atan,
    "hypot": math.hypot,
    "erf": math.erf,
    "erfc": math.erfc,
    "lgamma": math.lgamma,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * math.tanh(_softplus(x)),
    "logsigmoid": lambda x: -_softplus(-x),
    "mul": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "div": lambda x, y: x / y,
    "clone": lambda x: x,
    "contiguous": lambda x: x,
    "detach": lambda x: x,
    "type_as": lambda x, y: x,
    "ones_like": _ones,
}
