"""Find a matrix product in backward whose operand must be transposed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, gradients, known, literal, matrix_operands, results, source_of
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every, walk, words_in
from pullback_lint.problem import Problem

CODE = "PB213"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_surrogate:
        return
    yield from _solves(function, forward, backward)
    yield from _einsums(function, forward, backward)
    yield from _inverses(function, forward, backward)
    yield from _of_transposed(function, forward, backward)
    for left, right in _products(forward):
        if left not in _names(function) or right not in _names(function):
            continue
        for node in gradients(function, _names(function).index(left)):
            if _is_product(node, backward, function, other=right, cotangent_first=True):
                yield _problem(node, left, right, f"`.t()` on `{right}`")
        for node in gradients(function, _names(function).index(right)):
            if _is_product(node, backward, function, other=left, cotangent_first=False):
                yield _problem(node, right, left, f"`.t()` on `{left}`")


def _of_transposed(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """The gradient of `x` in `x @ w.t()`, found as a product with `w.t()` instead of `w`."""
    names = _names(function)
    for shown in (item for result in _built(forward) for item in walk(result)):
        operands = matrix_operands(shown)
        if operands is None or not isinstance(operands[0], ast.Name) or operands[0].id not in names:
            continue
        right = _transposed(operands[1])
        for node in gradients(function, names.index(operands[0].id)) if right in names else ():
            sides = matrix_operands(node)
            factor = _transposed_node(sides[1]) if sides is not None else None
            if sides is not None and factor is not None and _is_pair(sides[0], factor, backward, function, right):
                yield Problem(
                    node,
                    f"`forward` multiplies by `{right}` transposed, so this needs `{right}` as it is",
                    argument=operands[0].id,
                    fix=f"leave the transposition of `{right}` out",
                )


def _built(forward: Method) -> Iterator[ast.expr]:
    """What forward returns, also where something is added to it in place."""
    for item in forward.flow.returns.values():
        node = item.node.value
        sources = forward.flow.assignments.get(node.id, []) if isinstance(node, ast.Name) else [node]
        yield from (source for source in sources if source is not None)


def _transposed_node(node: ast.expr) -> ast.expr | None:
    """What a plain transposition is of: `w.t()`, `w.T`, `w.mT`."""
    if isinstance(node, ast.Call) and called(node) == "t" and not node.args:
        node = node.func
        return node.value if isinstance(node, ast.Attribute) else None
    return node.value if isinstance(node, ast.Attribute) and node.attr in {"T", "mT"} else None


def _transposed(node: ast.expr) -> str:
    inner = _transposed_node(node)
    return inner.id if isinstance(inner, ast.Name) else ""


def _problem(node: ast.AST, argument: str, other: str, fix: str, what: str = "product") -> Problem:
    return Problem(
        node,
        f"the gradient of `{argument}` is a {what} with `{other}` untransposed",
        argument=argument,
        fix=f"use {fix}",
    )


def _names(function: Function) -> list[str]:
    return [parameter.name for parameter in function.inputs]


def _products(forward: Method) -> Iterator[tuple[str, str]]:
    """The operands of plain products of two inputs that forward returns."""
    for shown in results(forward):
        for node in walk(shown):
            operands = matrix_operands(node)
            if operands is not None and all(isinstance(side, ast.Name) for side in operands):
                yield operands[0].id, operands[1].id  # type: ignore[attr-defined]


def _is_product(node: ast.AST, backward: Method, function: Function, *, other: str, cotangent_first: bool) -> bool:
    operands = matrix_operands(node)
    if operands is None:
        return False
    cotangent, factor = operands if cotangent_first else operands[::-1]
    return _is_pair(cotangent, factor, backward, function, other)


def _is_pair(cotangent: ast.expr, factor: ast.expr, backward: Method, function: Function, other: str) -> bool:
    """Whether two operands are the cotangent and an input of forward, each as it is."""
    if not isinstance(cotangent, ast.Name) or not backward.flow.values.get(cotangent, Value()).aliases("g."):
        return False
    if not isinstance(factor, ast.Name) or len(backward.flow.assignments.get(factor.id, [])) != 1:
        return False
    roots = backward.flow.values.get(factor, Value()).alias
    kept = [known(function, root) for root in roots]
    return len(kept) == 1 and kept[0] is not None and kept[0].alias == {f"in.{other}"} and _as_it_is(function, other)


def _as_it_is(function: Function, name: str) -> bool:
    """Whether the input is saved under its own name, not as a view."""
    return any(
        isinstance(argument, ast.Name) and argument.id == name for save in function.saves for argument in save.arguments
    )


def _returned_calls(forward: Method, name: str) -> Iterator[ast.Call]:
    """What forward returns, where it is a call of a function of that name."""
    for shown in results(forward):
        if isinstance(shown, ast.Call) and called(shown) == name:
            yield shown


def _solves(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """The gradient of a right-hand side, found with the matrix as it is instead of its transpose."""
    names = _names(function)
    for call in _returned_calls(forward, "solve"):
        if len(call.args) != 2 or not all(isinstance(item, ast.Name) and item.id in names for item in call.args):
            continue
        left, right = (item.id for item in call.args if isinstance(item, ast.Name))
        for node in gradients(function, names.index(right)):
            if not isinstance(node, ast.Call) or called(node) != "solve" or len(node.args) != 2:
                continue
            if _is_pair(node.args[1], node.args[0], backward, function, left):
                yield _problem(node, right, left, f"`{left}.mT`", "solution")


_INVERSES = {"inv", "inverse", "pinv"}
_DETERMINANTS = {"det", "logdet", "slogdet"}
_TRANSPOSES = {
    "t",
    "T",
    "mT",
    "mH",
    "H",
    "transpose",
    "adjoint",
    "swapaxes",
    "permute",
    "transpose_",
    "movedim",
    "einsum",
}


def _inverses(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """The gradient of an inverse or a determinant, written without any transpose."""
    made = {called(node) for node in every(forward.node, ast.Call)}
    if not made & (_INVERSES | _DETERMINANTS) or len(function.inputs) != 1 or words_in(backward.node) & _TRANSPOSES:
        return
    for element in function.gradients_of(0):
        node = source_of(backward.flow, element.node)
        if not element.value.rooted("g.") or "opaque" in element.value.tags:
            continue
        products = sum(isinstance(child.op, ast.MatMult) for child in every(node, ast.BinOp))
        inverted = any(called(child) in _INVERSES for child in closure(backward.flow, node))
        if (made & _INVERSES and products == 2) or (made & _DETERMINANTS and inverted and not products):
            name = function.inputs[0].name
            yield Problem(
                element.node,
                f"the gradient of `{name}` needs the inverse transposed",
                argument=name,
                fix="use `.mT` of the inverse (`.mH` if it may be complex)",
            )


def _einsums(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """The gradient of an operand of einsum, found by an einsum with other subscripts."""
    names = _names(function)
    for call in _returned_calls(forward, "einsum"):
        equation, *operands = call.args
        specs = _subscripts(equation)
        sides = [item.id for item in operands if isinstance(item, ast.Name) and item.id in names]
        if specs is None or len(sides) != 2 or len(specs) != 3:
            continue
        for own, other in ((0, 1), (1, 0)):
            for node in gradients(function, names.index(sides[own])):
                if _is_other_einsum(node, backward, function, specs, (own, other), sides[other]):
                    wanted = f"{specs[2]},{specs[other]}->{specs[own]}"
                    yield _problem(node, sides[own], sides[other], f'`einsum("{wanted}", …)`', "einsum")


def _is_other_einsum(
    node: ast.AST, backward: Method, function: Function, specs: list[str], places: tuple[int, int], other: str
) -> bool:
    """Whether it is an einsum of the cotangent and the other operand whose subscripts do not fit."""
    found = _subscripts(node.args[0]) if isinstance(node, ast.Call) and called(node) == "einsum" and node.args else None
    if found is None or len(found) != 3 or not isinstance(node, ast.Call) or len(node.args) != 3:
        return False
    for cotangent, factor in ((1, 2), (2, 1)):
        if _is_pair(node.args[cotangent], node.args[factor], backward, function, other):
            given = specs[2] + specs[places[1]]
            taken = found[cotangent - 1] + found[factor - 1]
            renamed = dict(zip(taken, given, strict=False))
            fits = len(given) == len(taken) and [renamed[letter] for letter in taken] == list(given)
            return not fits or "".join(renamed.get(letter, "") for letter in found[2]) != specs[places[0]]
    return False


def _subscripts(node: ast.expr) -> list[str] | None:
    """The subscripts of the operands and of the result; None unless all are plain letters."""
    equation = literal(node)
    if not isinstance(equation, str) or "." in equation or "->" not in equation:
        return None
    return [part.strip() for part in equation.replace("->", ",").split(",")]
