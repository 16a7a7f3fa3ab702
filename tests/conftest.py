"""What holds for every test: fixed seeds, one thread per worker, and no global state of PyTorch left behind."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import hypothesis
import pytest
import torch

if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores; more threads only make them wait
    torch.set_num_threads(1)

os.environ.setdefault("PULLBACK_FUSE", "0")  # the eager rules are meant, unless a test or the caller says otherwise
os.environ.setdefault("PULLBACK_NODE", "0")  # building the node in C++ takes most of a minute: its own tests do it once

os.environ.setdefault("PULLBACK_STRICT", "1")  # an error inside a plan or kernel is no reason to go the eager way

# the same cases on every run, and no deadline: the cores are shared
hypothesis.settings.register_profile("house", derandomize=True, deadline=None)
hypothesis.settings.load_profile("house")


def torch_state() -> dict[str, object]:
    """Everything global in PyTorch that a careless test could leave changed."""
    return {
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly mode": torch.is_anomaly_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "number of threads": torch.get_num_threads(),
    }


@pytest.fixture(autouse=True)
def _seeds() -> None:
    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _leaves_torch_as_it_was() -> Iterator[None]:
    before = torch_state()
    yield
    changed = [f"{name}: {before[name]} became {now}" for name, now in torch_state().items() if now != before[name]]
    if changed:
        pytest.fail("the test left global state of PyTorch changed: " + "; ".join(changed), pytrace=False)
