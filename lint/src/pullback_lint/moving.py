"""Which statements of `forward(ctx, …)` leave for `setup_context`, and what that needs of forward's values."""

from __future__ import annotations

import ast
from typing import NamedTuple

from pullback_lint.model import tables
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, names_in, source_of
from pullback_lint.model.tables import words
from pullback_lint.model.walk import walk

SIMPLE = words("len int float bool str min max abs round tuple list isinstance range sum")
"""Builtins that make plain data out of plain data."""


class Refusal(Exception):  # noqa: N818 # a refusal is an outcome, not an error
    """A class cannot be rewritten without a change of meaning."""


class Plan(NamedTuple):
    """What becomes of forward's statements.

    Attributes:
        moved: Statements that leave forward: those that fill the context, and those that serve them alone.
        shared: Statements about plain data that both parts need, and both execute.
        replaced: Reads of the context that stay in forward, and what stands there instead.
        needed: The names that moved and shared statements read.
        outputs: The names forward returns, in order; an empty name for anything else.
        is_tuple: Whether it returns a tuple.
    """

    moved: list[ast.stmt]
    shared: list[ast.stmt]
    replaced: dict[ast.Attribute, str]
    needed: frozenset[str]
    outputs: list[str]
    is_tuple: bool


def plan(function: Function, forward: Method) -> Plan:
    """Decide what moves.

    Args:
        function: A class in the classic form.
        forward: Its forward.

    Raises:
        Refusal: The two parts cannot be told apart without a change of meaning.
    """
    body = forward.node.body
    filling = [statement for statement in body if _uses_ctx(forward, statement) and _fills(forward, statement)]
    staying = [statement for statement in body if statement not in filling]
    replaced = _replaced(function, forward, filling, staying)
    serving = _serving(forward, filling, staying)
    moved = [statement for statement in body if statement in filling or statement in serving]
    staying = [statement for statement in staying if statement not in serving]
    if not staying:
        raise Refusal("nothing would be left of forward")
    left = {node for statement in staying for node in walk(statement)}
    replaced = {node: text for node, text in replaced.items() if node in left}
    outputs, is_tuple = _outputs(forward)
    shared = _shared(function, forward, moved, staying, outputs)
    both = [statement for statement in body if statement in moved or statement in shared]
    _check_values(forward, _names(filling), moved, both, outputs)
    return Plan(moved, shared, replaced, frozenset(_names(both)), outputs, is_tuple)


def _names(statements: list[ast.stmt]) -> set[str]:
    return set().union(*map(names_in, statements)) if statements else set()


def _uses_ctx(forward: Method, node: ast.AST) -> bool:
    return forward.ctx in names_in(node)


def _fills(forward: Method, node: ast.stmt) -> bool:
    """Whether a statement does nothing but fill the context."""
    if isinstance(node, ast.If):
        return all(_fills(forward, child) for child in [*node.body, *node.orelse])
    if isinstance(node, ast.Assign):
        targets = [item for target in node.targets for item in getattr(target, "elts", [target])]
        return all(isinstance(item, ast.Attribute) and forward.flow.is_ctx(item.value) for item in targets)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Attribute) and forward.flow.is_ctx(node.target.value)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return isinstance(node, ast.Pass | ast.Raise)
    func = node.value.func
    return isinstance(func, ast.Attribute) and forward.flow.is_ctx(func.value)


def _replaced(
    function: Function, forward: Method, filling: list[ast.stmt], staying: list[ast.stmt]
) -> dict[ast.Attribute, str]:
    """Reads of `ctx.name` in the computation, where forward has just set it to something that can stand there."""
    found: dict[ast.Attribute, str] = {}
    for statement in staying:
        reads = [node for node in walk(statement) if isinstance(node, ast.Attribute) and _is_read(forward, node)]
        texts = {node: _stands_for(function, forward, filling, node) for node in reads}
        uses = sum(isinstance(node, ast.Name) and node.id == forward.ctx for node in walk(statement))
        if uses > len(texts) or not all(texts.values()):
            raise Refusal(f"line {statement.lineno} uses the context together with the computation")
        found |= texts
    return found


def _is_read(forward: Method, node: ast.Attribute) -> bool:
    return forward.flow.is_ctx(node.value) and isinstance(node.ctx, ast.Load)


