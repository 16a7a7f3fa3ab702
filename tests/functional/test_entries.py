"""Every entry of the catalogue behaves: one suite over all records, small tensors, expectations from the records."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import subprocess
import sys
from typing import Any

import entries
import pytest
import torch
from compare import assert_gradients, assert_values
from entries import check_kinks, check_values
from torch.fx.experimental.proxy_tensor import make_fx

import pullback as pb
from pullback.errors import PullbackError, UsageError
from pullback.functional.record import RECORDS, Record
from pullback.functional.sample import kept_bits, sample, saved_bits
from pullback.graph.closed import open_because

ALL = list(RECORDS.values())
EVERY = pytest.mark.parametrize("record", ALL, ids=lambda r: r.name)
DETERMINISTIC = pytest.mark.parametrize("record", [r for r in ALL if not r.random], ids=lambda r: r.name)
LINEAR = [r for r in ALL if r.name not in entries.NONLINEAR and not r.random]
WEIGHTS = entries.WEIGHTS


@EVERY
def test_values_and_gradients(record: Record) -> None:
    check_values(record)


@pytest.mark.parametrize("record", [r for r in entries.ELEMENTWISE if not r.random], ids=lambda r: r.name)
def test_second_order(record: Record) -> None:
    values = sample(record, 2)
    leaves = [v.clone().requires_grad_() for v in values.values()]
    for k, arg in enumerate(entries.names(record)):
        out = entries.of_tensors(record)(*leaves)
        g = WEIGHTS[: out.numel()]
        (pulled,) = torch.autograd.grad(out, leaves[k], g, create_graph=True, materialize_grads=True)
        total = pulled.sum()
        nothing = [torch.zeros_like(leaf) for leaf in leaves]
        again = torch.autograd.grad(total, leaves, materialize_grads=True) if total.requires_grad else nothing
        assert_gradients(again, expected_second(record, arg, values, g))


def expected_second(record: Record, arg: str, values: Any, g: torch.Tensor) -> list[torch.Tensor]:
    at = [entries.scalars(record, values, i) for i in range(g.numel())]
    share = 2**0.5 if (record.name, arg) == ("lsq", "step") else 1
    return [
        entries.total([entries.second(record, arg, n, a, float(w)) / share for a, w in zip(at, g)], values[n])
        for n in entries.names(record)
    ]


@EVERY
def test_forward_mode(record: Record) -> None:
    values = list(sample(record, 3).values())
    tangents = [torch.ones_like(v) * (0.5 + k) for k, v in enumerate(values)]
    out, moved = torch.func.jvp(entries.of_tensors(record), tuple(values), tuple(tangents))
    if record.name in entries.NONLINEAR or record.random:
        assert_gradients([moved], tangents)
        return
    g = WEIGHTS[: out.numel()].reshape(out.shape)
    pulled = entries.pulled(record, dict(zip(entries.names(record), values)), g)[1:]
    assert_gradients([(g * moved).sum()], [sum((p * t).sum() for p, t in zip(pulled, tangents))])


@DETERMINISTIC
def test_vmap_of_gradients(record: Record) -> None:
    rows = [list(sample(record, 3, seed=k).values()) for k in range(2)]
    fn = entries.of_tensors(record)

    def gradient(*tensors: torch.Tensor) -> Any:
        return torch.func.grad(lambda *ts: (fn(*ts) ** 2).sum(), tuple(range(len(tensors))))(*tensors)

    found = torch.vmap(gradient)(*[torch.stack(column) for column in zip(*rows)])
    each = [gradient(*row) for row in rows]
    assert_gradients(found, [torch.stack(column) for column in zip(*each)])


@DETERMINISTIC
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_dtypes(record: Record, dtype: torch.dtype) -> None:
    values = {n: v.to(dtype) for n, v in sample(record, 6).items()}
    found = entries.pulled(record, values)
    wide = {n: v.double() for n, v in values.items()}
    expected = entries.pulled(record, wide)
    assert_gradients(found, [e.to(dtype) for e in expected])


@DETERMINISTIC
def test_layouts(record: Record) -> None:
    values = sample(record, 4, 3)
    expected = entries.pulled(record, values)
    for change in (strided, lambda t: t.T.contiguous().T):
        other = {n: change(v) if v.dim() == 2 else v for n, v in values.items()}
        found = entries.pulled(record, other)
        assert_gradients(found, expected)


def strided(t: torch.Tensor) -> torch.Tensor:
    wide = torch.zeros(4, 6, dtype=t.dtype)
    wide[:, ::2] = t
    return wide[:, ::2]


@DETERMINISTIC
@pytest.mark.parametrize("shape", [(), (0,), (2, 0)], ids=str)
def test_empty_and_scalar(record: Record, shape: tuple[int, ...]) -> None:
    if shape == () and record.name in ("safe_normalize", "safe_logsumexp"):
        shape = (1,)
    if 0 in shape and record.name in ("safe_logsumexp",):
        shape = (0, 2)
    found = entries.pulled(record, sample(record, *shape))
    assert [f.shape for f in found[1 : 1 + len(record.tensors)]] == [torch.Size(shape)] * len(record.tensors)
    assert all(torch.isfinite(f).all() for f in found)


@EVERY
def test_keeps_no_more_than_pytorch(record: Record) -> None:
    values = {n: v.requires_grad_() for n, v in sample(record, 64).items()}
    theirs = builtin(record)
    call = (lambda: theirs(*values.values())) if theirs else (lambda: entries.plain(record, values))
    if record.like is None and not record.gradient:  # PyTorch keeps nothing for a gradient that it does not have
        assert kept_bits(record, torch.float64) <= saved_bits(call, 64)


def builtin(record: Record) -> Any:
    found: Any = torch
    for part in record.torch.split(".") if record.torch else []:
        found = getattr(found, part)
    return found if record.torch else None


@pytest.mark.parametrize("record", [r for r in ALL if r.torch], ids=lambda r: r.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_equals_pytorch_where_that_is_right(record: Record, dtype: torch.dtype) -> None:
    values = sample(record, 6, dtype=dtype)
    if record.name == "prelu":
        values["weight"] = values["weight"].reshape(1)
    ours = entries.pulled(record, values)
    theirs = entries.pulled(dataclasses.replace(record, function=positional(builtin(record))), values)
    assert_gradients(ours, theirs)


def positional(fn: Any) -> Any:
    return lambda **values: fn(*values.values())


@pytest.mark.parametrize("record", [r for r in ALL if r.torch.startswith("nn.")], ids=lambda r: r.name)
def test_signatures_are_those_of_pytorch(record: Record) -> None:
    theirs = builtin(record)
    try:
        signature = inspect.signature(theirs)
    except ValueError:  # built into C++: its documentation has the signature
        text = (theirs.__doc__ or "").strip().splitlines()[0]
        listed = text[text.index("(") + 1 : text.index(")")].replace("*, ", "")
        wanted = [part.split("=")[0].strip() for part in listed.split(",")]
    else:
        wanted = list(signature.parameters)
    assert list(inspect.signature(record.function).parameters) == [w for w in wanted if w != "out"]


@pytest.mark.parametrize("record", [r for r in ALL if r.kinks], ids=lambda r: r.name)
def test_kinks_are_as_documented(record: Record) -> None:
    check_kinks(record)


SAFE = [r for r in ALL if r.family == "safe"]
CORNERS = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-8, -1e-8, 3.0, 0.5], dtype=torch.float64)


@pytest.mark.parametrize("record", SAFE, ids=lambda r: r.name)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_safe_gradients_are_finite_everywhere(record: Record, dtype: torch.dtype) -> None:
    x = CORNERS.to(dtype)
    grid = torch.cartesian_prod(*[x] * len(record.tensors))
    columns = [grid] if len(record.tensors) == 1 else list(grid.unbind(1))
    named = dict(zip(record.tensors, columns))
    for rows in (named, {n: torch.zeros_like(c) for n, c in named.items()}):
        assert all(torch.isfinite(g).all() for g in entries.pulled(record, rows)[1:])


@EVERY
def test_second_derivatives_are_finite_at_zero(record: Record) -> None:
    start = torch.zeros(2, dtype=torch.float64)
    parameters = {n: torch.tensor(p.initial, dtype=torch.float64) for n, p in record.parameters.items()}
    leaves = [v.requires_grad_() for v in (*(start.clone() for _ in record.tensors), *parameters.values())]
    out = entries.of_tensors(record)(*leaves)
    pulled = torch.autograd.grad(out.sum(), leaves[0], create_graph=True, materialize_grads=True)[0]
    if pulled.requires_grad:
        again = torch.autograd.grad(pulled.sum(), leaves, materialize_grads=True)
        assert all(torch.isfinite(a).all() for a in again)


@pytest.mark.parametrize("record", [r for r in ALL if r.name not in entries.EAGER_ONLY], ids=lambda r: r.name)
def test_recorded_as_a_graph(record: Record) -> None:
    values = list(sample(record, 3).values())
    graph = make_fx(entries.of_tensors(record))(*values)
    assert_values([graph(*values)], [entries.of_tensors(record)(*values)])


class Layer(torch.nn.Module):
    """An entry as a module, for export."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.fn = entries.of_tensors(record)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.fn(*tensors)


