"""What stays alive from forward to backward is exactly what the rules for the needed arguments name."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch
from cases import CASES, Case, Inputs, subsets
from compare import assert_gradients, leaves, outputs_of
from torch.utils import _pytree as pytree

import pullback as pb
from pullback.kernels.way import held

SUBSETS = [pytest.param(c, n, id=f"{c.name}-{'+'.join(n)}") for c, n in subsets()]


@contextmanager
def packed() -> Iterator[list[torch.Tensor]]:
    """The tensors saved for backward meanwhile."""
    seen: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield seen


def sizes(tensors: Any) -> list[tuple[tuple[int, ...], torch.dtype]]:
    return sorted(((tuple(t.shape), t.dtype) for t in tensors), key=str)


def expected(inputs: Inputs, needed: tuple[str, ...]) -> list[torch.Tensor]:
    """The tensors in what the rules for the needed arguments name, each once."""
    case, values = inputs.case, inputs.values(inputs.tensors)
    names = dict.fromkeys(name for arg in needed for name in case.keeps[arg])
    known = dict(values)
    known["out"] = inputs.run(case.plain, inputs.tensors) if "out" in names else None
    known |= {name: inputs.run(make, inputs.tensors) for name, make in case.kept.items()}
    leaves = [leaf for name in names for leaf in pytree.tree_leaves(known[name])]
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


@pytest.mark.parametrize(("case", "needed"), SUBSETS)
def test_kept_is_what_the_rules_name(case: Case, needed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = case.inputs()
    for _ in range(2):
        tensors = leaves(inputs.tensors, [owner in needed for owner in inputs.owners])
        with packed() as kept, held():  # kernels keep what their plan says
            inputs.flat(case.fn)(*tensors)
        assert sizes(kept) == sizes(expected(inputs, needed))


def silences() -> list[Any]:
    return [
        pytest.param(torch.no_grad, True, id="no_grad"),
        pytest.param(torch.inference_mode, True, id="inference_mode"),
        pytest.param(lambda: torch.set_grad_enabled(True), False, id="nothing requires grad"),
    ]


@pytest.mark.parametrize(("mode", "require"), silences())
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_kept_where_no_gradient_can_be_asked_for(
    case: Case, mode: Callable[[], AbstractContextManager[Any]], require: bool
) -> None:
    inputs, outputs = outputs_of(case)
    tensors = leaves(inputs.tensors, [require] * len(inputs.tensors))
    for _ in range(2):
        with packed() as kept, mode():
            found = inputs.flat(case.fn)(*tensors)
        assert kept == []
        assert [(o.requires_grad, o.grad_fn) for o in found] == [(False, None)] * len(outputs)


def big() -> torch.Tensor:
    return torch.zeros(1000)


@pytest.mark.parametrize("needed", ["x", "w"])
def test_what_only_an_unneeded_rule_names_is_freed(needed: str) -> None:
    alive: list[weakref.ref[torch.Tensor]] = []

    @pb.function
    def f(x, w):
        mask, table = big() > 0, big()
        alive[:] = [weakref.ref(mask), weakref.ref(table)]
        return pb.keep(x * w, mask=mask, table=table.long())

    @f.grad("x")
    def _(g, w, mask):
        return g * w + 0 * mask.sum()

    @f.grad("w")
    def _(g, x):
        return g * x

    for _ in range(2):
        tensors = {name: torch.ones(3, requires_grad=name == needed) for name in "xw"}
        y = f(**tensors)
        assert [ref() is not None for ref in alive] == [needed == "x", False]
        del y
        assert [ref() for ref in alive] == [None, None]


def test_what_is_kept_is_freed_by_backward() -> None:
    @pb.function
    def f(x):
        mask = x > 0
        alive.append(weakref.ref(mask))
        return pb.keep(x * mask, mask=mask)

    @f.grad("x")
    def _(g, mask):
        return g * mask

    alive: list[weakref.ref[torch.Tensor]] = []
    for _ in range(2):
        y = f(torch.ones(3, requires_grad=True))
        y.sum().backward()
        assert alive[-1]() is None, y


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_saving_goes_through_the_hooks_of_the_user(case: Case) -> None:
    inputs, _ = outputs_of(case)
    usual = pulled_ones(inputs)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        hooked = pulled_ones(inputs)
    assert_gradients(hooked, usual)


def pulled_ones(inputs: Inputs) -> list[Any]:
    tensors = leaves(inputs.tensors)
    outputs = inputs.flat(inputs.case.fn)(*tensors)
    torch.autograd.backward(outputs, [torch.ones_like(o) for o in outputs])
    return [t.grad for t in tensors]
