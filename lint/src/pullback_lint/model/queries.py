"""Questions that several rules ask of syntax trees, values and Functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pullback_lint.model.tables import words
from pullback_lint.model.value import Value, join
from pullback_lint.model.walk import every, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pullback_lint.model.events import Guards
    from pullback_lint.model.flow import Flow
    from pullback_lint.model.function import Function
    from pullback_lint.model.method import Method

REDUCTIONS = words("""
    sum mean prod norm max min amax amin var std logsumexp median vector_norm nansum nanmean
""")
MIXING = REDUCTIONS | words("""
    matmul mm bmm mv einsum dot vdot inner cumsum cumprod flip addmm sum_to_size linear solve logcumsumexp
    baddbmm tensordot outer mean
""")


def text(node: ast.AST) -> str:
    """An expression as source text, in one form whatever its layout."""
    return ast.unparse(node)


def loaded(node: ast.AST, name: str) -> list[ast.Name]:
    """Every read of a name inside a node."""
    return [child for child in every(node, ast.Name) if child.id == name and isinstance(child.ctx, ast.Load)]


def names_in(node: ast.AST) -> set[str]:
    """All names inside a node."""
    return {child.id for child in every(node, ast.Name)}


def called(node: ast.AST | None) -> str:
    """The last name of what a call calls, or an empty string."""
    if not isinstance(node, ast.Call):
        return ""
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def calls_of(node: ast.AST, names: Collection[str]) -> list[ast.Call]:
    """The calls inside a node whose last name is one of these."""
    return [child for child in every(node, ast.Call) if called(child) in names]


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((item.value for item in call.keywords if item.arg == name), None)


def literal(node: ast.AST | None) -> object:
    """The value of a literal expression; None for anything else."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None


def source_of(flow: Flow, node: ast.expr) -> ast.expr:
    """The expression that a name stands for, where a single assignment tells; else the node itself."""
    seen = 0
    while isinstance(node, ast.Name) and seen < 10:
        sources = flow.assignments.get(node.id, [])
        if len(sources) != 1 or sources[0] is None or loaded(sources[0], node.id):  # `g = g / n` says what it was
            break
        node = sources[0]
        seen += 1
    return node


def sources_of(flow: Flow, node: ast.expr, depth: int = 0) -> list[ast.expr]:
    """The expressions that may stand behind a node, through names and conditions; without `None`."""
    if isinstance(node, ast.IfExp):
        return [item for side in (node.body, node.orelse) for item in sources_of(flow, side, depth + 1)]
    behind = flow.assignments.get(node.id, []) if isinstance(node, ast.Name) else []
    if behind and None not in behind and depth < 5 and len(behind) < 5:
        return [item for source in behind if source is not None for item in sources_of(flow, source, depth + 1)]
    return [] if isinstance(node, ast.Constant) and node.value is None else [node]


def gradients(function: Function, index: int) -> list[ast.expr]:
    """The expressions that backward may return for one input."""
    flow = function.readers[0] if function.readers else None
    nodes = [element.node for element in function.gradients_of(index)]
    return [item for node in nodes for item in sources_of(flow, node)] if flow is not None else []


def results(method: Method) -> list[ast.expr]:
    """The expressions that a method may return."""
    nodes = [item.node.value for item in method.flow.returns.values() if item.node.value is not None]
    return [item for node in nodes for item in sources_of(method.flow, node)]


def closure(flow: Flow, node: ast.expr) -> list[ast.AST]:
    """All nodes of an expression and of the expressions that its names were assigned from."""
    known = flow.closures.get(node)
    if known is None:
        known = flow.closures[node] = [child for tree in _behind(flow, node) for child in walk(tree)]
    return known


def _behind(flow: Flow, node: ast.expr) -> Iterator[ast.AST]:
    """An expression and the expressions that its names were assigned from."""
    waiting: list[ast.AST] = [node]
    seen: set[str] = set()
    while waiting:
        tree = waiting.pop()
        yield tree
        for name in dict.fromkeys(child.id for child in every(tree, ast.Name) if child.id not in seen):
            seen.add(name)
            waiting += [source for source in flow.assignments.get(name, []) if source is not None]
            waiting += flow.changes.get(name, [])


def mixes(flow: Flow, node: ast.expr) -> bool:
    """Whether an expression combines several elements of a tensor (a reduction or a matrix product)."""
    return any(map(_is_mixing, closure(flow, node)))


def _is_mixing(node: ast.AST) -> bool:
    return called(node) in MIXING if isinstance(node, ast.Call) else isinstance(node, ast.MatMult)