@pytest.mark.parametrize("name", ["silu", "swish", "swiglu", "spike_arctan", "lsq", "reverse_gradient", "safe_norm"])
def test_exported_and_compiled(name: str) -> None:
    record = RECORDS[name]
    values = tuple(sample(record, 3).values())
    expected = entries.pulled(record, dict(zip(entries.names(record), values)))
    exported = torch.export.export(Layer(record), values).module()
    assert_values([exported(*values)], expected[:1])
    torch._dynamo.reset()
    compiled = torch.compile(record.function, backend="aot_eager", fullgraph=True)
    leaves = [v.clone().requires_grad_() for v in values]
    out = compiled(*leaves)
    assert_gradients([out, *torch.autograd.grad(out.sum(), leaves)], expected)


# the checker is the dearest test: one of each kind, where rules are made alike
ALIKE = [r.name for r in ALL if r.family == "accurate" or r.name.startswith("spike_")]
DIFFERENT = [r for r in ALL if r.name not in ALIKE or r.name in ("gelu", "elu", "spike_arctan", "spike_boxcar")]


@pytest.mark.parametrize("record", DIFFERENT, ids=lambda r: r.name)
def test_the_checker_finds_no_fault(record: Record) -> None:
    values = [v.requires_grad_() for v in sample(record, 3).values()]
    options = entries.SILENT.get(record.name, {}).values()
    report = pb.check(record.function, *values, *options)
    faults = {f.name for f in report.findings if f.severity == "error"}
    assert faults == set(), str(report)


