"""Targets are checked without arguments given: they are inferred from names, annotations, use and trial."""

from __future__ import annotations

import named
import pytest
import takers
import torch
from test_corpus import FILES, load, subject

from pullback.check import check, worker
from pullback.check.inferred import search
from pullback.check.target import target

# a sample: the whole corpus takes minutes
INFERRED = [path for path in FILES if "ok-" in path.stem][::6] + [
    path for path in FILES if path.stem[:3] in ("022", "093", "104", "115")
]


@pytest.mark.parametrize("path", INFERRED, ids=lambda path: path.stem)
def test_without_arguments(path) -> None:
    module = load(path)
    report = check(subject(module)[0])
    (target,) = report.targets
    assert target.inputs == "inferred"
    assert target.unchecked is None
    if module.EXPECT["fault"] is None:
        assert [f.name for f in report if f.severity == "error"] == []
    else:
        assert module.EXPECT["fault"] in report.names(), str(report)


HIDDEN = {  # what two elements, a stride of one window or one index for all would hide
    named.SortedGathered: "wrong-derivative",
    named.OverlappingMaximum: "duplicate-index-overwrite",
    named.RolledOn: "wrong-derivative",
    named.SeenAlong: "uninitialised-grad",
    named.ColumnsAddedOnce: "duplicate-index-overwrite",
    named.AlongEdges: "wrong-derivative",
    named.MeansOfWindows: "wrong-derivative",
}


@pytest.mark.parametrize("cls", HIDDEN, ids=lambda cls: cls.__name__)
def test_arguments_that_hide_a_fault_do_not_excuse_it(cls) -> None:
    assert HIDDEN[cls] in check(cls).names()


@pytest.mark.parametrize("cls", [named.QuadraticForm, named.PowerOfSpectrum], ids=lambda cls: cls.__name__)
def test_arguments_are_what_name_and_source_say(cls) -> None:
    report = check(cls)
    assert report.targets[0].verdict == "tested"
    assert report.ok, str(report)


def test_what_is_cut_into_parts_is_as_long_as_they_are_together() -> None:
    ((gates, cell), *_), _ = search.search(target(named.GatesOfACell))
    assert gates.shape == (cell.shape[0], 4 * cell.shape[1])


class Refuses(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise ValueError("nothing is good enough")

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def test_what_cannot_be_run_is_unchecked_and_says_why() -> None:
    (target,) = check(Refuses).targets
    assert target.status == "unchecked"
    assert "nothing is good enough" in target.unchecked
    assert not check(Refuses).ok


@pytest.mark.parametrize("cls", takers.TAKERS, ids=lambda cls: cls.__name__)
def test_arguments_are_found_for_what_real_functions_take(cls) -> None:
    found, reason = search.search(target(cls))
    assert found, reason
    assert search.Search(target(cls)).trial(found[0]).works == "all"


def test_the_modules_own_calls_say_what_is_passed(tmp_path) -> None:
    file = tmp_path / "own_calls.py"
    file.write_text(OWN_CALLS)
    source, module, _ = worker._loaded({"path": str(file)})
    found = {name: subject for name, subject, _ in worker.subjects(source, module)}
    (values, *_), _ = search.search(target(found["Fixed"]))
    assert values[1:] == (37, "left")
    (values, *_), reason = search.search(target(found["Inner"]))
    assert values, reason


OWN_CALLS = """
import torch

class Fixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, modulus, side):
        assert modulus == 37 and side == "left"
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output, None, None

def fixed(x, modulus=37):
    return Fixed.apply(x, modulus, "left")

def quantiser(bits):
    levels = 2 ** bits - 1
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.round(x * levels) / levels

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output
    return Inner.apply
"""


def test_a_wrong_gradient_in_pytorch_itself_is_found() -> None:
    from torch.nn.modules._functions import CrossMapLRN2d

    assert "wrong-derivative" in check(CrossMapLRN2d).names()
