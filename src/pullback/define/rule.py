"""A rule: the gradient of one argument, or of several together, from the cotangent."""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from pullback import _describe
from pullback.errors import DefinitionError

PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule as its author wrote it.

    Attributes:
        fn: The author's function; takes the cotangent (or the tangents), then what it names.
        args: The arguments whose gradients it returns, in this order.
        wants: The names of what it needs besides the cotangent.
        where: ``file:line`` of the author's function.
        of: The kept value whose derivative it is; ``None`` for the output.
        kind: ``"grad"`` or ``"jvp"``.
        surrogate: Whether its gradient is meant to differ from the derivative.
        opaque: Whether its results can never be differentiated again.
    """

    fn: Callable[..., Any]
    args: tuple[str, ...]
    wants: tuple[str, ...]
    where: str
    of: str | None = None
    kind: str = "grad"
    surrogate: bool = False
    opaque: bool = False

    def bind(self, needed: Sequence[str]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """The function to call when only ``needed`` have to be had, and the arguments that its results belong to."""
        return self.fn, self.args

    def who(self, function: str, needed: Sequence[str] | None = None) -> str:
        """How messages speak of this rule."""
        kind = "jvp rule" if self.kind == "jvp" else "rule"
        return f"{function}, {kind} for {_describe.names(needed or self.args)} ({self.where})"


def read_rule(function: str, fn: Callable[..., Any], args: tuple[str, ...], **options: Any) -> Rule:
    """The rule that ``fn`` is, for ``args`` of ``function``; see `Rule` for the options."""
    leading = len(args) if options.get("kind") == "jvp" else 1
    parameters = _parameters(function, fn, args, leading)[leading:]
    return Rule(fn, args, tuple(p.name for p in parameters if p.default is p.empty), _describe.place(fn), **options)


def defaulted(rule: Rule) -> list[str]:
    """The parameters of a rule that have a default: they keep it (``eps=1e-6``) and are never filled in."""
    return [p.name for p in inspect.signature(rule.fn).parameters.values() if p.default is not p.empty]


def _parameters(function: str, fn: Callable[..., Any], args: tuple[str, ...], lead: int) -> list[inspect.Parameter]:
    who = f"{function}, rule for {_describe.names(args)} ({_describe.place(fn)})"
    takes = "the cotangent" if lead == 1 else f"{lead} tangents"
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        raise DefinitionError(
            who, "a rule must be a function with named parameters", _describe.value(fn), "wrap it in a def or a lambda"
        ) from None
    odd = [p.name for p in parameters if p.kind not in PLAIN and p.default is p.empty]
    if odd or len(parameters) < lead:
        raise DefinitionError(
            who,
            f"a rule takes {takes} first, then names what it needs",
            f"parameters {inspect.signature(fn)}",
            "name arguments of the forward, 'out', or what the forward keeps; no *args or **kwargs",
        )
    return parameters


def never_reads(fn: Callable[..., Any], name: str) -> bool:
    """Whether ``fn`` provably never reads its parameter ``name`` (known for functions written in Python only)."""
    code = getattr(fn, "__code__", None)
    return isinstance(code, CodeType) and not any(
        name in (instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
        for nested in nested_code(code)
        for instruction in dis.get_instructions(nested)
        if "LOAD_" in instruction.opname
    )


def returns_nothing(fn: Callable[..., Any]) -> bool:
    """Whether ``fn`` provably returns ``None`` whatever happens: a forgotten ``return``."""
    code = getattr(fn, "__code__", None)
    if not isinstance(code, CodeType) or code.co_flags & inspect.CO_GENERATOR:
        return False
    steps = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "NOP")]
    pairs = itertools.pairwise(steps)
    returned = [_returned(before, step) for before, step in pairs if step.opname.startswith("RETURN_")]
    return bool(returned) and all(value is None for value in returned)


def _returned(before: dis.Instruction, step: dis.Instruction) -> Any:
    """The constant that a return returns; the instruction before it where that is none."""
    if step.opname == "RETURN_CONST":
        return step.argval
    constant = before.opname == "LOAD_CONST" and not step.is_jump_target  # it is one in ``g if n > 0 else None``
    return before.argval if constant else before


def nested_code(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are written inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from nested_code(const)
