"""A second backward pass through the same call gives the same gradient."""

from __future__ import annotations

from collections.abc import Iterator

from pullback.check import compare, state, tree
from pullback.check.case import Case, cotangents, pull
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Run backward twice on one graph."""
    state.seed()
    leaves, passed = case.arguments.fresh()
    outputs = tree.tensors(case.target.apply(*passed))
    first = _pass(outputs, leaves)
    try:
        second = _pass(outputs, leaves)
    except Exception as error:  # a result of the experiment
        yield _raised(error)
        return
    for name, a, b in zip(case.arguments.diff_names, first, second, strict=True):
        if not compare.same(b, a):
            yield Finding(
                "saved-tensor-mutated", f"a second backward pass gives another gradient of {name!r}",
                cause="backward changes something that it keeps for the next pass",
                fix="do not change saved tensors or ctx attributes in backward", argument=name,
                evidence=compare.worst(b, a),
            )  # fmt: skip


def _raised(error: Exception) -> Finding:
    message = f"a second backward pass raises: {(str(error).splitlines() or [''])[0][:200]}"
    if "modified by an inplace operation" in str(error):
        return Finding(
            "saved-tensor-mutated", message, cause="the first backward changes a saved tensor in place",
            fix="do not change saved tensors in backward: mul instead of mul_",
        )  # fmt: skip
    freed = "second time" in str(error)
    return Finding(
        "inner-graph-freed", message,
        cause="the graph recorded inside forward is consumed by the first backward" if freed else "",
        fix="rebuild the inner graph in backward from saved inputs, or differentiate it with retain_graph=True",
        level=None if freed else "warning",  # what backward deletes or clears itself, it means to free
    )  # fmt: skip


def _pass(outputs: list, leaves: list) -> list:  # type: ignore[type-arg]
    state.seed(99)
    grads = pull(outputs, leaves, cotangents(outputs, 8), retain_graph=True)
    return [None if g is None else g.detach().clone() for g in grads]