def _stands_for(function: Function, forward: Method, filling: list[ast.stmt], node: ast.Attribute) -> str:
    """What a context's attribute is set to once, above, if that is plain data made of inputs as they came."""
    sets = function.sets.get(node.attr, [])
    above = [item for item in filling if isinstance(item, ast.Assign) and item.lineno < node.lineno]
    expr = sets[0].expr if len(sets) == 1 and any(sets[0].node in item.targets for item in above) else None
    if expr is None or names_in(expr) & {*forward.flow.assignments, forward.ctx}:
        return ""
    if isinstance(expr, ast.Name | ast.Constant):
        return ast.unparse(expr)
    return f"({ast.unparse(expr)})" if _is_cheap(function, forward, expr) else ""


def _serving(forward: Method, filling: list[ast.stmt], staying: list[ast.stmt]) -> list[ast.stmt]:
    """Statements whose results the context alone needs: they can be computed where the context is filled."""
    if forward.flow.mutations:
        return []
    movable = [statement for statement in staying if _computes(forward, statement)]
    while True:
        used = _names([statement for statement in staying if statement not in movable])
        needed = _names(filling)
        kept: list[ast.stmt] = []
        for statement in reversed(movable):
            if not _stored(statement) & used and _stored(statement) & needed:
                kept.append(statement)
                needed |= names_in(statement)
        if len(kept) == len(movable):
            return kept
        movable = kept[::-1]


def _computes(forward: Method, node: ast.stmt) -> bool:
    """Whether a statement binds names to what known operations give, with no other effect."""
    if not isinstance(node, ast.Assign) or not all(isinstance(item, ast.Name | ast.Tuple) for item in node.targets):
        return False
    targets = [item for target in node.targets for item in getattr(target, "elts", [target])]
    calls = [call for child, call in forward.flow.calls.items() if child in walk(node)]
    known = all(
        (call.name in SIMPLE or call.name in tables.TENSOR_OPS | tables.META) and call.name not in tables.RANDOM
        for call in calls
    )
    return known and len(calls) == _calls_in(node) and all(isinstance(item, ast.Name) for item in targets)


def _calls_in(node: ast.AST) -> int:
    strange = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)
    return sum(isinstance(child, ast.Call) + 1000 * isinstance(child, strange) for child in walk(node))


def _stored(node: ast.AST) -> set[str]:
    """The names that a statement binds."""
    return set(filter(None, map(_bound, walk(node))))


