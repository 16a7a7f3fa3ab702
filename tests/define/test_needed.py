"""For every subset of arguments that need a gradient: the right ones come, and only the rules for them run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest
import torch
from cases import Case, Inputs, nonempty, subsets
from compare import assert_gradients, cotangents, declared, gradients, leaves, outputs_of

import pullback as pb
from pullback.kernels.way import held

SUBSETS = [pytest.param(c, n, id=f"{c.name}-{'+'.join(n)}") for c, n in subsets()]


@contextmanager
def codes_run() -> Iterator[set[CodeType]]:
    """The Python code that runs in this thread meanwhile."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def rules_of(fn: Any) -> dict[CodeType, tuple[str, ...]]:
    """The code of each written rule with the arguments that it serves."""
    rules = [rule for rule in fn.__pullback__.all_rules() if rule.kind == "grad" and rule.of is None]
    return {rule.fn.__code__: rule.args for rule in rules}


@pytest.mark.parametrize("later", [False, True], ids=["first call", "later call"])
@pytest.mark.parametrize(("case", "needed"), SUBSETS)
def test_gradients_of_a_subset(case: Case, needed: tuple[str, ...], later: bool) -> None:
    inputs, outputs = outputs_of(case)
    mask = [owner in needed for owner in inputs.owners]
    gs = cotangents(outputs)
    expected = declared(inputs, leaves(inputs.tensors, mask), gs)
    if later:
        gradients(inputs, leaves(inputs.tensors, mask), gs)
    found = gradients(inputs, leaves(inputs.tensors, mask), gs)
    assert_gradients(found, [e if m else None for e, m in zip(expected, mask, strict=True)])


@pytest.mark.parametrize(("case", "needed"), SUBSETS)
def test_only_the_rules_for_a_subset_run(case: Case, needed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    rules = rules_of(case.fn)
    expected = {code for code, args in rules.items() if set(args) & set(needed)}
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    for _ in range(2):
        with held():  # in a kernel no rule runs in Python
            assert ran_in_backward(inputs, needed, gs) & set(rules) == expected


def ran_in_backward(inputs: Inputs, needed: tuple[str, ...], gs: Any) -> set[CodeType]:
    tensors = leaves(inputs.tensors, [owner in needed for owner in inputs.owners])
    outs = inputs.flat(inputs.case.fn)(*tensors)
    pairs = [(o, g) for o, g in zip(outs, gs, strict=True) if o.requires_grad]
    if not pairs:
        return set()
    with codes_run() as ran:
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
    return ran


@pytest.mark.parametrize("needed", nonempty("abc"), ids="".join)
def test_each_rule_runs_once_for_each_backward(needed: tuple[str, ...]) -> None:
    ran: list[str] = []
    fn = counted(ran.append)
    tensors = {name: torch.ones(3, requires_grad=name in needed) for name in "abc"}
    for _ in range(3):
        fn(**tensors).sum().backward()
    assert sorted(ran) == sorted([*needed] * 3)


def counted(note: Callable[[str], None]) -> Any:
    @pb.function
    def three(a, b, c):
        return a + 2 * b + 3 * c

    def attach(name: str, factor: int) -> None:
        @three.grad(name)
        def _(g):
            note(name)
            return factor * g

    for name, factor in zip("abc", (1, 2, 3), strict=True):
        attach(name, factor)
    return three


def test_forward_runs_once_for_each_call() -> None:
    runs: list[int] = []

    @pb.function
    def f(x):
        runs.append(1)
        return x * 2

    @f.grad("x")
    def _(g):
        return 2 * g

    x = torch.ones(3, requires_grad=True)
    for expected in range(1, 4):
        f(x).sum().backward()
        assert len(runs) == expected
    f(x.detach())
    assert len(runs) == 4
