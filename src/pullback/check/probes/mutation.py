"""Neither forward nor backward changes in place what is not theirs: inputs, saved tensors, the incoming gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pullback.check import state, tree
from pullback.check.case import Case, cotangents, pull
from pullback.check.kept import kept
from pullback.check.report import Finding

NEEDS = "forward"


def probe(case: Case) -> Iterator[Finding]:
    """Compare every tensor before and after each pass."""
    state.seed()
    leaves, passed = case.arguments.fresh()
    before = _copies(passed)
    outputs = tree.tensors(case.target.apply(*passed))
    yield from _forward(case, before, passed, outputs)
    if case.base.ok:
        yield from _backward(case, leaves, passed, outputs)


def _copies(thing: Any) -> list[torch.Tensor]:
    return [t.detach().clone() for t in tree.tensors(thing)]


def _changed(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> list[int]:
    return [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if not _identical(a, b.detach())]


def _identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and (torch.equal(a, b) or torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))


def _tensor_names(case: Case) -> list[str]:
    pairs = zip(case.arguments.names, case.arguments.leaves, strict=True)
    return [name for name, leaf in pairs if isinstance(leaf, torch.Tensor)]


def _forward(case: Case, before: list[torch.Tensor], passed: Any, outputs: list[torch.Tensor]) -> Iterator[Finding]:
    names, dirty = _tensor_names(case), _dirty_names(case)
    for index in _changed(before, tree.tensors(passed)):
        if names[index] in dirty:
            continue
        if case.target.kind == "operator":
            yield Finding(
                "custom-op-mutates", f"the operator changes {names[index]!r}, which its schema does not say",
                cause="torch.compile, autograd and functionalization trust the schema",
                fix=f"declare mutates_args=({names[index]!r},) or work on a copy", argument=names[index],
            )  # fmt: skip
            continue
        yield Finding(
            "inplace-unmarked", f"forward changes {names[index]!r} in place without saying so",
            cause="autograd keeps the history of the old values, and leaves are overwritten without a word",
            fix=f"call {case.target.context}.mark_dirty({names[index]}) and return it, or work on a copy",
            argument=names[index],
        )  # fmt: skip


def _dirty_names(case: Case) -> set[str]:
    """The inputs that forward declares dirty, seen by the stand-in context."""
    kept(case)
    record, arguments = case.facts.get("record"), case.facts.get("plain_arguments")
    if record is None or case.target.function is None:
        return set()
    named = zip(case.arguments.names, tree.leaves(arguments), strict=True)
    return {name for name, leaf in named if any(leaf is d for d in record.dirty)}


def _backward(case: Case, leaves: Any, passed: Any, outputs: list[torch.Tensor]) -> Iterator[Finding]:
    g = case.target.incoming
    incoming = cotangents(outputs, 5)
    incoming_before = _copies([c for c in incoming if c is not None])
    passed_before, outputs_before = _copies(passed), _copies(outputs)
    pull(outputs, leaves, incoming)
    if _changed(incoming_before, [c for c in incoming if c is not None]):
        yield Finding(
            "grad-output-mutated", f"backward changes {g} in place",
            cause=f"{g} belongs to autograd: other branches of the graph and the caller still read it",
            fix=f"compute into a new tensor, or start from {g}.clone()",
        )  # fmt: skip
    for index in _changed(passed_before, tree.tensors(passed)):
        name = _tensor_names(case)[index]
        yield Finding(
            "saved-tensor-mutated", f"backward changes {name!r} in place",
            cause="it is the caller's tensor, and other nodes may have saved it", fix="write to a fresh tensor",
            argument=name,
        )  # fmt: skip
    for index in _changed(outputs_before, outputs):
        yield Finding(
            "saved-tensor-mutated", f"backward changes output {index} in place",
            cause="the output is the caller's", fix="write to a fresh tensor",
        )  # fmt: skip