def _bound(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
        return node.name
    return (node.asname or node.name).partition(".")[0] if isinstance(node, ast.alias) else None


def _shared(
    function: Function, forward: Method, moved: list[ast.stmt], staying: list[ast.stmt], outputs: list[str]
) -> list[ast.stmt]:
    """Statements about plain data that the context needs as well as the computation."""
    found: list[ast.stmt] = []
    inputs = {parameter.name for parameter in forward.parameters}
    waiting, seen = [moved], set(outputs)
    while waiting:
        for name in _names([*waiting.pop()]) - seen:
            seen.add(name)
            binding = [statement for statement in staying if name in _stored(statement)]
            if name not in inputs and all(_is_plain(function, forward, statement) for statement in binding):
                found += binding
                waiting.append(binding)
    return found


def _is_plain(function: Function, forward: Method, node: ast.stmt) -> bool:
    """Whether a statement computes numbers, sizes and the like: nothing that costs, changes or draws anything."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.If):
        return _is_cheap(function, forward, node.test) and all(
            _is_plain(function, forward, child) for child in [*node.body, *node.orelse]
        )
    if not isinstance(node, ast.Assign) or not all(isinstance(item, ast.Name | ast.Tuple) for item in node.targets):
        return False
    targets = [item for target in node.targets for item in getattr(target, "elts", [target])]
    return all(isinstance(item, ast.Name) for item in targets) and _is_cheap(function, forward, node.value)


_CHEAP = (
    ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript, ast.Attribute,
    ast.Tuple, ast.List, ast.Slice, ast.Call, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.Starred,
)  # fmt: skip


def _is_cheap(function: Function, forward: Method, node: ast.expr) -> bool:
    """Whether an expression is made of numbers, and of the shapes of tensors rather than their values."""
    tensors = {parameter.name for index, parameter in enumerate(forward.parameters) if function.is_tensor(index)}
    measured = [item for child in walk(node) for item in _measured(child)]
    return all(
        isinstance(child, _CHEAP)
        and (not isinstance(child, ast.Call) or _is_simple_call(forward, child))
        and not (isinstance(child, ast.Name) and child.id in tensors and child not in measured)
        for child in walk(node)
    )


def _measured(node: ast.AST) -> list[ast.expr]:
    """The expressions of which a node asks the shape, the dtype and the like."""
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr in tables.META_ATTRIBUTES else []
    if not isinstance(node, ast.Call) or called(node) not in tables.META:
        return []
    return [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]


def _is_simple_call(forward: Method, node: ast.Call) -> bool:
    name = called(node)
    if isinstance(node.func, ast.Name):
        return name in SIMPLE
    return name in tables.META or forward.imports.dotted(node.func).startswith("math.")


def _outputs(forward: Method) -> tuple[list[str], bool]:
    """The names that the only return of forward returns, empty for anything else; and whether it is a tuple."""
    returns = [item.node for item in forward.flow.returns.values()]
    if len(returns) != 1 or returns[0].value is None:
        return [], False
    value = returns[0].value
    elements = value.elts if isinstance(value, ast.Tuple) else [value]
    return [_output(element) for element in elements], isinstance(value, ast.Tuple)


def _output(node: ast.expr) -> str:
    if isinstance(node, ast.Starred):
        return "*_"
    return node.id if isinstance(node, ast.Name) else ""


def _check_values(
    forward: Method, kept: set[str], moved: list[ast.stmt], both: list[ast.stmt], outputs: list[str]
) -> None:
    """Refuse to move statements that need more than inputs and outputs as they are at the end."""
    inputs = {parameter.name for parameter in forward.parameters} | {forward.vararg}
    elsewhere = [statement for statement in forward.node.body if statement not in both]
    for name in sorted(_names(moved), key=lambda name: (name not in kept, name)):
        stores = [statement.lineno for statement in elsewhere if name in _stored(statement)]
        first = min(statement.lineno for statement in moved if name in names_in(statement))
        if stores and name not in inputs and name not in outputs:
            verb = "keeps" if name in kept else "needs"
            raise Refusal(f"the context {verb} `{name}`, which is neither an input nor an output")
        if stores and (name in inputs or max(stores) > first):
            raise Refusal(f"`{name}` is assigned anew in forward")
    _check_returned(forward, moved, outputs)
    _check_changes(forward, moved)
    _check_paths(forward, moved)


def _check_returned(forward: Method, moved: list[ast.stmt], outputs: list[str]) -> None:
    """Refuse what PyTorch refuses beside setup_context: to save an input that is returned as it came."""
    shown = {source_of(forward.flow, ast.Name(name, ast.Load())) for name in outputs}
    returned = {node.id for node in shown if isinstance(node, ast.Name)} & {item.name for item in forward.parameters}
    nodes = [node for statement in moved for node in walk(statement) if called(node) == "save_for_backward"]
    if any(called(node) == "mark_dirty" for statement in moved for node in walk(statement)):
        return
    both = returned & set().union(*map(names_in, nodes)) if nodes else set()
    if both:
        raise Refusal(f"`{min(both)}` is saved and returned as it came, which setup_context does not allow")


def _check_changes(forward: Method, moved: list[ast.stmt]) -> None:
    """Refuse to compute later from what forward changes in place."""
    flow = forward.flow
    changed = {root.removeprefix("in.") for item in flow.mutations.values() for root in item.value.aliases("in.")}
    changed |= {key for item in flow.mutations.values() if (key := flow.key(item.target)) is not None}
    for statement in moved:
        late = changed & (names_in(statement) - _kept_whole(forward, statement))
        if late:
            raise Refusal(f"line {statement.lineno} reads `{min(late)}`, which forward changes in place")


def _kept_whole(forward: Method, node: ast.stmt) -> set[str]:
    """The names that a statement hands to the context as they are, or of which it reads nothing but the shape."""
    reads = {id(child): child.id for child in walk(node) if isinstance(child, ast.Name)}
    for child in walk(node):
        if (
            isinstance(child, ast.Call)
            and isinstance(child.func, ast.Attribute)
            and forward.flow.is_ctx(child.func.value)
        ):
            whole: list[ast.expr] = [getattr(item, "value", item) for item in child.args]
        elif isinstance(child, ast.Assign):
            whole = list(child.value.elts) if isinstance(child.value, ast.Tuple) else [child.value]
        elif isinstance(child, ast.Attribute) and child.attr in tables.META_ATTRIBUTES:
            whole = [child.value]
        else:
            continue
        for item in whole:
            reads.pop(id(item), None)
    return names_in(node) - set(reads.values())


def _check_paths(forward: Method, moved: list[ast.stmt]) -> None:
    """Refuse to run on every path what forward runs on some only, unless it merely hands over names."""
    returns = sorted(item.lineno for item in forward.flow.returns)
    for statement in moved:
        early = len(returns) > 1 and returns[0] < statement.lineno
        if early and names_in(statement) - _kept_whole(forward, statement) - {forward.ctx}:
            raise Refusal(f"line {statement.lineno} runs on some paths only")
