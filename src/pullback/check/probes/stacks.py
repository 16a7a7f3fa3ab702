"""Each stack uses the author's rule or refuses; none drops it silently. Run by choice, since it compiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from pullback.check import context, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, cotangents, drawn, replaced_backward
from pullback.check.report import Finding
from pullback.check.stacks import STACKS, Setting, Stack
from pullback.check.stacks.survey import DROPS, OTHER, SAME, Marking, survey

NEEDS = "gradient"
BY_CHOICE = True
FACTOR = 3.0  # what a rule that gives itself away multiplies its gradients by


def rows() -> Sequence[Stack]:
    """The stacks to try."""
    return list(STACKS.values())


def probe(case: Case) -> Iterator[Finding]:
    """Run the target in every stack, its rule giving itself away, and compare with eager."""
    if case.is_random or not case.arguments.diff:
        return
    setting, plain = _setting(case, case.target.apply), _plain(case)
    tangents = [s for s in rows() if s.gives.endswith("tangent")] if _has_jvp(case) else []  # not of the marked rule
    verdicts = survey([s for s in rows() if s not in tangents], setting, plain, _marking(case))
    verdicts |= survey(tangents, setting, plain)
    case.facts["stacks"] = {name: str(verdicts[name]) for name in STACKS if name in verdicts}
    for words, level in (((DROPS, OTHER), "error"), ((SAME,), "warning")):
        names = [name for name, verdict in verdicts.items() if verdict.word in words]
        if names:
            yield _finding(names, level)


def _finding(names: list[str], level: str) -> Finding:
    values = "the gradient is another one" if level == "error" else "the values happen to be the same here"
    return Finding(
        "stack-drops-rule", f"backward is silently not used, {values}: {', '.join(names)}", stack=names[0],
        cause="the stack looks into forward, and differentiates what it finds there",
        fix="make it a pullback Function: @pb.function, or pb.from_autograd of the class",
        evidence={"stacks": names}, level=level,
    )  # fmt: skip


class _Call:
    """The target as a function of the tensors that take gradients."""

    def __init__(self, apply: Any, arguments: Arguments) -> None:
        self.apply, self.arguments, self.values = apply, arguments, list(arguments.values)
        flat = not any(isinstance(v, (list, tuple, dict)) for v in self.values)
        self.positions = arguments.diff if flat else None

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = self._filled(tensors) if self.positions else self.arguments.with_differentiable(tensors).values
        return tuple(tree.tensors(self.apply(*values)))

    def _filled(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        values = list(self.values)
        for position, tensor in zip(self.positions or (), tensors, strict=True):
            values[position] = tensor
        return values


def _setting(case: Case, apply: Any) -> Setting:
    tensors = tuple(t.detach() for t in case.arguments.differentiable)
    outputs = [out.detach() for out in case.base.outputs]
    directions = tuple(drawn(t.shape, t.dtype, 77 + i) for i, t in enumerate(tensors))
    return Setting(_Call(apply, case.arguments), tensors, tuple(cotangents(outputs)), directions)


def _plain(case: Case) -> Setting | None:
    plain, needs = case.target.plain, case.arguments.needs()
    return None if plain is None else _setting(case, lambda *args: plain(context.Context(needs), *args))


def _marking(case: Case) -> Marking | None:
    """A context in which the rule of an autograd.Function gives gradients of another size."""
    cls, backward = case.target.function, case.target.backward
    if cls is None or backward is None:
        return None

    def marked(ctx: Any, *incoming: Any) -> Any:
        found = backward(ctx, *incoming)
        return tuple([_scaled(g) for g in found]) if isinstance(found, (tuple, list)) else _scaled(found)

    def marking() -> AbstractContextManager[None]:
        return replaced_backward(cls, marked)

    return marking


def _scaled(gradient: Any) -> Any:
    return gradient * FACTOR if isinstance(gradient, torch.Tensor) else gradient


def _has_jvp(case: Case) -> bool:
    cls = case.target.function
    return cls is not None and cls.jvp is not torch.autograd.Function.jvp
