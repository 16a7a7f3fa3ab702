"""The form for torch.compile: one callable in Dynamo's graph, through which AOTAutograd traces the general form."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.immutable_collections import immutable_dict, immutable_list

from pullback._torch import allow_in_graph, functionalizing, nonstrict_trace, proxy_tracing, when_dynamo_loads
from pullback.define.captures import Capture, captures, reader
from pullback.define.function import FUNCTIONS, Function
from pullback.define.stacks import general
from pullback.errors import PullbackError, StackError

NOTHING = "<pullback: None>"
LISTS, DICTS = (list, immutable_list), (dict, immutable_dict)  # a graph holds the latter in the places of the former


def graph(token: str, reads: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
    """The result of a call, traced into the graph; ``reads`` are what its code reads from outside, to be guarded.

    Replaced by its registered form as soon as Dynamo is loaded: Dynamo finds it here when it traces a Function.
    """
    armed, _state.armed = getattr(_state, "armed", False), False
    try:
        return _nameless(FUNCTIONS[token], general(FUNCTIONS[token], _shown(values)))
    except PullbackError as error:
        if not armed or proxy_tracing() or functionalizing():
            raise
        _state.pending = error  # Dynamo would hide it behind one of its own: `_raise_pending` runs right after
        return torch.zeros(())


def _raise_pending() -> None:
    """Raise what went wrong while Dynamo tried a call on fake tensors."""
    error, _state.pending = getattr(_state, "pending", None), None
    if error is not None:
        raise error


def _nameless(function: Function[..., Any], result: Any) -> Any:
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        raise StackError(
            function.name,
            "torch.compile does not put a named tuple that comes out of its graph together again",
            f"a {type(result).__name__}",
            "return a tuple or a dict, and make the named tuple from it outside of the Function",
        )
    return result


_raise_pending._dynamo_marked_constant = True  # type: ignore[attr-defined] # run when Dynamo traces, not inlined
_state = threading.local()


def exported(token: str, reads: tuple[Any, ...], *values: Any) -> Any:
    """The same for strict export, which cannot hold containers."""
    return general(FUNCTIONS[token], _shown(values))


def call(token: str, outside: Outside, values: tuple[Any, ...]) -> Any:
    """What a Function does while Dynamo traces it."""
    if torch.compiler.is_exporting():
        return exported(token, read(outside), *_hidden(values))
    result = graph(token, read(outside), _hidden(values))
    _raise_pending()
    return result


def _hidden(value: Any) -> Any:
    """The same value with a word in the place of each ``None``, which a node of Dynamo's graph cannot take."""
    return _replaced(value, None, NOTHING)


def _shown(value: Any) -> Any:
    return _replaced(value, NOTHING, None)


def _replaced(value: Any, old: Any, new: Any) -> Any:
    if type(value) is tuple:
        return tuple([_replaced(v, old, new) for v in value])
    if type(value) in LISTS:
        return [_replaced(v, old, new) for v in value]
    if type(value) in DICTS:
        return {k: _replaced(v, old, new) for k, v in value.items()}
    if old is None:
        return new if value is None else value
    return new if isinstance(value, str) and value == old else value


def _register() -> None:
    globals()["graph"] = nonstrict_trace(graph)
    globals()["exported"] = allow_in_graph(exported)


when_dynamo_loads(_register)


class Outside:
    """What a Function's code reads from outside, in a form that Dynamo traces and guards."""

    def __init__(self, function: Function[..., Any]) -> None:
        self.readers: tuple[Callable[[], tuple[Any, ...]], ...] = ()
        self._paths: list[tuple[int, str]] = []

        def prepare() -> None:
            self._prepare(function)
            _state.armed = True

        prepare._dynamo_marked_constant = True  # type: ignore[attr-defined] # run when Dynamo traces, not inlined
        self.prepare = prepare

    def _prepare(self, function: Function[..., Any]) -> None:
        found = captures(function.sources())
        for capture in found:
            if not capture.plain:
                raise _unguardable(function, capture)
        paths = [(id(c.fn), str(c)) for c in found]
        if paths != self._paths:  # readers that stay the same objects keep what was compiled with them valid
            groups = [[c for c in found if c.fn is fn] for fn in dict.fromkeys(c.fn for c in found)]
            self._paths, self.readers = paths, tuple(map(reader, groups))


def read(outside: Outside) -> tuple[Any, ...]:
    """The values themselves; Dynamo inlines this and guards each of them."""
    outside.prepare()
    return tuple([each() for each in outside.readers])


def _unguardable(function: Function[..., Any], capture: Capture) -> StackError:
    return StackError(
        function.name,
        "under torch.compile, what a Function reads from outside must be plain data, which can be guarded",
        f"{capture}, a {type(capture.value).__name__}, read in {capture.fn.__qualname__}",
        "pass it, or the numbers in it, as an argument",
    )
