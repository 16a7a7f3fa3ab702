"""Neither forward nor backward changes in place what is not theirs: inputs, saved tensors, the incoming gradient."""

from __future__ import annotations

import warnings
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
    yield from _saved_too_early(case)
    if case.base.ok:
        yield from _backward(case, leaves, passed, outputs)


def _copies(thing: Any) -> list[torch.Tensor]:
    return [t.detach().clone() for t in tree.tensors(thing)]


def _changed(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> list[int]:
    return [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if not _identical(a, b.detach())]


def _identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and (torch.equal(a, b) or torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))


def _accumulated(case: Case, leaves: Any, passed: Any) -> Iterator[Finding]:
    """Gradients that an inner backward() has left in ``.grad``, where the caller did not ask for any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        touched = any(t.grad is not None for t in [*leaves, *tree.tensors(passed)])
    if touched:
        yield Finding(
            "inner-backward-call", "backward leaves gradients in .grad of its inputs",
            cause="it calls .backward(), which accumulates into every leaf it reaches; the caller's step counts twice",
            fix="use torch.autograd.grad(output, inputs, grad_output) instead", level="error",
        )  # fmt: skip


def _saved_too_early(case: Case) -> Iterator[Finding]:
    """Tensors that forward changes after it has saved them, seen by their version."""
    kept(case)
    record = case.facts.get("record")
    saved = [t for t in record.saved if isinstance(t, torch.Tensor)] if record else []
    for position, (tensor, version) in enumerate(zip(saved, record.versions if record else (), strict=False)):
        if tensor._version != version:
            yield Finding(
                "saved-before-inplace", f"saved tensor {position + 1} is changed in place after it was saved",
                cause="backward gets the changed values", fix="save it after its last change, or save a copy",
            )  # fmt: skip


def _tensor_names(case: Case) -> list[str]:
    pairs = zip(case.arguments.names, case.arguments.leaves, strict=True)
    return [name for name, leaf in pairs if isinstance(leaf, torch.Tensor)]


def _forward(case: Case, before: list[torch.Tensor], passed: Any, outputs: list[torch.Tensor]) -> Iterator[Finding]:
    names, dirty = _tensor_names(case), _dirty_names(case)
    for index in _changed(before, tree.tensors(passed)):
        if names[index] in dirty or _is_a_buffer(case, names[index]):
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


def _is_a_buffer(case: Case, name: str) -> bool:
    """Whether an argument is a state that forward updates, such as running statistics: it never gets a gradient."""
    if name in case.arguments.diff_names:
        place = case.arguments.diff_names.index(name)
        return case.base.ok and len(case.arguments.diff) > 1 and case.base.grads[place] is None
    return case.target.kind != "operator"


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
    yield from _accumulated(case, leaves, passed)
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
