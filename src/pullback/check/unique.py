"""Whether forward returns what is not unique: the vectors of a decomposition are one basis among many."""

from __future__ import annotations

from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check.case import Case
from pullback.check.reference import Reference

DECOMPOSITIONS = ("_linalg_svd", "_linalg_eigh", "linalg_eig", "linalg_qr", "geqrf", "linalg_householder_product")


class _Calls(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.__name__.split(".")[0])
        return func(*args, **(kwargs or {}))


def decomposes(case: Case) -> bool:
    """Whether forward uses the vectors of a matrix decomposition."""
    if "decomposes" not in case.facts:
        calls = _Calls()
        with calls, torch.no_grad():
            case.target.apply(*case.arguments.constant())
        case.facts["decomposes"] = not calls.names.isdisjoint(DECOMPOSITIONS)
    return bool(case.facts["decomposes"])


def is_a_choice(case: Case, truth: Reference) -> bool:
    """Whether the outputs depend on which basis was chosen: then autograd and differences do not agree either."""
    return truth.kind == "finite-differences" and truth.followed is not None and decomposes(case)
