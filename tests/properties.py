"""What every entry of the catalogue has: one function for each property, which raises where an entry lacks it."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import entries
import torch
from compare import assert_gradients, assert_values
from entries import check_kinks, check_values
from torch.fx.experimental.proxy_tensor import make_fx

import pullback as pb
from pullback.functional.record import RECORDS, Record
from pullback.functional.sample import kept_bits, sample, saved_bits
from pullback.graph.plan import plan

Check = Callable[[Record], None]
WEIGHTS = entries.WEIGHTS
PROPERTIES: dict[str, tuple[Check, list[Record]]] = {}


def of_entries(applies: Callable[[Record], Any] = lambda record: True) -> Callable[[Check], Check]:
    """Enter a property into the table, with the records that it is asked of."""

    def enter(check: Check) -> Check:
        PROPERTIES[check.__name__] = check, [r for r in RECORDS.values() if applies(r)]
        return check

    return enter


def certain(record: Record) -> bool:
    return not record.random


@of_entries()
def values_and_gradients(record: Record) -> None:
    check_values(record)


@of_entries(lambda r: certain(r) and r.name not in entries.WHOLE)
def second_order(record: Record) -> None:
    values = sample(record, 2)
    leaves = [v.clone().requires_grad_() for v in values.values()]
    for k, arg in enumerate(entries.names(record)):
        again, g = twice(entries.of_tensors(record), leaves, k)
        assert_gradients(again, expected_second(record, arg, values, g))


@of_entries(lambda r: r.name in entries.WHOLE)
def second_order_of_a_whole(record: Record) -> None:
    leaves = [v.clone().requires_grad_() for v in sample(record, 2, 3).values()]
    for k in range(len(leaves)):
        found, _ = twice(entries.of_tensors(record), leaves, k)
        assert callable(record.formula)
        assert_gradients(found, twice(record.formula, leaves, k)[0])


def twice(function: Callable[..., torch.Tensor], leaves: list[torch.Tensor], k: int) -> tuple[Any, torch.Tensor]:
    """The gradients of the k-th gradient, for weighted outputs, and the weights."""
    out = function(*leaves)
    g = WEIGHTS[: out.numel()].reshape(out.shape)
    (pulled,) = torch.autograd.grad(out, leaves[k], g, create_graph=True, materialize_grads=True)
    total = pulled.sum()
    if not total.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves], g
    return torch.autograd.grad(total, leaves, materialize_grads=True), g


def expected_second(record: Record, arg: str, values: Mapping[str, Any], g: torch.Tensor) -> list[torch.Tensor]:
    at = [entries.scalars(record, values, i) for i in range(g.numel())]
    share = 2**0.5 if (record.name, arg) == ("lsq", "step") else 1
    return [
        entries.total([entries.second(record, arg, n, a, float(w)) / share for a, w in zip(at, g)], values[n])
        for n in entries.names(record)
    ]


@of_entries()
def forward_mode(record: Record) -> None:
    values = list(sample(record, 3).values())
    tangents = [torch.ones_like(v) * (0.5 + k) for k, v in enumerate(values)]
    out, moved = torch.func.jvp(entries.of_tensors(record), tuple(values), tuple(tangents))
    if record.name in entries.NONLINEAR or record.random:
        assert_gradients([moved], tangents)
        return
    g = WEIGHTS[: out.numel()].reshape(out.shape)
    pulled = entries.pulled(record, dict(zip(entries.names(record), values)), g)[1:]
    assert_gradients([(g * moved).sum()], [sum((p * t).sum() for p, t in zip(pulled, tangents))])


@of_entries(certain)
def vmap_of_gradients(record: Record) -> None:
    rows = [list(sample(record, 3, seed=k).values()) for k in range(2)]
    fn = entries.of_tensors(record)

    def gradient(*tensors: torch.Tensor) -> Any:
        return torch.func.grad(lambda *ts: (fn(*ts) ** 2).sum(), tuple(range(len(tensors))))(*tensors)

    found = torch.vmap(gradient)(*[torch.stack(column) for column in zip(*rows)])
    each = [gradient(*row) for row in rows]
    assert_gradients(found, [torch.stack(column) for column in zip(*each)])


@of_entries(certain)
def dtypes(record: Record) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        values = {n: v.to(dtype) for n, v in sample(record, 6).items()}
        expected = entries.pulled(record, {n: v.double() for n, v in values.items()})
        assert_gradients(entries.pulled(record, values), [e.to(dtype) for e in expected])


@of_entries(lambda r: certain(r) and r.parameters)
def parameters_of_more_digits(record: Record) -> None:
    """Parameters in float32 beside data of 16 bits, as autocast has them: the result is of 16 bits."""
    exact = {n: v.bfloat16().double() for n, v in sample(record, 6, channels=True).items()}
    dtype = {n: torch.bfloat16 if n in record.tensors else torch.float32 for n in exact}
    found = entries.pulled(record, {n: v.to(dtype[n]) for n, v in exact.items()})
    value, *gradients = entries.pulled(record, exact)
    assert_values(found[:1], [value.bfloat16()])
    assert [g.dtype for g in found[1:]] == list(dtype.values())
    assert_gradients([g.bfloat16() for g in found[1:]], [g.bfloat16() for g in gradients])


@of_entries(certain)
def layouts(record: Record) -> None:
    values = sample(record, 4, 3)
    out = entries.of_tensors(record)(*values.values())
    g = WEIGHTS.repeat(2)[: out.numel()].reshape(out.shape)
    expected = entries.pulled(record, values, g)
    for change in (strided, transposed):
        other = {n: change(v) if v.dim() == 2 else v for n, v in values.items()}
        assert_gradients(entries.pulled(record, other, change(g) if g.dim() == 2 else g), expected)
    spread = {n: v[:1].expand(4, 3) if v.dim() == 2 else v for n, v in values.items()}
    one = torch.ones(()).double()
    dense = entries.pulled(record, {n: v.contiguous() for n, v in spread.items()}, one.expand(out.shape).contiguous())
    assert_gradients(entries.pulled(record, spread, one.expand(out.shape)), dense)


def strided(t: torch.Tensor) -> torch.Tensor:
    wide = torch.zeros(4, 6, dtype=t.dtype)
    wide[:, ::2] = t
    return wide[:, ::2]


def transposed(t: torch.Tensor) -> torch.Tensor:
    return t.T.contiguous().T


@of_entries(certain)
def empty_and_scalar(record: Record) -> None:
    alone = record.name in ("safe_normalize", "safe_logsumexp")
    for shape in ((1,) if alone else (), (0,), (2, 0)):
        if 0 in shape and record.name == "safe_logsumexp":
            shape = (0, 2)
        found = entries.pulled(record, sample(record, *shape))
        assert [f.shape for f in found[1 : 1 + len(record.tensors)]] == [torch.Size(shape)] * len(record.tensors)
        assert all(torch.isfinite(f).all() for f in found)


@of_entries(lambda r: r.like is None and not r.gradient)  # PyTorch keeps nothing for a gradient that it does not have
def keeps_no_more_than_pytorch(record: Record) -> None:
    values = {n: v.requires_grad_() for n, v in sample(record, 64).items()}
    theirs = builtin(record)
    call = (lambda: theirs(*values.values())) if theirs else (lambda: entries.plain(record, values))
    assert kept_bits(record, torch.float64) <= saved_bits(call, 64)


# bits for each element that decide the gradients, where those are of finitely many kinds; else the inputs are needed
LEAST = {"learnable_clamp": 2, "pact": 2, "pact_quantize": 2, "clipped_sign_ste": 1}


@of_entries(lambda r: r.name in (*LEAST, "hardswish", "reglu"))  # planning is dear
def large_calls_keep_the_minimum(record: Record) -> None:
    values = sample(record, 64, 64, dtype=torch.float32)
    inputs = [*values.values(), *record.options.values()]
    kept = plan(record.function.__pullback__, list(values), inputs).residuals
    least = LEAST.get(record.name, 32 * len(record.tensors))
    assert sum(r.bits for r in kept if r.bits >= 1) <= least


def builtin(record: Record) -> Any:
    """PyTorch's function of the same name; ``None`` if there is none."""
    found: Any = torch
    for part in record.torch.split(".") if record.torch else []:
        found = getattr(found, part)
    return found if record.torch else None


