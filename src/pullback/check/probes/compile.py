"""torch.compile gives the gradient that eager gives, in one graph; run by choice, since it compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from pullback.check import compare
from pullback.check.case import Case, Outcome
from pullback.check.report import Finding

NEEDS = "gradient"
BY_CHOICE = True


def probe(case: Case) -> Iterator[Finding]:
    """Compile with a backend that runs Dynamo's and AOTAutograd's graphs as they are, and compare."""
    if case.is_random:  # other numbers are drawn there
        return
    whole = _compiled(case, fullgraph=True)
    outcome = whole if whole.ok else _compiled(case, fullgraph=False)
    if not outcome.ok:
        yield Finding("transform-fails", f"torch.compile: {outcome.stage} raises {_short(outcome.error)}",
                      fix="keep data-dependent Python out of forward and backward", stack="compile")  # fmt: skip
        return
    if not whole.ok:
        yield Finding("compile-graph-break", f"torch.compile breaks the graph: {_short(whole.error)}",
                      fix="keep data-dependent Python out of forward and backward", stack="compile")  # fmt: skip
    names = case.arguments.diff_names
    for name, got, plain in zip(names, outcome.grads, case.base.grads, strict=True):
        if not compare.same(got, plain, "single"):
            yield Finding(
                "compile-wrong", f"compiled, the gradient of {name!r} is another one", argument=name, stack="compile",
                cause="something is decided while tracing that is otherwise there at run time",
                fix="let forward and backward depend on nothing but their arguments",
                evidence=compare.worst(got, plain),
            )  # fmt: skip


def _compiled(case: Case, *, fullgraph: bool) -> Outcome:
    def call(*args: Any) -> Any:
        return case.target.apply(*args)

    call.__code__ = call.__code__.replace()  # code of its own: what was compiled before counts for nothing
    made: Callable[..., Any] = torch.compile(call, fullgraph=fullgraph, backend="aot_eager")
    return case.run(apply=made, spy=False)


def _short(error: Exception | None) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"
