"""What each parameter of a target may be, likeliest first: from default, annotation, calls, use and name."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback.check.inferred import calls
from pullback.check.inferred.names import FLOATING, Shaped, Sized, blend, by_name, is_count, is_parameter, is_tensor
from pullback.check.inferred.source import Method, Names, method, methods, returned, summed
from pullback.check.inferred.uses import Use, uses
from pullback.check.inferred.values import Config, Made
from pullback.check.target import Target

EXTRA: tuple[Any, ...] = (
    "tensor", "last", "scalar", 0.7, 2, True, None, "index", "mask", "channel", "positive", "one", "weight",
    "weight_t", "list", blend, "unit", "rows", "column", "first", "flat_index", "spd", "square", "module", "batched",
    "out", 1, (2, 2),
    "constant", "tril", "nspd", "shape", "complex", "kernel", "kernel_each", "points", "two_rows", "pairs",
    Shaped(last=3), Shaped(last=4), "array", "n0", "n-1", "n1", "bytes",
)  # fmt: skip
ANNOTATED: list[tuple[str, list[Any]]] = [
    ("Tensor", ["tensor"]), ("bool", [True, False]), ("int", [2, 1]), ("float", [0.7]), ("str", ["mean", "sum"]),
    ("Callable", [blend]), ("Module", ["module"]), ("Size", ["shape"]), ("ndarray", ["array"]),
    ("dtype", [torch.float32]), ("device", ["cpu"]),
]  # fmt: skip
COMPLEX = [  # what speaks of complex numbers, and what takes them beside real ones
    (r"fft[\s\S]*\.real\b", ("tensor", "complex")),  # of a transform the real part is taken where the input is real
    (r"\.imag\b|[Cc]omplex(?!ity)|conj|\bpolar\b", ("complex", "tensor")),
    (r"fft", ("tensor", "complex")),
]
SEQUENCES = re.compile(r"\b([Ll]ist|Sequence|Iterable|[Tt]uple)\[")


def options(target: Target) -> tuple[list[inspect.Parameter], list[list[Any]]]:
    """The parameters that values are wanted for, and for each what it may be."""
    found = methods(target)
    parameters = wanted(target, found)
    seen = _seen(target, parameters, found)
    slots, given, main, sums = returned(target), calls.literals(target), rank(target), summed(target)
    text = "\n".join([target.name, *[ast.unparse(one.tree) for one in found]])
    lists = []
    names = [p.name for p in parameters]
    for place, parameter in enumerate(parameters):
        use = seen[parameter.name] if names.count(parameter.name) == 1 else Use()  # what is done with *args as a whole
        slot = slots[place] if place < len(slots) else None
        literal = [*given.get(place, []), *given.get(parameter.name, [])]
        ordered = _ordered(target, parameter, use, slot, literal, main)
        if place in sums and slots.count(True) > 1:
            ordered = ["scalar", *ordered]
        lists.append(unique([*_special(ordered, text), *EXTRA]))
    if any(options[0] in ("weight", "weight_t", "kernel") for options in lists):
        for place, parameter in enumerate(parameters):
            if parameter.name.lower() in ("bias", "b"):  # of a layer it has one number per output
                lists[place] = unique(["out", *lists[place]])
    for place, name in enumerate(names):
        if names.index(name) < place:
            lists[place].append("nothing")
    return parameters, _with_parameters(parameters, lists)


CLASSES = 6  # of a package that are tried for what an argument is asked for


@functools.cache
def having(package: str, attribute: str) -> list[Any]:
    """The classes of a package that have an attribute and are made of one thing, and an object of each."""
    modules = [module for name, module in [*sys.modules.items()] if name.partition(".")[0] == package]
    classes = {value: None for module in modules for value in [*getattr(module, "__dict__", {}).values()]
               if isinstance(value, type) and value.__module__.partition(".")[0] == package
               and hasattr(value, attribute) and not inspect.isabstract(value)}  # fmt: skip
    taking = [(cls, needed[0]) for cls in classes if len(needed := _needed(cls)) == 1]
    return [kind for cls, name in taking[:CLASSES] for kind in (cls, Made(cls, {name: "square"}))]


def _needed(cls: type) -> list[str]:
    """The names of what has to be given to make an object."""
    try:
        given = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in given if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _with_parameters(parameters: list[inspect.Parameter], lists: list[list[Any]]) -> list[list[Any]]:
    """Tensors that come as ``*weights`` beside modules are those modules' parameters."""
    names = [p.name for p in parameters]
    single = [options for name, options in zip(names, lists, strict=True) if names.count(name) == 1]
    beside = any("module" in options[:4] for options in single)
    found = []
    for place, (name, options) in enumerate(zip(names, lists, strict=True)):
        first = ["parameters" if names.index(name) == place else "nothing"]
        found.append([*first, *options] if beside and names.count(name) > 1 else options)
    return found


