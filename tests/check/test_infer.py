"""Targets are checked without arguments given: they are inferred from names, annotations, use and trial."""

from __future__ import annotations

import pytest
import torch
from test_corpus import FILES, load, subject

from pullback.check import check

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
