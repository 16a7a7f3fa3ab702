"""Find random numbers that backward draws anew although forward drew them."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model import tables
from pullback_lint.model.events import Call
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import keyword
from pullback_lint.model.walk import words_in
from pullback_lint.problem import Problem

CODE = "PB315"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or _restores(backward):
        return
    drawn = {_draw(function, call) for call in forward.flow.calls.values()} - {""}
    for call in backward.flow.calls.values():
        name = _draw(function, call)
        if name and drawn:
            yield Problem(
                call.node,
                f"`{name}` draws other numbers here than `forward` did",
                fix="save what was drawn, or restore the generator's state",
            )


def _draw(function: Function, call: Call) -> str:
    if call.name not in tables.RANDOM or keyword(call.node, "generator") is not None:
        return ""
    known = call.receiver is not None or call.dotted.startswith(("torch.", "numpy.random"))
    return call.name if known else ""


def _restores(backward: Method) -> bool:
    words = ("rng_state", "manual_seed", "fork_rng", "Generator", "seed")
    return any(any(word in name for word in words) for name in words_in(backward.node))
