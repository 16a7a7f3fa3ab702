"""Whether somebody is recording operations, so that a call must become an operator that carries its rules."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from pullback._torch import dispatch_modes, pre_dispatch_modes, proxy_tracing, tracing_graph

_state = threading.local()


def active() -> bool:
    """Whether make_fx or export is recording here.

    AOTAutograd under torch.compile records, too, but goes through autograd first: there a call is traced as it is.
    """
    if getattr(_state, "off", False) or not (dispatch_modes() or pre_dispatch_modes()):  # type: ignore[no-untyped-call]
        return False
    if torch.compiler.is_exporting():
        return True
    return not tracing_graph() and proxy_tracing()


@contextmanager
def off() -> Iterator[None]:
    """Not recorded as an operator: the operator's own kernels, and tracers that want the operations themselves."""
    before = getattr(_state, "off", False)
    _state.off = True
    try:
        yield
    finally:
        _state.off = before
