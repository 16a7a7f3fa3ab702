"""Each output can be used alone, and an output declared non-differentiable really is."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

from pullback.check import compare, context, kept, reference, state, tree
from pullback.check.case import Case, cotangents, filled, pull
from pullback.check.report import Finding
from pullback.check.target import has_setup

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Use one output at a time; look behind mark_non_differentiable."""
    yield from _alone(case)
    yield from _dropped(case)
    yield from _marked(case)


def _alone(case: Case) -> Iterator[Finding]:
    live = [i for i, out in enumerate(case.base.outputs) if out.requires_grad]
    if len(live) < 2:
        return
    parts = []
    for index in live:
        outcome = case.run(incoming=functools.partial(_only, index=index))
        if not outcome.ok:
            yield Finding(
                "none-grad-output", f"backward raises when only output {index} is used: "
                f"{str(outcome.error).splitlines()[0][:160]}",
                cause="with set_materialize_grads(False) the gradient of an unused output is None",
                fix="test every incoming gradient for None", evidence={"output": index},
            )  # fmt: skip
            return
        parts.append(outcome.grads)
    for leaf, name in enumerate(case.arguments.diff_names):
        grads = [part[leaf] for part in parts if part[leaf] is not None]
        joint = case.base.grads[leaf]
        if grads and joint is not None and not compare.same(torch.stack(grads).sum(0), joint):  # type: ignore[arg-type]
            yield Finding(
                "none-grad-output", f"the gradient of {name!r} is not the sum of what each output alone gives",
                cause="an unused output's None is not treated as zero", argument=name, level="note",
            )  # fmt: skip


def _dropped(case: Case) -> Iterator[Finding]:
    """An output that is smooth beside one that has a surrogate gradient, and whose own gradient goes nowhere."""
    truth, meant = case.facts.get("reference"), case.facts.get("meant", ())
    live = [i for i, out in enumerate(case.base.outputs) if out.requires_grad]
    if truth is None or not meant or len(live) < 2:
        return
    for index in live:
        arguments = reference.nudged(case.arguments, 7)
        outcome = case.run(arguments, functools.partial(_only, index=index))
        expected = truth.gradients(arguments, filled(outcome.outputs, _only(outcome.outputs, index)))
        for name, got, right in zip(case.arguments.diff_names, outcome.grads, expected, strict=False):
            if name in meant and compare.is_zero(got) and not compare.is_zero(right):
                yield Finding(
                    "second-output-grad-dropped", f"the gradient that arrives for output {index} is not used for "
                    f"{name!r}, on which that output depends smoothly", cause="the surrogate gradient of another "
                    "output is all that backward returns", fix="add its contribution, or declare the output with "
                    "ctx.mark_non_differentiable", argument=name, evidence={"output": index}, level="warning",
                )  # fmt: skip


def _only(outputs: list[torch.Tensor], index: int) -> list[torch.Tensor | None]:
    return [c if i == index else None for i, c in enumerate(cotangents(outputs))]


def _marked(case: Case) -> Iterator[Finding]:
    plain = case.target.plain
    if plain is None or case.target.kind != "autograd.Function":
        return
    state.seed()
    leaves, passed = case.arguments.fresh()
    outputs = tree.tensors(plain(context.Context((True,) * len(passed)), *passed))
    for index, (real, out) in enumerate(zip(case.base.outputs, outputs, strict=True)):
        if real.requires_grad or not out.requires_grad or not tree.is_differentiable(out):
            continue
        grads = pull([out], leaves, cotangents([out]), retain_graph=True)
        if not all(compare.is_zero(grad) for grad in grads):
            yield Finding(
                "nondiff-mark-wrong", f"output {index} is declared non-differentiable but depends smoothly on "
                "the inputs", cause="mark_non_differentiable drops its gradient without a word",
                fix="leave it differentiable and add its gradient in backward", evidence={"output": index},
                level=_level(case, index),
            )  # fmt: skip


def _level(case: Case, index: int) -> str | None:
    if has_setup(case.target.subject) and _is_kept(case, index):
        return "note"
    return "warning" if case.facts.get("verdict") == "intent" else None  # of gradients made to differ it may be one


def _is_kept(case: Case, index: int) -> bool:
    """Whether an output is there to be saved: with setup_context there is no other way to keep it."""
    kept.kept(case)
    outputs = tree.tensors(case.facts.get("plain_result"))
    return index < len(outputs) and any(item.tensor is outputs[index] for item in kept.kept(case))
