"""Nothing is left behind after a check: no patch, hook, thread, file, random state or gradient; also after errors."""

from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
import threading
import warnings

import mutants
import numpy
import pytest
import torch

from pullback.check import check, watch


class Raises(mutants.Product):
    @staticmethod
    def backward(ctx, grad_output):
        raise RuntimeError("on purpose")


class Spoils(mutants.Product):
    """Changes global state and then raises."""

    @staticmethod
    def backward(ctx, grad_output):
        torch.set_default_dtype(torch.float16)
        torch.use_deterministic_algorithms(True)
        torch.autograd.set_detect_anomaly(True)
        torch.set_num_threads(torch.get_num_threads() + 1)
        raise KeyError("on purpose")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other tests run beside this one


def state() -> dict[str, object]:
    classes = [mutants.Product, Raises, Spoils, torch.autograd.Function, torch.nn.Module]
    return {
        "torch": torch.get_rng_state().tolist(),
        "python": random.getstate(),
        "numpy": str(numpy.random.get_state()),
        "dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "fill": torch.utils.deterministic.fill_uninitialized_memory,
        "grad": torch.is_grad_enabled(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "intra": torch.get_num_threads(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_default_device()),
        "threads": threading.active_count(),
        "classes": [dict(vars(cls)) for cls in classes],
        "hooks": len(torch.nn.modules.module._global_forward_pre_hooks),
        "files": sorted(os.listdir(tempfile.gettempdir())),
        "filters": list(warnings.filters),
        "path": list(sys.path),
        "gc": gc.isenabled(),
    }


@pytest.mark.parametrize("cls", [mutants.Product, Raises, Spoils, mutants.MutatesGradOutput, mutants.Global])
def test_a_check_changes_nothing(cls) -> None:
    inputs = mutants.pair()
    check(cls, *inputs)  # what the first call loads may stay
    values = [x.detach().clone() for x in inputs]
    before = state()
    check(cls, *inputs)
    after = state()
    assert {key for key in before if before[key] != after[key]} == set()
    assert all(torch.equal(x.detach(), v) and x.grad is None for x, v in zip(inputs, values, strict=True))


def test_the_gradients_that_are_there_stay() -> None:
    inputs = mutants.pair()
    for x in inputs:
        x.grad = torch.full_like(x, 3.0)
    check(mutants.Captured, inputs[0])
    assert all((x.grad == 3.0).all() for x in inputs)
    assert mutants.PARAMETER.grad is None


def test_watching_puts_everything_back_also_after_an_exception() -> None:
    before = state()
    with pytest.raises(RuntimeError, match="on purpose"), watch():
        Raises.apply(*mutants.pair()).sum().backward()
    after = state()
    assert {key for key in before if before[key] != after[key]} == set()


def test_watching_does_not_change_results() -> None:
    def run() -> torch.Tensor:
        torch.manual_seed(5)
        x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
        for _ in range(5):
            noise = torch.randn(3, 4, dtype=torch.float64)
            mutants.Product.apply(x, noise).square().sum().backward()
        return x.grad

    alone = run()
    with watch() as report:
        watched = run()
    assert torch.equal(alone, watched)
    assert [t.name for t in report.targets] == ["Product"]
