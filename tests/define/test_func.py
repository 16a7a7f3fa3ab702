"""Under torch.func every Function gives the declared gradient: grad, vjp, jvp, jacobians, Hessians, vmap, nested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from cases import Case, Inputs, having
from compare import assert_gradients, assert_values, cotangents, declared, jacobian, leaves, outputs_of

REAL = [case for case in having("forward") if not any(t.is_complex() for t in case.inputs().tensors)]
FORWARD = pytest.mark.parametrize("case", having("forward"), ids=lambda case: case.name)
EVERY = pytest.mark.parametrize("case", having("func"), ids=lambda case: case.name)
JACOBIANS = pytest.mark.parametrize("case", REAL, ids=lambda case: case.name)


def loss_of(inputs: Inputs, gs: Sequence[torch.Tensor]) -> Any:
    """A real number from the Function's outputs whose cotangents are ``gs``."""

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        outputs = inputs.flat(inputs.case.fn)(*tensors)
        return sum((g.conj() * o).real.sum() if o.is_complex() else (g * o).sum() for g, o in zip(gs, outputs))

    return loss


def places(inputs: Inputs) -> tuple[int, ...]:
    return tuple(range(len(inputs.tensors)))


@EVERY
def test_grad(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    found = torch.func.grad(loss_of(inputs, gs), places(inputs))(*inputs.tensors)
    assert_gradients(found, declared(inputs, leaves(inputs.tensors), gs))


@EVERY
def test_vjp(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    values, pull = torch.func.vjp(inputs.flat(case.fn), *inputs.tensors)
    assert_values(values, outputs)
    expected = declared(inputs, leaves(inputs.tensors), gs)
    for _ in range(2):
        assert_gradients(pull(tuple(gs)), expected)


@FORWARD
def test_jvp_is_the_transpose_of_vjp(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs, tangents = cotangents(outputs), cotangents(inputs.tensors, seed=2)
    values, moved = torch.func.jvp(inputs.flat(case.fn), tuple(inputs.tensors), tuple(tangents))
    assert_values(values, outputs)
    expected = declared(inputs, leaves(inputs.tensors), gs)
    assert_gradients([inner(gs, moved)], [inner(expected, tangents)])


def inner(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> torch.Tensor:
    """The real inner product of two sequences of tensors."""
    return sum((real(a) * real(b)).sum() for a, b in zip(one, other))


def real(t: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t


@FORWARD
def test_dual_numbers(case: Case) -> None:
    inputs, _ = outputs_of(case)
    tangents = cotangents(inputs.tensors, seed=2)
    _, expected = torch.func.jvp(inputs.flat(case.fn), tuple(inputs.tensors), tuple(tangents))
    with torch.autograd.forward_ad.dual_level():
        duals = [torch.autograd.forward_ad.make_dual(t.clone(), d) for t, d in zip(inputs.tensors, tangents)]
        found = [torch.autograd.forward_ad.unpack_dual(o).tangent for o in inputs.flat(case.fn)(*duals)]
    assert_gradients(found, expected)


@JACOBIANS
@pytest.mark.parametrize("mode", [torch.func.jacrev, torch.func.jacfwd])
def test_jacobians(case: Case, mode: Any) -> None:
    inputs, outputs = outputs_of(case)
    found = mode(inputs.flat(case.fn), argnums=places(inputs))(*inputs.tensors)
    rows = [[j.reshape(o.numel(), t.numel()) for j, t in zip(row, inputs.tensors)] for row, o in zip(found, outputs)]
    for row, expected in zip(rows, jacobian(inputs, inputs.tensors), strict=True):
        assert_gradients(row, expected)


@pytest.mark.parametrize("case", [c for c in REAL if "second" not in c.without], ids=lambda case: case.name)
@pytest.mark.parametrize("outer", [torch.func.jacrev, torch.func.jacfwd])
@pytest.mark.parametrize("inner", [torch.func.jacrev, torch.func.jacfwd])
def test_second_derivatives(case: Case, outer: Any, inner: Any) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    if any(t.numel() == 0 for t in inputs.tensors):
        return  # a Hessian without entries
    found = outer(inner(loss_of(inputs, gs), places(inputs)), places(inputs))(*inputs.tensors)
    tensors = leaves(inputs.tensors)
    for row, gradient in zip(found, declared(inputs, tensors, gs, again=True), strict=True):
        assert_gradients(row, rows_of(gradient, tensors))


def rows_of(gradient: torch.Tensor, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The derivative of each element of a gradient."""
    if not gradient.requires_grad:
        return [t.new_zeros(gradient.shape + t.shape) for t in tensors]
    each = [
        torch.autograd.grad(element, tensors, retain_graph=True, allow_unused=True, materialize_grads=True)
        for element in gradient.reshape(-1)
    ]
    return [torch.stack(column).reshape(gradient.shape + t.shape) for column, t in zip(zip(*each), tensors)]


def copies(tensors: Sequence[torch.Tensor], n: int) -> list[torch.Tensor]:
    """``n`` different samples in one tensor each."""
    return [torch.stack([t * (1 + 0.1 * k) for k in range(n)]) for t in tensors]


def choices(inputs: Inputs) -> list[tuple[int | None, ...]]:
    """Everything batched; each argument alone; each argument alone not."""
    count = len(inputs.tensors)
    alone = [tuple(0 if i == k else None for i in range(count)) for k in range(count)]
    rest = [tuple(None if i == k else 0 for i in range(count)) for k in range(count)]
    found = dict.fromkeys([(0,) * count, *alone, *(r for r in rest if any(d is not None for d in r))])
    # what is not batched cannot be changed in place by what is: PyTorch says so
    return [dims for dims in found if dims[0] == 0 or "copies its input" not in inputs.case.without]


@pytest.mark.parametrize("case", having("vmap"), ids=lambda case: case.name)
def test_vmap_of_values(case: Case) -> None:
    inputs, _ = outputs_of(case)
    for dims in choices(inputs):
        batch = [c if d == 0 else t for c, t, d in zip(copies(inputs.tensors, 3), inputs.tensors, dims)]
        found = torch.vmap(inputs.flat(case.fn), dims)(*batch)
        assert_values(found, each(inputs.flat(case.plain), batch, dims))


@pytest.mark.parametrize("case", having("vmap"), ids=lambda case: case.name)
def test_vmap_of_gradients(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    gradient = torch.func.grad(loss_of(inputs, gs), places(inputs))
    for dims in choices(inputs):
        batch = [c if d == 0 else t for c, t, d in zip(copies(inputs.tensors, 3), inputs.tensors, dims)]
        found = torch.vmap(gradient, dims)(*batch)
        assert_gradients(found, each(lambda *ts: declared(inputs, leaves(ts), gs), batch, dims))


@pytest.mark.parametrize("case", having("vmap"), ids=lambda case: case.name)
def test_gradients_through_vmap(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = [torch.stack([g, 2 * g, -g]) for g in cotangents(outputs)]
    for dims in choices(inputs):
        batch = [c if d == 0 else t for c, t, d in zip(copies(inputs.tensors, 3), inputs.tensors, dims)]
        ours, theirs = leaves(batch), leaves(batch)
        torch.autograd.backward(torch.vmap(inputs.flat(case.fn), dims)(*ours), gs)
        total = [torch.zeros_like(t) for t in theirs]
        for k in range(3):
            one = [t[k] if d == 0 else t for t, d in zip(theirs, dims)]
            for t, d, g in zip(total, dims, declared(inputs, leaves(one), [g[k] for g in gs])):
                (t[k] if d == 0 else t).add_(g)
        assert_gradients([t.grad for t in ours], total)


def each(fn: Any, batch: Sequence[torch.Tensor], dims: Sequence[int | None]) -> list[torch.Tensor]:
    """What a loop gives."""
    rows = [fn(*[t[k] if d == 0 else t for t, d in zip(batch, dims)]) for k in range(3)]
    return [torch.stack([r.detach() for r in column]) for column in zip(*rows)]


@pytest.mark.parametrize("case", having("vmap"), ids=lambda case: case.name)
def test_nested_vmap(case: Case) -> None:
    inputs, _ = outputs_of(case)
    one = copies(inputs.tensors, 2)
    two = [torch.stack([t, -t, 2 * t]) for t in one]
    ours, plain = (torch.vmap(torch.vmap(inputs.flat(f)))(*two) for f in (case.fn, case.plain))
    assert_values(ours, plain)


@pytest.mark.parametrize("case", [c for c in having("vmap") if c in having("forward")], ids=lambda case: case.name)
def test_vmap_of_jvp(case: Case) -> None:
    inputs, _ = outputs_of(case)
    batch, tangents = copies(inputs.tensors, 2), copies(cotangents(inputs.tensors, seed=2), 2)

    def moved(ts: Any, ds: Any) -> Any:
        return torch.func.jvp(inputs.flat(case.fn), ts, ds)[1]

    found = torch.vmap(moved)(tuple(batch), tuple(tangents))
    rows = [moved(tuple(t[k] for t in batch), tuple(d[k] for d in tangents)) for k in range(2)]
    assert_gradients(found, [torch.stack(column) for column in zip(*rows)])


@pytest.mark.parametrize("dim", [1, -1])
def test_vmap_over_another_dimension(dim: int) -> None:
    case = next(c for c in having("vmap") if c.name == "two kept floats, two arguments")
    x, w = (t.movedim(0, dim) for t in copies(case.inputs().tensors, 3))
    flat = case.inputs().flat
    ours, plain = (torch.vmap(flat(f), (dim, dim), dim)(x, w) for f in (case.fn, case.plain))
    assert_values(ours, plain)


def test_per_sample_gradients_in_chunks() -> None:
    case = next(c for c in having("vmap") if c.name == "a matrix product")
    a, b = torch.randn(5, 3, 4, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)
    gradient = torch.func.grad(lambda a, b: (case.fn(a, b) ** 2).sum(), argnums=1)
    found = torch.vmap(gradient, (0, None), chunk_size=2)(a, b)
    assert_gradients([found], [torch.stack([2 * one.mT @ (one @ b) for one in a])])


def test_batched_backward() -> None:
    case = next(c for c in having("vmap") if c.name == "a kept float")
    x = case.inputs().tensors[0].requires_grad_()
    gs = torch.randn(4, *x.shape, dtype=x.dtype)
    (found,) = torch.autograd.grad(case.fn(x), x, gs, is_grads_batched=True)
    (expected,) = torch.autograd.grad(case.plain(x), x, gs, is_grads_batched=True)
    assert_gradients([found], [expected])
