"""Certified entries keep their bars over all inputs of 16 bits, and a stride of float32."""

from __future__ import annotations

import math

import accuracy
import pytest
import torch

from pullback._tolerances import CERTIFIED
from pullback.functional.record import RECORDS, Record

CERTAIN = [r for r in RECORDS.values() if r.certified]
EVERY = pytest.mark.parametrize("record", CERTAIN, ids=lambda r: r.name)
AGREES = 0.01  # of a unit of float32: how well the float64 references must be known


def bars(record: Record, form: str, count: int = 1 << 13) -> tuple[accuracy.Tally, accuracy.Tally]:
    reference, subjects = accuracy.of_record(record)
    return accuracy.tallies(subjects[:1], accuracy.FORMATS[form], count, reference)[0]


@EVERY
@pytest.mark.parametrize("form", list(accuracy.FORMATS))
def test_bars_are_kept(record: Record, form: str) -> None:
    values, slopes = bars(record, form)
    limit = CERTIFIED[accuracy.FORMATS[form].dtype]
    assert values.count >= 1 << 12
    assert max(values.worst, slopes.worst) <= limit
    assert values.infinite + slopes.infinite == 0


@EVERY
def test_references_agree_with_mpmath(record: Record) -> None:
    form = accuracy.FORMATS["float32"]
    reference, _ = accuracy.of_record(record)
    assert reference.disagreement(form, accuracy.magnitudes(form)[::3]) <= AGREES


@EVERY
def test_infinities_and_nan(record: Record) -> None:
    x = torch.tensor([-math.inf, math.inf, math.nan])
    values, slopes = accuracy.with_slope(record.function, x)
    assert torch.isnan(values).tolist() == [False, False, True]
    assert torch.isnan(slopes[2])
    assert torch.isfinite(slopes[:2]).all()


def test_a_planted_inaccurate_function_is_found() -> None:
    reference, _ = accuracy.of_record(RECORDS["tanh"])
    builtin = accuracy.Subject("PyTorch", torch.tanh)
    ((_, slopes),) = accuracy.tallies([builtin], accuracy.FORMATS["bfloat16"], 1, reference)
    assert slopes.worst > 255  # 1 - y² where y was rounded to one


def test_a_planted_infinity_is_counted() -> None:
    reference, subjects = accuracy.of_record(RECORDS["gelu_tanh"])
    ((_, slopes),) = accuracy.tallies(subjects[1:2], accuracy.FORMATS["bfloat16"], 1, reference)
    assert slopes.infinite == 16384


def test_a_planted_wrong_reference_is_found() -> None:
    wrong = accuracy.Reference("x * sigmoid(x)", "sigmoid(x) * (1 + x * sigmoid(-1.001 * x))")
    form = accuracy.FORMATS["float32"]
    assert wrong.disagreement(form, [1.0]) > AGREES


@pytest.mark.parametrize(("value", "unit"), [(1.0, 2**-7), (1.99, 2**-7), (2.0, 2**-6), (1e-40, 2.0**-133)])
def test_units_in_the_last_place(value: float, unit: float) -> None:
    form = accuracy.FORMATS["bfloat16"]
    assert float(form.units(torch.tensor([value], dtype=torch.float64))) == unit


def test_a_formula_is_measured_too(capsys: pytest.CaptureFixture[str]) -> None:
    reference, subjects = accuracy.of_formula("torch.tanh(x)")
    form = accuracy.FORMATS["float32"]
    ((values, _),) = accuracy.tallies(subjects[1:2], form, 64, reference)
    assert values.count > 32
    assert values.worst <= 1
