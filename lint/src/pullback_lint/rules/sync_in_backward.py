"""Find waits for the device in backward."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import calls_of
from pullback_lint.problem import Problem

CODE = "PB703"


_SYNC = {"item", "tolist", "cpu", "numpy"}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or _wraps_numpy(backward):
        return
    for call in backward.flow.calls.values():
        if call.name in _SYNC and call.receiver is not None and call.receiver.deps:
            yield Problem(call.node, f"`.{call.name}()` waits for the device", fix="stay on the device")


def _wraps_numpy(backward: Method) -> bool:
    return bool(calls_of(backward.node, {"numpy", "from_numpy"}))