@of_entries(lambda r: r.torch)
def equals_pytorch_where_that_is_right(record: Record) -> None:
    theirs = builtin(record)
    for dtype in (torch.float32, torch.float64):
        values = sample(record, 6, dtype=dtype)
        if record.name == "prelu":
            values["weight"] = values["weight"].reshape(1)
        other = dataclasses.replace(record, function=lambda **values: theirs(*values.values()))
        assert_gradients(entries.pulled(record, values), entries.pulled(other, values))


@of_entries(lambda r: r.torch.startswith("nn."))
def has_the_signature_of_pytorch(record: Record) -> None:
    ours = inspect.signature(record.function).parameters
    wanted = signature_of(builtin(record))
    assert list(ours) == list(wanted)
    assert {n: ours[n].default for n, default in wanted.items() if default is not None} == {
        n: default for n, default in wanted.items() if default is not None
    }


def signature_of(function: Any) -> dict[str, Any]:
    """The arguments of a function of PyTorch with their defaults; from the documentation, if it is built in C++."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        text = (function.__doc__ or "").strip().splitlines()[0]
        listed = text[text.index("(") + 1 : text.index(")")].replace("*, ", "")
        parts = [part.partition("=") for part in listed.split(",")]
        return {n.strip(): eval(default) if default else None for n, _, default in parts if n.strip() != "out"}
    return {n: None if p.default is p.empty else p.default for n, p in signature.parameters.items()}


@of_entries(lambda r: r.kinks)
def kinks_are_as_documented(record: Record) -> None:
    check_kinks(record)


CORNERS = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-8, -1e-8, 3.0, 0.5], dtype=torch.float64)


@of_entries(lambda r: r.family == "safe")
def safe_gradients_are_finite_everywhere(record: Record) -> None:
    """To the second order, at all pairs of corners and at zero."""
    for dtype in (torch.float64, torch.float32):
        grid = torch.cartesian_prod(*[CORNERS.to(dtype)] * len(record.tensors))
        columns = [grid] if len(record.tensors) == 1 else list(grid.unbind(1))
        for rows in (columns, [torch.zeros_like(c) for c in columns]):
            check_finite(record, dict(zip(record.tensors, rows)))


@of_entries()
def second_derivatives_are_finite_at_zero(record: Record) -> None:
    start = {n: torch.zeros(2, dtype=torch.float64) for n in record.tensors}
    check_finite(record, start | {n: torch.tensor(p.initial).double() for n, p in record.parameters.items()})


def check_finite(record: Record, values: Mapping[str, torch.Tensor]) -> None:
    """Gradients, and theirs, are finite."""
    leaves = [v.clone().requires_grad_() for v in values.values()]
    out = entries.of_tensors(record)(*leaves)
    first = torch.autograd.grad(out.sum(), leaves, create_graph=True, materialize_grads=True)
    assert all(torch.isfinite(g).all() for g in first)
    for g in first:
        if g.requires_grad:
            again = torch.autograd.grad(g.sum(), leaves, materialize_grads=True, retain_graph=True)
            assert all(torch.isfinite(a).all() for a in again)


@of_entries(lambda r: r.name not in entries.EAGER_ONLY)
def recorded_as_a_graph(record: Record) -> None:
    graph = make_fx(entries.of_tensors(record))(*sample(record, 3).values())
    other = sample(record, 3, seed=1).values()
    assert_values([graph(*other)], [entries.of_tensors(record)(*other)])


class Layer(torch.nn.Module):
    """An entry as a module, for export."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.fn = entries.of_tensors(record)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.fn(*tensors)