def mixes_cotangent(flow: Flow, node: ast.expr) -> bool:
    """Whether an expression combines several elements of a cotangent, as far as can be seen."""
    return any(
        (isinstance(child, ast.BinOp) and isinstance(child.op, ast.MatMult)) or called(child) in MIXING
        for child in closure(flow, node)
        if isinstance(child, ast.expr) and _may_hold_cotangent(flow.values.get(child))
    )


def _may_hold_cotangent(value: Value | None) -> bool:
    return value is None or "opaque" in value.tags or bool(value.rooted("g."))


def known(function: Function, root: str) -> Value | None:
    """What forward kept under a root of backward (`saved.0`, `ctx.name`); None if that is unknown."""
    kind, _, name = root.partition(".")
    if kind == "saved" and name.isdigit():
        return function.saved_value(int(name))
    if kind == "ctx" and name in function.sets:
        return join(item.value for item in function.sets[name])
    return None


def origins(function: Function, roots: Iterable[str]) -> frozenset[str] | None:
    """The inputs of forward behind roots of backward; None if one of them is unknown."""
    found: set[str] = set()
    for root in roots:
        if root.startswith("g."):
            continue
        value = known(function, root)
        if value is None:
            return None
        found |= value.deps
    return frozenset(found)


def covers(guards: list[Guards]) -> bool:
    """Whether the conditions of several places together cover every path."""
    return _covers([[(text(test), outcome) for test, outcome in item] for item in guards])


def _covers(guards: list[list[tuple[str, bool]]]) -> bool:
    if any(not item for item in guards):
        return True
    if not guards:
        return False
    test = guards[0][0][0]
    sides = []
    for outcome in (True, False):
        rest = [[pair for pair in item if pair[0] != test] for item in guards if (test, not outcome) not in item]
        sides.append(_covers(rest))
    return all(sides)


def compared_with_none(node: ast.AST) -> set[str]:
    """Names whose presence is checked: compared with None, or tested for truth."""
    found: set[str] = set()
    for child in every(node, ast.Compare):
        if any(isinstance(op, ast.Is | ast.IsNot) for op in child.ops):
            found |= names_in(child)
        elif isinstance(child, ast.If | ast.IfExp | ast.While):
            tests = child.test.values if isinstance(child.test, ast.BoolOp) else [child.test]
            found |= {item.id for item in tests if isinstance(item, ast.Name)}
    return found


def may_be_scalar(flow: Flow, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression may be a single number, as far as can be seen."""
    node = source_of(flow, node)
    if depth > 20:
        return True
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            return False
        return may_be_scalar(flow, node.left, depth + 1) and may_be_scalar(flow, node.right, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return may_be_scalar(flow, node.operand, depth + 1)
    if isinstance(node, ast.IfExp):
        return may_be_scalar(flow, node.body, depth + 1) or may_be_scalar(flow, node.orelse, depth + 1)
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Tuple | ast.Slice)
    if isinstance(node, ast.Call):
        return _call_may_be_scalar(flow, node, depth)
    value = flow.values.get(node, Value())
    return not (isinstance(node, ast.Name) and value.alias)


def _call_may_be_scalar(flow: Flow, node: ast.Call, depth: int) -> bool:
    name = called(node)
    first = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_method = first is not None and not flow.imports.dotted(node.func).startswith("torch.")
    arguments = node.args if is_method else node.args[1:]
    if name in REDUCTIONS:
        return not arguments and keyword(node, "dim") is None
    if name in {"log_softmax", "softmax", "cumsum", "where", "stack", "cat"}:
        return False
    operand = first if is_method else (node.args[0] if node.args else None)
    if name in ELEMENTWISE and operand is not None:
        return may_be_scalar(flow, operand, depth + 1)
    return True


ELEMENTWISE = words("""
    exp log sqrt rsqrt sigmoid tanh abs relu square pow clamp sin cos neg softplus clone round sign floor
    reciprocal erf log1p expm1 to float contiguous clamp_min clamp_max
""")


def product_of(method: Method, first: str, second: str, *, matrix: bool) -> bool:
    """Whether forward multiplies two of its parameters directly."""
    for child in every(method.node, ast.BinOp):
        if isinstance(child.op, ast.MatMult if matrix else ast.Mult):
            names = {side.id for side in (child.left, child.right) if isinstance(side, ast.Name)}
            if names == {first, second}:
                return True
    return False


def matrix_operands(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two operands of a matrix product; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and called(node) in {"matmul", "mm"}:
        if len(node.args) == 2:
            return node.args[0], node.args[1]
        if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
            return node.func.value, node.args[0]
    return None
