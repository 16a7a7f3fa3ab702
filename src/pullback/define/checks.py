"""What is checked when something about a Function is declared: one small function per law."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from pullback import _describe
from pullback.define.captures import captures, reachable, refers_to, refuse_trainable
from pullback.define.derivative import Derived
from pullback.define.keep import keep
from pullback.define.rule import Rule, defaulted, never_reads, returns_nothing
from pullback.errors import DefinitionError, PullbackError, UsageError

if TYPE_CHECKING:
    from pullback.define.function import Function

AUTOCAST = ("leave", "float32", "autocast")
KEEP = ("lossless", "small", "named")
TENSOR = (torch.Tensor, "torch.Tensor", "Tensor")  # an annotation; as text where annotations are not evaluated
FUSE = ("auto", True, False)


def names(function: Function[..., Any], method: str, args: tuple[Any, ...]) -> None:
    """The arguments of ``f.grad(…)`` and the like are names of the forward's arguments."""
    who = f"{function.name}.{method}"
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if tensors:
        hint = f"for gradients use torch.func.grad({function.name})(…), or .backward() on the result"
        raise DefinitionError(who, "declares a rule and takes argument names", _describe.value(tensors[0]), hint)
    if not args or not all(isinstance(a, str) for a in args):
        got = ", ".join(map(_describe.value, args)) or "no name"
        first = function.params[0] if function.params else "x"
        raise DefinitionError(who, "takes the names of arguments", got, f'@{who}("{first}")')
    unknown = [a for a in args if a not in function.params]
    if unknown:
        raise DefinitionError(
            who,
            f"{function.name} has no argument {_describe.names(unknown)}",
            f"{function.name}{function.arguments.signature}",
            f"use {_describe.names(function.params)}",
        )


def free(function: Function[..., Any], method: str, args: tuple[Any, ...], of: str | None = None) -> None:
    """Only one statement is made about an argument."""
    names(function, method, args)
    derived, nondiff = function.opted_out()
    for arg in args:
        previous = function.declared(arg, of)
        if previous is not None:
            raise taken(function, arg, previous)
        for declared, name in ((nondiff, "nondiff"), (derived, "derive")):
            if arg in declared and method != name and of is None:
                raise DefinitionError(
                    f"{function.name}.{method}",
                    f"one statement about argument {arg!r}",
                    f'{function.name}.{name}("{arg}") before',
                    "keep one of the two",
                )


def taken(function: Function[..., Any], arg: str, previous: Rule) -> DefinitionError:
    """The error of a second rule for an argument."""
    return DefinitionError(
        f"{function.name}, argument {arg!r}",
        "an argument has one rule",
        f"a second one; the first is at {previous.where}",
        "remove one of them; a rule for several arguments counts for each",
    )


def wants(function: Function[..., Any], rule: Rule, ran: bool = False) -> None:
    """What a rule names exists; ``ran`` when the forward has run, so that what it keeps is known."""
    who = rule.who(function.name)
    known = {*function.params, *(function.kept or ()), *(() if rule.of else ("out",))}
    unknown = [w for w in rule.wants if w not in known]
    if unknown and (ran or not _may_keep(function)):
        raise DefinitionError(
            who,
            f"there is nothing called {_describe.names(unknown)}",
            f"names that exist: {_describe.names(sorted(known))}",
            "name an argument, 'out', or what the forward keeps with pb.keep(out, name=value); "
            "with several outputs the cotangent is one tuple",
        )
    if rule.of is not None and (rule.of in (*function.params, "out") or (ran and rule.of not in known)):
        got = f"of={rule.of!r}; kept: {_describe.names(function.kept or ())}"
        raise DefinitionError(who, "of= names a value that the forward keeps", got, "name what pb.keep keeps")
    if function.inplace is not None and function.inplace in rule.wants:
        raise DefinitionError(
            who,
            f"{function.inplace!r} is changed in place, so no rule can have its old value",
            f"a rule that names {function.inplace!r}",
            "use 'out', or keep what the rule needs with pb.keep",
        )


def kept(function: Function[..., Any]) -> None:
    """Kept values have names of their own, and the names that rules ask for exist: checked after a first run."""
    clash = [n for n in function.kept or () if n in function.params]
    if clash:
        raise DefinitionError(
            f"{function.name} ({function.where})",
            "a kept value needs a name of its own",
            f"pb.keep({clash[0]}=…) beside the argument {clash[0]!r}",
            "rename the kept value; arguments need not be kept by hand: rules name them",
        )
    for rule in function.all_rules():
        wants(function, rule, ran=True)


