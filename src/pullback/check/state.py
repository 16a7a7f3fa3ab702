"""Nothing is left behind: global state is noted before an experiment and put back after it."""

from __future__ import annotations

import contextlib
import random
import sys
import warnings
from collections.abc import Iterator

import torch

from pullback.kernels.way import held

SEED = 20_260_101


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Whatever happens inside, random states, default dtype, modes and warning filters are as before afterwards."""
    numpy = sys.modules.get("numpy")
    python_state, numpy_state = random.getstate(), numpy.random.get_state(legacy=False) if numpy else None
    torch_state, dtype, grad = torch.get_rng_state(), torch.get_default_dtype(), torch.is_grad_enabled()
    deterministic, warn_only = _determinism()
    threads, anomaly = torch.get_num_threads(), _anomaly()
    try:
        with warnings.catch_warnings(), torch.enable_grad(), held():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python_state)
        if numpy and numpy_state is not None:
            numpy.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        if (deterministic, warn_only) != _determinism():  # setting it imports the compiler
            torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if _anomaly() != anomaly:
            torch.autograd.set_detect_anomaly(*anomaly)


def _determinism() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _anomaly() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def seed(value: int = SEED) -> None:
    """Start every generator that a forward may draw from at the same place."""
    torch.default_generator.manual_seed(value)  # torch.manual_seed queues calls for devices that never start
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(value)
    random.seed(value)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(value % 2**32)