@EVERY
def test_examples_hold(record: Record) -> None:
    module = inspect.getmodule(record.function.__wrapped__)
    scope = {**vars(module), record.name: record.function}
    text = record.function.__doc__ or ""
    example = doctest.DocTestParser().get_doctest(text, scope, record.name, None, 0)
    assert example.examples
    doctest.DebugRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)


# what kernels cannot serve, and why
OPEN = {
    "rational": "its code may decide by sizes",
    "lsq": "its code may decide by sizes",
    "log_gradient": "its code says detach",
    "safe_norm": "its code says detach",
    "safe_normalize": "its code says detach",
}


@EVERY
def test_kernels_may_serve_it(record: Record) -> None:
    reason = open_because(record.function.__pullback__)
    expected = OPEN.get(record.name, "")
    assert reason.startswith(expected)
    assert bool(reason) == bool(expected)


def test_entries_are_fused_however_they_are_imported() -> None:
    code = "from pullback.nn import Swish; from pullback.define.ways import WAYS; print(len(WAYS))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "2\n"


FUSED = ["gelu", "erf", "swish", "xielu", "learnable_clamp", "spike_gaussian", "swiglu", "softplus"]


@pytest.mark.parametrize("name", FUSED)
def test_fused_is_eager(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    record = RECORDS[name]
    values = sample(record, 40, 30, dtype=torch.float32)
    eager = entries.pulled(record, values)
    monkeypatch.setenv("PULLBACK_FUSE", "require")
    record.function.__pullback__.entries.clear()  # what they know of calls
    fused = entries.pulled(record, values)
    record.function.__pullback__.entries.clear()
    assert_gradients(fused, eager)


@EVERY
def test_what_is_no_tensor_is_refused(record: Record) -> None:
    given = {**dict.fromkeys(record.tensors, "1, 2"), **dict.fromkeys(record.parameters, 0.5)}
    with pytest.raises(PullbackError, match=r"is a tensor|at least one tensor"):
        record.function(**given)


@pytest.mark.parametrize("record", [r for r in ALL if r.certified], ids=lambda r: r.name)
def test_complex_numbers_are_refused(record: Record) -> None:
    with pytest.raises(UsageError, match="takes real numbers"):
        record.function(torch.ones(2, dtype=torch.complex64))


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        *((r.name, "width", -1.0) for r in ALL if r.name.startswith("spike_")),
        ("spike_arctan", "width", 0.0),
        ("clip_gradient", "bound", -1.0),
        ("clip_gradient_norm", "max_norm", 0.0),
        ("noise_gradient", "std", -0.1),
        ("softplus", "beta", 0.0),
        ("celu", "alpha", 0.0),
        ("lsq", "step", -0.1),
        ("pact_quantize", "levels", 0),
        ("ternary_ste", "threshold", -0.5),
    ],
)
def test_settings_that_make_a_gradient_wrong_are_refused(name: str, setting: str, value: float) -> None:
    record = RECORDS[name]
    with pytest.raises(UsageError, match=f"{name}: {setting} is"):
        record.function(**{**sample(record, 3, dtype=torch.float32), setting: value})


def test_names_are_found_by_existing() -> None:
    assert pb.functional.__all__ == sorted(RECORDS)
    assert all(getattr(pb.functional, name) is RECORDS[name].function for name in RECORDS)


@pytest.mark.parametrize("record", ALL, ids=lambda r: r.name)
def test_records_are_complete(record: Record) -> None:
    assert record.source
    assert record.summary.endswith(".")
    assert record.family in {r.family for r in pb.catalogue()}


def broken(name: str, **changes: Any) -> Record:
    """A record with a planted mistake."""
    return dataclasses.replace(RECORDS[name], **changes)


@pytest.mark.parametrize(
    "record",
    [
        broken("swish", formula="x * sigmoid(1.001 * beta * x)"),
        broken("spike_arctan", like="0.5 + atan(3 * x / width) / pi"),
        broken("scale_gradient", gradient={"x": "1.01 * g"}),
        broken("swish", function=pb.function(lambda x, beta: x * torch.sigmoid(beta.detach() * x))),
    ],
    ids=["value", "surrogate", "modifier", "a gradient lost"],
)
def test_planted_wrong_records_are_found(record: Record) -> None:
    with pytest.raises((AssertionError, RuntimeError)):
        check_values(record)


def test_a_planted_wrong_kink_is_found() -> None:
    with pytest.raises(AssertionError):
        check_kinks(broken("elu", kinks={0.0: (0.0, 0.5)}))