def cotangent(function: Function[..., Any], rule: Rule, constant: bool) -> None:
    """A rule has a cotangent with a name of its own, reads it, and has no defaults that hide what exists."""
    who, first = rule.who(function.name), next(iter(inspect.signature(rule.fn).parameters))
    if first in (*function.params, "out"):
        raise DefinitionError(
            who,
            "its first parameter is the cotangent and needs a name of its own",
            f"a first parameter called {first!r}, which is also {'the output' if first == 'out' else 'an argument'}",
            f"put the cotangent first: def _({'cotangent' if first == 'g' else 'g'}, {first}, …)",
        )
    if returns_nothing(rule.fn) and not constant:
        raise DefinitionError(
            who,
            "must return the gradient",
            "a rule that always returns None",
            f"put return before the result; for no gradient say {function.name}.nondiff(…)",
        )
    same = rule.fn.__qualname__ == function.fn.__qualname__ and rule.fn.__module__ == function.fn.__module__
    if same and function.name.isidentifier():  # a lambda replaces nothing
        raise DefinitionError(
            who,
            "a rule needs a name of its own: it would replace the Function",
            f"a rule called {rule.fn.__name__!r}, like the Function",
            "call it _: nobody calls a rule by name",
        )
    shadowed = [n for n in defaulted(rule) if n in (*function.params, "out")]
    if shadowed:
        raise DefinitionError(
            who,
            "a parameter with a default keeps its default and is never filled in",
            f"{shadowed[0]!r} has a default, and something to fill in has that name",
            "remove the default",
        )
    if not constant and never_reads(rule.fn, first):
        raise DefinitionError(
            who,
            f"must use its cotangent {first!r}, the gradient of all that follows the output",
            "a rule that never reads it",
            f"multiply by {first!r}; for no gradient say {function.name}.nondiff(…); if it is meant, constant=True",
        )


def captured(function: Function[..., Any], rule: Rule) -> None:
    """A borrowed derivative learns through arguments only."""
    if isinstance(rule, Derived) and rule.smooth:
        refuse_trainable(captures([rule.fn]), rule.who(function.name))


def smooth(function: Function[..., Any], args: tuple[str, ...], other: Callable[..., Any]) -> DefinitionError:
    """The error of a ``grad_like`` whose function takes other names than the forward."""
    return DefinitionError(
        f"{function.name}.grad_like({_describe.names(args)})",
        "the smooth function takes, by the names of the forward, the arguments that get its gradient",
        f"parameters {inspect.signature(other)}",
        f"name its parameters after {function.name}{function.arguments.signature}",
    )


def options(function: Function[..., Any]) -> None:
    """The forward's signature and the options of ``@pullback.function`` fit together."""
    who = f"{function.name} ({function.where})"
    if function.inplace is not None and function.inplace not in function.params:
        got, use = f"inplace={function.inplace!r}", f"use {_describe.names(function.params)}"
        raise DefinitionError(who, "inplace= names the argument that the forward changes", got, use)
    if "out" in function.params:
        raise DefinitionError(who, "'out' always means the output", "an argument called 'out'", "rename it")
    if function.autocast not in AUTOCAST:
        required = f"autocast= is one of {_describe.names(AUTOCAST)}"
        raise DefinitionError(who, required, f"autocast={function.autocast!r}", "use one of them")
    if function.keep not in KEEP:
        required = f"keep= is one of {_describe.names(KEEP)}"
        raise DefinitionError(who, required, f"keep={function.keep!r}", "use one of them")
    if function.fuse not in FUSE:
        required = "fuse= is one of 'auto', True and False"
        raise DefinitionError(who, required, f"fuse={function.fuse!r}", "use one of them")


def not_opaque(function: Function[..., Any]) -> DefinitionError:
    """The error of a ``fake`` for a Function that tracers look into."""
    return DefinitionError(
        f"{function.name}.fake",
        "belongs to an opaque Function; tracers look into any other",
        f"a Function without opaque= ({function.where})",
        f'@pb.function(opaque="mylib::{function.name}"), or drop the fake',
    )


def mistyped(function: Function[..., Any], values: dict[str, Any], error: Exception) -> None:
    """Say so if a forward failed and was given something else in the place of a tensor that its signature names.

    Raises:
        UsageError: If that is so.
    """
    parameters = function.arguments.signature.parameters
    for name, value in {} if isinstance(error, PullbackError) else values.items():
        if parameters[name].annotation in TENSOR and not isinstance(value, torch.Tensor):
            do = f"make it one: {function.name}(torch.as_tensor(…))" if value is not None else "give it"
            who = f"{function.name} ({function.where})"
            raise UsageError(who, f"argument {name!r} is a tensor", _describe.value(value), do) from error


def _may_keep(function: Function[..., Any]) -> bool:
    """Whether the forward may still turn out to keep something."""
    if function.kept is not None:
        return False
    reached = reachable([function.fn])
    return not reached or refers_to(function.fn, keep) or any("keep" in f.__code__.co_names for f in reached)
