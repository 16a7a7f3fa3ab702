"""A module can be copied, a function of a module's own be pickled, and what comes out does the same."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pullback.check import compare, tree
from pullback.check.case import Case
from pullback.check.placed import Placed
from pullback.check.report import Finding

NEEDS = "forward"


def probe(case: Case) -> Iterator[Finding]:
    """Copy and pickle in memory, and compare the values."""
    for label, make in _ways(case):
        try:
            twin = make(case.target.subject)
        except Exception as error:  # a result of the experiment
            yield _finding(f"{label} raises {type(error).__name__}: {str(error)[:160]}")
            continue
        outcome = case.run(apply=twin, backward=False)
        outputs = [out for out in outcome.outputs if tree.is_differentiable(out)]
        plain = [out for out in case.base.outputs if tree.is_differentiable(out)]
        if outcome.error is not None:
            yield _finding(f"after {label} it raises {type(outcome.error).__name__}: {str(outcome.error)[:160]}")
        elif len(outputs) != len(plain) or not compare.all_same(outputs, plain):
            yield _finding(f"after {label} it gives other values")


def _ways(case: Case) -> list[tuple[str, Callable[[Any], Any]]]:
    if case.target.kind == "module":
        return [("copy.deepcopy", lambda module: Placed(copy.deepcopy(module)))]
    if case.target.kind == "pullback.Function" and case.target.call is None and _is_importable(case.target.subject):
        return [("pickling", lambda thing: pickle.loads(pickle.dumps(thing))), ("copy.deepcopy", copy.deepcopy)]
    return []


def _is_importable(thing: Any) -> bool:
    module = sys.modules.get(getattr(thing, "__module__", ""))
    return module is not None and getattr(module, getattr(thing, "__qualname__", ""), None) is thing


def _finding(what: str) -> Finding:
    return Finding(
        "not-picklable", what, cause="it holds something that cannot be copied: a lambda, a handle, a graph",
        fix="keep plain data and modules in attributes, or define __getstate__",
    )  # fmt: skip