KINDS = ("silu", "swish", "swiglu", "lsq", "reverse_gradient", "safe_norm")


@of_entries(lambda r: r.family in ("surrogate", "quantiser") or r.name in KINDS)
def exported(record: Record) -> None:
    program = torch.export.export(Layer(record), tuple(sample(record, 3).values())).module()
    other = sample(record, 3, seed=1).values()
    assert_values([program(*other)], [entries.of_tensors(record)(*other)])


@of_entries(lambda r: r.name in (*KINDS, "spike_arctan"))
def compiled(record: Record) -> None:
    values = sample(record, 3)
    torch._dynamo.reset()
    made = torch.compile(lambda **tensors: record.function(**tensors), backend="aot_eager", fullgraph=True)
    assert_gradients(entries.pulled(dataclasses.replace(record, function=made), values), entries.pulled(record, values))


# the checker is the dearest: one of each kind, where rules are made alike
ALIKE = [r.name for r in RECORDS.values() if r.family == "accurate" or r.name.startswith("spike_")]


@of_entries(lambda r: r.name not in ALIKE or r.name in ("gelu", "elu", "spike_arctan", "spike_boxcar"))
def the_checker_finds_no_fault(record: Record) -> None:
    values = [v.requires_grad_() for v in sample(record, 3).values()]
    report = pb.check(record.function, *values, *entries.SILENT.get(record.name, {}).values())
    assert {f.name for f in report.findings if f.severity == "error"} == set(), str(report)


# which have, together, most operations of all entries
FUSED = ["gelu", "erf", "swish", "xielu", "learnable_clamp", "spike_gaussian", "swiglu", "softplus", "smelu", "siren"]
FUSED += ["safe_pow", "safe_atan2", "safe_sinc"]


@of_entries(lambda r: r.name in FUSED)
def fused_is_eager(record: Record) -> None:
    values = sample(record, 40, 30, dtype=torch.float32)
    eager = entries.pulled(record, values)
    with fusing(record):
        fused = entries.pulled(record, values)
    assert_gradients(fused, eager)


@contextmanager
def fusing(record: Record) -> Iterator[None]:
    """Kernels only."""
    before, known = dict(os.environ), record.function.__pullback__.entries
    os.environ["PULLBACK_FUSE"] = "require"
    known.clear()  # what they know of calls
    try:
        yield
    finally:
        known.clear()
        os.environ.pop("PULLBACK_FUSE")
        os.environ.update(before)
