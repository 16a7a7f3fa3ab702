"""Whether a graph of a Function's code stands for that code on every call: what it reads from outside cannot change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dis import get_instructions
from typing import Any

from pullback import _describe
from pullback.define.captures import SCALARS, captures, outside, reachable, reader, reads, strangers
from pullback.define.function import Function
from pullback.define.purity import changes_nothing
from pullback.define.rule import nested_code

_UNSEEN = {"detach", "no_grad", "inference_mode", "data", "set_grad_enabled", "enable_grad", "checkpoint"}
"""Names of code that means something to autograd and nothing for values: a graph does not show it."""

_SIZES = {"shape", "size", "numel", "nelement", "stride", "len", "storage_offset", "is_contiguous", "nbytes"}
_DECIDING = {"min", "max", "int", "bool", "range", "round", "divmod", "len", "sorted", "sum"}
_STATE = re.compile(
    r"(is_\w+_enabled|are_\w+|get_\w+|requires_grad|is_leaf|grad_fn|data_ptr|_version|retains_grad|initial_seed"
    r"|globals|locals|vars|getattr|eval|exec|__\w+__)"
)


def open_because(function: Function[..., Any]) -> str:
    """Why the code is not closed; empty if it is.

    >>> import pullback as pb
    >>> open_because(pb.function(lambda x: x.detach()).__pullback__)
    'its code says detach, which a graph of values does not show'
    """
    if function.inplace is not None:
        return "it works in place"
    if function.code:
        return "its rules are the backward of an autograd.Function"
    sources = list(function.sources())
    found = captures(sources)
    changeable = sorted({str(c) for c in found if not isinstance(c.value, SCALARS)})
    if changeable:
        return f"it reads {_describe.names(changeable)} from outside, which may change"
    strange = strangers(sources)
    if strange:
        return f"it uses {_describe.names(strange)}, which may give something else each time"
    if not changes_nothing(sources):
        return "its code may change a tensor in place"
    names = {n for f in reachable(sources) for code in nested_code(f.__code__) for n in code.co_names}
    unseen = sorted(names & _UNSEEN)
    return (
        f"its code says {', '.join(unseen)}, which a graph of values does not show"
        if unseen
        else _looks(names, sources)
    )


def _looks(names: set[str], sources: Sequence[Callable[..., Any]]) -> str:
    """Whether the code decides by what graphs are not made anew for, such as sizes: tracing bakes that in unseen."""
    state = sorted(filter(_STATE.fullmatch, names))
    if state:
        return f"its code looks at {', '.join(state)}"
    decides = bool(names & _DECIDING) or any(
        ("JUMP" in step.opname and "IF" in step.opname) or step.opname == "FOR_ITER"
        for fn in reachable(sources)
        for code in nested_code(fn.__code__)
        for step in get_instructions(code)
    )
    return "its code may decide by sizes" if names & _SIZES and decides else ""


def scalars(function: Function[..., Any]) -> Callable[[], tuple[Any, ...]]:
    """A function that tells what closed code finds outside, scalars and functions: where it differs, a graph is void.

    Numbers are told apart by type and sign, too: ``1``, ``1.0`` and ``True`` are equal, as are ``0.0`` and ``-0.0``.
    """
    found = outside(function.sources())
    readers = [reader([c for c in found if c.fn is fn]) for fn in dict.fromkeys(c.fn for c in found)]
    return lambda: tuple(_identity(value) for read in readers for value in read())


def _identity(value: Any) -> Any:
    if isinstance(value, float):
        return value.__class__, repr(value)
    code = getattr(value, "__code__", None)
    return (value.__class__, value) if code is None else (value, code, value.__defaults__, repr(value.__kwdefaults__))


def rules_below(function: Function[..., Any]) -> list[str]:
    """The Functions with rules that rules call: a second derivative goes by theirs, which no graph shows."""
    called = _called(function.sources())
    rules = [rule.fn for made in (function, *called) for rule in made.all_rules()]
    return sorted({made.name for made in _called(rules) if made.all_rules()})


def _called(sources: Iterable[Callable[..., Any]]) -> list[Function[..., Any]]:
    values = [value for fn in reachable(sources) for _, value in reads(fn)]
    return [v.__pullback__ for v in values if getattr(v, "__pullback__", None) is not None]


def holds(guards: Sequence[str], numbers: Sequence[str]) -> Callable[..., bool]:
    """Whether what was decided about numbers while tracing holds for other numbers, in the same order."""
    if not guards:
        return lambda *_: True
    import sympy

    space = {name: getattr(sympy, name) for name in ("Eq", "Ne", "And", "Or", "Not", "Abs", "Min", "Max")}
    test: Callable[..., bool] = eval(
        f"lambda {', '.join(numbers)}: bool({' and '.join(f'({g})' for g in guards)})", space
    )

    def held(*values: Any) -> bool:
        try:
            return bool(test(*values))
        except Exception:  # a guard that cannot be decided does not hold
            return False

    return held