def _seen(target: Target, parameters: list[inspect.Parameter], found: list[Method]) -> dict[str, Use]:
    """What is done with each parameter, in the target's own methods and in the functions that they hand it to."""
    names = [p.name for p in parameters]
    seen, behind = uses(names, found), Names(tuple(names), found)
    space = getattr(getattr(target.function, "forward", None), "__globals__", {})
    calls = [n for one in found for n in ast.walk(one.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    for call in calls:
        helper = space.get(call.func.id)  # type: ignore[attr-defined]
        inner = method(helper) if inspect.isfunction(helper) else None
        if inner is not None:
            given = [a.arg for a in inner.tree.args.args]
            shown = uses(given, [inner])
            for argument, name in zip(call.args, given, strict=False):
                owner = behind.is_(argument)
                if owner in seen:
                    seen[owner].meets(shown[name])
    for name in names:
        other = name.replace("sin", "cos")
        if other != name and other in seen:  # of the same shape, surely
            seen[name].meets(seen[other])
            seen[other].meets(seen[name])
    return seen


def rank(target: Target) -> int:
    """The number of dimensions that the source expects of the first tensor that it says anything about."""
    found = methods(target)
    seen = _seen(target, wanted(target, found), found)
    return next((use.rank for use in seen.values() if use.rank), 0)


def at_least(target: Target) -> int:
    """The fewest dimensions that will do for the first two tensors."""
    found = methods(target)
    seen = _seen(target, wanted(target, found), found)
    return max([use.at_least for use in list(seen.values())[:2]], default=0)


def _ordered(
    target: Target, p: inspect.Parameter, use: Use, slot: bool | None, literal: list[Any], main: int
) -> list[Any]:
    noted = _annotated(target, p.annotation)
    named = by_name(p.name)
    certain = [k for k in named[:1] if k in ("spd", "tril")]  # more than a product shows
    tensors = [
        k for k in [*certain, *use.shaped(main), *use.kinds, *named] if is_tensor(k) and not (k == "list" and use.whole)
    ]
    evident = use.tensor > 0 or slot is True or bool(noted and noted[0] == "tensor") or "binary" in named
    evident &= not use.number
    if slot is False and use.kept and not use.tensor and not noted and not literal and p.default is p.empty:
        return [*_plain_or_number(p, use, named), *tensors, "tensor"]
    if slot is True:
        tensors = [k for k in tensors if k in FLOATING or isinstance(k, (Sized, Shaped))]
        if "scalar" in named or is_parameter(p.name):  # one number per feature shows more; if it fails, a single one
            tensors = [*[k for k in tensors if k not in ("scalar", "tensor")], "last", "channel", "scalar"]
    usual: list[Any] = ["last", "channel", "tensor", "scalar"] if is_parameter(p.name) else ["tensor"]
    usual += ["constant"] if slot is False else []
    if use.rank == 2:  # a matrix, surely
        own = [k for k in tensors if isinstance(k, Shaped)]
        tensors = [*own, "square", *[k for k in tensors if k not in ONE_NUMBER_EACH and k not in own]]
        usual = ["tensor", "weight", "square"]
    usual += [Shaped(last=use.last)] if 0 < use.last < 3 else []
    plain = _plain(p, use, named, noted, literal)
    if use.attributes and not use.tensor:
        return [*literal, *noted, Config({a: _likeliest(a) for a in use.attributes}), *plain]
    if evident and not (noted and not is_tensor(noted[0]) and noted[0] != "list"):
        first = noted if "list" in noted else []
        return [*first, *tensors, *usual, *plain]
    if noted:
        return [*plain, *noted, *tensors]
    if slot is False or literal or use.number or use.strings or "callable" in use.kinds:
        return [*plain, *tensors, *usual] if plain else [*tensors, *_unnamed(use, slot), *usual, 0.7, 2, True]
    return [*plain, *tensors] if named and not is_tensor(named[0]) else [*tensors, *usual, *plain]


ONE_NUMBER_EACH = ("last", "channel", "scalar")


def _plain_or_number(p: inspect.Parameter, use: Use, named: list[Any]) -> list[Any]:
    """What stands on the context as an attribute and takes no gradient: a number, a flag, a word."""
    return _plain(p, use, named, [], []) or [0.7, 2]


def _unnamed(use: Use, slot: bool | None) -> list[Any]:
    """Numbers come first for what takes no gradient and is never used as a tensor."""
    return [0.7, 2] if use.number or (slot is False and not use.tensor) else []


def _plain(p: inspect.Parameter, use: Use, named: list[Any], noted: list[Any], literal: list[Any]) -> list[Any]:
    """What is no tensor: the default, what the module passes, words, functions, numbers."""
    default = [] if p.default is p.empty or (p.default is None and use.tensor) else [p.default]
    if use.repeats:
        named = list(by_name("max_iter"))
    if (
        is_count(p.name) or use.repeats
    ):  # few steps of an iteration are not its limit, whose derivative backward may give
        few = [v for v in [*default, *literal] if isinstance(v, int) and v < named[0]]
        default, literal = [v for v in default if v not in few], [v for v in literal if v not in few]
    if any(type(k) is float for k in named):  # 0 and 1 hide a factor that a formula forgets
        telling = [v for v in [*default, *literal] if not hides(v)]
        default, literal = telling, [k for k in named if type(k) is float] + [v for v in default + literal if hides(v)]
    called = [*filter(callable, named), blend, "module"] if "callable" in use.kinds else []
    words = [*([None] if use.none else [])]
    used = [k for k in use.kinds if not is_tensor(k) and k != "callable"]
    fitting = [k for k in named if not is_tensor(k) and (not noted or any(type(k) is type(n) for n in noted))]
    return [*called, *default, *literal, *use.strings, *fitting, *noted, *used, *words]


def hides(value: Any) -> bool:
    """Whether a number makes factors, powers or steps invisible."""
    return not isinstance(value, bool) and isinstance(value, (int, float)) and value in (0, 1, -1)


def _likeliest(name: str) -> Any:
    found = by_name(name)
    return found[0] if found else 0.7


def _special(ordered: list[Any], text: str) -> list[Any]:
    pair = next((pair for pattern, pair in COMPLEX if re.search(pattern, text)), ("tensor",))
    also = {"tensor": pair, "scalar": ("scalar", "one")}  # a single number has one dimension or none
    ordered = [
        kind for option in ordered for kind in (also.get(option, (option,)) if isinstance(option, str) else [option])
    ]
    if pair[0] == "complex" and ordered[:1] == ["last"]:  # beside a complex one what is real hides a conjugate
        ordered = ["complex_last", "complex", *ordered]
    if "-100" in text and "index" in ordered:
        ordered = ["ignored", *ordered]
    return ordered


def unique(found: Sequence[Any]) -> list[Any]:
    """Each option once, in order."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for option in found:
        key = (type(option).__name__, repr(option))
        if key not in seen:
            seen.add(key)
            kept.append(option)
    return kept


def _annotated(target: Target, note: Any) -> list[Any]:
    """What an annotation allows; nothing if there is none or it says nothing."""
    if note is inspect.Parameter.empty:
        return []
    resolved = _resolved(target, note)
    own = _of_class(target, resolved)
    if own:
        return own
    text = note if isinstance(note, str) else inspect.formatannotation(note)
    if SEQUENCES.search(text):
        return ["list"] if "Tensor" in text else [(1, 1), (2, 2), [2, 2]]
    return next((list(kinds) for word, kinds in ANNOTATED if word in text), [])


def _resolved(target: Target, note: Any) -> Any:
    if not isinstance(note, str):
        return note
    module = sys.modules.get(getattr(target.subject, "__module__", ""))
    try:
        return eval(note, dict(vars(module)) if module else {})
    except Exception:  # an annotation that only a type checker can read
        return note


def _of_class(target: Target, note: Any) -> list[Any]:
    if typing.get_origin(note) is typing.Literal:
        return list(typing.get_args(note))
    inner = [a for a in typing.get_args(note) if a is not type(None)]
    if inner and type(None) in typing.get_args(note):
        return _of_class(target, inner[0])
    if not isinstance(note, type) or issubclass(note, torch.Tensor):
        return []
    if issubclass(note, enum.Enum):
        return list(note)
    if dataclasses.is_dataclass(note) or hasattr(note, "_fields"):
        return [Made(note, _fields(target, note))]
    return ["module"] if issubclass(note, torch.nn.Module) else []


def _fields(target: Target, cls: Callable[..., Any]) -> dict[str, Any]:
    """A kind for every field of a configuration class that has no default."""
    kinds = {}
    for name, p in inspect.signature(cls).parameters.items():
        if p.default is p.empty:
            named, noted = by_name(name), _annotated(target, p.annotation)
            fitting = [k for k in named if any(type(k) is type(n) or (is_tensor(k) and is_tensor(n)) for n in noted)]
            kinds[name] = [*fitting, *noted, *named, 0.7][0]
    return kinds


def wanted(target: Target, found: list[Method]) -> list[inspect.Parameter]:
    """The positional parameters; ``*args`` under the names that the source unpacks them to, else twice."""
    given = _signature(target)
    if given is None:
        return [inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)]
    names = set(target.parameters) | {target.variadic}
    kept = [p for p in given if p.name in names and p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return [one for p in kept for one in (_variadic(p, found) if p.kind is p.VAR_POSITIONAL else [p])]


def _signature(target: Target) -> list[inspect.Parameter] | None:
    fn = target.subject.forward if target.function is not None or target.kind == "module" else target.subject
    fn = getattr(fn, "_init_fn", fn)
    try:
        return list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return None


def _variadic(p: inspect.Parameter, found: list[Method]) -> list[inspect.Parameter]:
    for node in (n for one in found[:1] for n in ast.walk(one.tree)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and _is(node.value, p.name):
            names = [e.id for e in node.targets[0].elts if isinstance(e, ast.Name)]
            if len(names) == len(node.targets[0].elts):
                return [inspect.Parameter(name, p.POSITIONAL_ONLY) for name in names]
    numbered = _numbered(p.name, found)
    if numbered:
        return [inspect.Parameter(name, p.POSITIONAL_ONLY) for name in numbered]
    return [p.replace(kind=p.POSITIONAL_ONLY, default=p.empty)] * 2


def _numbered(variadic: str, found: list[Method]) -> list[str]:
    """The names of ``x = args[0]``, ``y = args[1]`` and so on."""
    taken: dict[int, str] = {}
    for node in (n for one in found[:1] for n in ast.walk(one.tree)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and _is(node.value.value, variadic):
            left, at = node.targets[0], node.value.slice
            if isinstance(left, ast.Name) and isinstance(at, ast.Constant) and isinstance(at.value, int):
                taken.setdefault(at.value, left.id)
    return [taken[i] for i in sorted(taken)] if len(taken) > 1 and sorted(taken) == [*range(len(taken))] else []


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
