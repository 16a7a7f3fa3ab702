"""What a graph cannot stand for is neither planned nor compiled; what it may stand for is told apart on every call."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from random import random as draw
from typing import Any

import pytest
import torch

import pullback as pb
from pullback.graph.closed import open_because, scalars

scale: Any = 1.0
twice = functools.partial(torch.mul, 2.0)


def helper(x):
    return x * scale


OPEN: dict[str, tuple[Callable[..., Any], str]] = {
    "a module's random numbers": (lambda x: torch.relu(x) * random.random(), "random"),
    "a random function": (lambda x: torch.relu(x) * draw(), "draw"),
    "the clock": (lambda x: torch.relu(x) * time.time(), "time"),
    "a partial function": (lambda x: torch.relu(twice(x)), "twice"),
    "globals by name": (lambda x: torch.relu(x) * globals()["scale"], "globals"),
    "the seed": (lambda x: torch.relu(x) * torch.initial_seed(), "initial_seed"),
    "a mode": (lambda x: torch.relu(x) * torch.are_deterministic_algorithms_enabled(), "are_deterministic"),
    "sizes": (lambda x: torch.relu(x) if x.shape[0] > 3 else x, "sizes"),
}


@pytest.mark.parametrize(("fn", "reason"), OPEN.values(), ids=OPEN)
def test_open_code_says_why(fn: Callable[..., Any], reason: str) -> None:
    assert reason in open_because(pb.function(fn).__pullback__)


def test_code_with_helpers_and_scalars_is_closed() -> None:
    assert open_because(pb.function(lambda x: torch.relu(helper(x)) * scale).__pullback__) == ""


@pytest.mark.parametrize(
    ("before", "after"), [(1.0, 1), (1, True), (0.0, -0.0), (1.0, 1.5)], ids=["int", "bool", "sign", "value"]
)
def test_scalars_are_told_apart(before: Any, after: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scalars(pb.function(lambda x: torch.relu(x) * scale).__pullback__)
    monkeypatch.setitem(globals(), "scale", before)
    first = found()
    assert first == found()
    monkeypatch.setitem(globals(), "scale", after)
    assert found() != first


def test_a_helper_that_is_defined_anew_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    function = pb.function(lambda x: torch.relu(helper(x)))
    x = torch.linspace(0.5, 1.0, 3000, requires_grad=True)
    for factor in (2.0, 7.0):
        monkeypatch.setitem(globals(), "helper", lambda x, factor=factor: x * factor)
        assert torch.autograd.grad(function(x).sum(), x)[0].unique().tolist() == [factor]


def test_a_boolean_argument_is_kept_as_it_is() -> None:
    function = pb.function(lambda x, mask: torch.tanh(x) * mask)
    x, mask = torch.zeros(400, 8, requires_grad=True), torch.tensor([True] * 3 + [False] * 5)
    (grad,) = torch.autograd.grad(function(x, mask).sum(), x)
    assert grad.sum(0).tolist() == [400.0] * 3 + [0.0] * 5
