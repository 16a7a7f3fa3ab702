"""Every entry of the catalogue behaves: all properties of tests/properties.py, with a planted fault for each."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from properties import PROPERTIES

import pullback as pb
from pullback.errors import PullbackError, UsageError
from pullback.functional.record import RECORDS, Record
from pullback.functional.sample import sample
from pullback.graph.closed import open_because
from pullback_lint.engine import lint

ALL = list(RECORDS.values())
EVERY = pytest.mark.parametrize("record", ALL, ids=lambda r: r.name)
FOLDERS = [Path(inspect.getfile(package)).parent for package in (pb.functional, pb.nn)]


@pytest.mark.parametrize(
    ("name", "record"),
    [(n, r) for n, (_, records) in PROPERTIES.items() for r in records],
    ids=lambda v: v if isinstance(v, str) else v.name,
)
def test_every_entry_has(name: str, record: Record) -> None:
    PROPERTIES[name][0](record)


@EVERY
def test_examples_hold(record: Record) -> None:
    module = inspect.getmodule(record.function.__wrapped__)
    scope = {**vars(module), record.name: record.function}
    text = record.function.__doc__ or ""
    example = doctest.DocTestParser().get_doctest(text, scope, record.name, None, 0)
    assert example.examples
    doctest.DebugRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)


@pytest.mark.parametrize("path", [p for folder in FOLDERS for p in sorted(folder.glob("*.py"))], ids=lambda p: p.stem)
def test_the_linter_is_silent(path: Path) -> None:
    assert lint(path.read_text(), str(path)).findings == ()


@EVERY
def test_kernels_may_serve_it_or_it_says_why_not(record: Record) -> None:
    assert record.unfused or not open_because(record.function.__pullback__)


def test_entries_are_fused_however_they_are_imported() -> None:
    code = "from pullback.nn import Swish; from pullback.define.ways import WAYS; print(len(WAYS))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "2\n"


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


def squares(forward: Callable[..., Any] | None = None, rule: Any = None, jvp: Any = None) -> Record:
    """squared_relu, with another forward, rule or tangent."""

    def squared_relu(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).square()

    function = pb.function(forward or squared_relu)
    function.grad("x")(rule or (lambda g, x: g * (2 * torch.relu(x))))
    if jvp:
        function.jvp(jvp)
    return broken("squared_relu", function=function)


def norms(rule: Any) -> Record:
    """safe_norm of all elements, with another rule."""

    def norm(x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> torch.Tensor:
        return x.square().sum().sqrt()

    function = pb.function(norm)
    function.grad("x")(rule)
    return broken("safe_norm", function=function)


def of_one(name: str, forward: Any, rule: Any) -> Record:
    """An entry of one argument with another forward and rule."""
    function = pb.function(forward)
    function.grad("x", surrogate=bool(RECORDS[name].like))(rule)
    return broken(name, function=function)


def by_formula(function: Callable[..., torch.Tensor]) -> Any:
    """A Function without rules."""
    return pb.function(lambda x, beta: function(x, beta))


def keeping(x: torch.Tensor) -> Any:
    a = torch.relu(x)
    return pb.keep(a.square(), a=a, b=2 * a, c=3 * a)


def dense_strides(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x.as_strided(x.shape, torch.empty(x.shape).stride())).square()


def by_value(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x).square() if x.sum().item() > 0 else torch.relu(x).square() * 1


def as_it_was(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x).square() * (1 + 0 * x) + float(x.sum()) - x.sum()


class OtherWhen:
    """squared_relu, as a stack with a mistake would have it."""

    __pullback__ = RECORDS["squared_relu"].function.__pullback__

    def __init__(self, stack: Callable[[], bool]) -> None:
        self.stack = stack

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).square() * (1.001 if self.stack() else 1.0)


def renamed(x: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return torch.nn.functional.silu(x)


PLANTED = {
    "values_and_gradients": [
        broken("swish", formula="x * sigmoid(1.001 * beta * x)"),
        broken("spike_arctan", like="0.5 + atan(3 * x / width) / pi"),
        broken("scale_gradient", gradient={"x": "1.01 * g"}),
        broken("swish", function=by_formula(lambda x, beta: x * torch.sigmoid(beta.detach() * x))),
    ],
    "second_order": [squares(rule=lambda g, x: g * (2 * torch.relu(x.detach())))],
    "second_order_of_a_whole": [norms(lambda g, x: g * (x / x.norm()).detach())],
    "forward_mode": [squares(jvp=lambda t, x: 3 * t)],
    "vmap_of_gradients": [squares(by_value)],
    "dtypes": [squares(lambda x: torch.relu(x.float()).square())],
    "parameters_of_more_digits": [broken("swish", function=by_formula(lambda x, beta: x * torch.sigmoid(beta * x)))],
    "layouts": [squares(dense_strides), squares(rule=lambda g, x: dense_strides(g))],
    "empty_and_scalar": [squares(lambda x: torch.relu(x).square() + 0 * x.max())],
    "keeps_no_more_than_pytorch": [squares(keeping, lambda g, x, a, b, c: g * (a + b / 2 + c / 3 - x.relu()))],
    "large_calls_keep_the_minimum": [
        of_one("clipped_sign_ste", lambda x: torch.sign(x), lambda g, x: g * torch.exp(-x * x))
    ],
    "equals_pytorch_where_that_is_right": [broken("tanh", function=pb.function(lambda x: x.mul(1.001).tanh()))],
    "has_the_signature_of_pytorch": [
        broken("silu", function=pb.function(renamed)),
        broken("softplus", function=pb.function(lambda input, beta=1.0, threshold=10.0: input)),  # noqa: A006
    ],
    "kinks_are_as_documented": [broken("elu", kinks={0.0: (0.0, 0.5)})],
    "safe_gradients_are_finite_everywhere": [
        of_one("safe_sqrt", lambda x: torch.sqrt(x), lambda g, x: g / (2 * torch.sqrt(x))),
        of_one("safe_log", lambda x: torch.log(x), lambda g, x: torch.where(x == 0, 0.0, g / x)),
    ],
    "second_derivatives_are_finite_at_zero": [norms(lambda g, x: torch.where(x.norm() == 0, 0.0, g * x / x.norm()))],
    "recorded_as_a_graph": [squares(as_it_was)],
    "exported": [squares(lambda x: torch.relu(x).square() * torch.rand(()))],
    "compiled": [broken("squared_relu", function=OtherWhen(torch.compiler.is_compiling))],
    "the_checker_finds_no_fault": [squares(rule=lambda g, x: g * torch.relu(x))],
    "fused_is_eager": [
        broken("squared_relu", function=OtherWhen(lambda: os.environ.get("PULLBACK_FUSE") == "require"))
    ],
}


@pytest.mark.parametrize(
    ("name", "record"), [(n, r) for n, records in PLANTED.items() for r in records], ids=lambda v: str(v)[:40]
)
def test_a_planted_fault_is_found(name: str, record: Record) -> None:
    with pytest.raises((AssertionError, RuntimeError, IndexError, PullbackError)):
        PROPERTIES[name][0](record)


def test_every_property_can_fail() -> None:
    assert set(PLANTED) == set(PROPERTIES)
