"""What a function reads from outside: globals, closures, and attributes of what it finds there.

Two laws need this. A tensor that a forward captures would silently get no gradient, so code that may capture one
is watched on every call. And a value read from outside must be read at each call in every stack: Dynamo, which does
not look into a Function, is shown the reads (`reader`) so that it guards them.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from pullback.define.rule import nested_code
from pullback.errors import CapturedTensorError

SCALARS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size)
FIXED = (types.ModuleType, type, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
LIBRARIES = {"torch", "numpy", "math", "functools", "itertools", "operator", "builtins", "collections", "typing"}
CONSTANT = {"torch", "pullback", "math", "operator", "functools", "itertools", "builtins", "collections", "typing"}
EMPTY = object()


@dataclass(frozen=True)
class Capture:
    """One value that ``fn`` reads from outside: the path to it and what is there now."""

    fn: types.FunctionType
    path: tuple[str, ...]
    value: Any

    @property
    def plain(self) -> bool:
        """Whether the value is plain data: it cannot hide a tensor, and Dynamo can guard it."""
        return is_plain(self.value)

    def __str__(self) -> str:
        return ".".join(self.path)


def is_plain(value: Any) -> bool:
    """Whether a value is a scalar, or a built-in container of scalars."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    return isinstance(value, SCALARS)


def captures(functions: Iterable[Any]) -> list[Capture]:
    """What ``functions``, and the functions that they call, read from outside, less modules, classes and functions."""
    return [found for found in outside(functions) if not python_functions(found.value)]


def outside(functions: Iterable[Any]) -> list[Capture]:
    """What ``functions``, and the functions that they call, read from outside: values, and functions in Python."""
    return [Capture(fn, path, value) for fn in reachable(functions) for path, value in reads(fn) if not _fixed(value)]


def strangers(functions: Iterable[Any]) -> list[str]:
    """What they read whose results may differ from call to call: modules and objects that nothing is known about."""
    return sorted({
        ".".join(path)
        for fn in reachable(functions)
        for path, value in reads(fn)
        if _fixed(value) and not _known(fn, path, value)
    })  # fmt: skip


def _known(fn: types.FunctionType, path: tuple[str, ...], value: Any) -> bool:
    """Whether a module, a class or a library's function gives the same for the same arguments."""
    seen = (fn.__globals__.get(path[0]), value, getattr(value, "__self__", None))
    if any(isinstance(v, types.ModuleType) and v.__name__.partition(".")[0] not in CONSTANT for v in seen):
        return False
    bound = isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, (type, types.ModuleType))
    return not (bound and value.__self__ is not None) and not isinstance(value, functools.partial)


def reachable(functions: Iterable[Any]) -> list[types.FunctionType]:
    """``functions`` and all functions written in Python that they may call, libraries' excepted."""
    found: dict[int, types.FunctionType] = {}
    todo = list(functions)
    while todo:
        for fn in python_functions(todo.pop()):
            if id(fn) not in found:
                found[id(fn)] = fn
                todo.extend(value for _, value in reads(fn) if not _fixed(value))
    return list(found.values())


def refers_to(fn: Any, thing: Any) -> bool:
    """Whether ``fn``, or a function that it may call, reads ``thing`` from outside."""
    return any(value is thing for reached in reachable([fn]) for _, value in reads(reached))


def _fixed(value: Any) -> bool:
    """Whether a value is a module, a class, or a function of a library: nothing that changes or hides a tensor."""
    return isinstance(value, FIXED) or (callable(value) and _from_library(value))


def _from_library(thing: Any) -> bool:
    module = getattr(thing, "__module__", None) or ""
    known = module.partition(".")[0] in LIBRARIES or module.startswith("pullback.define.")  # keep, above all
    return known and not isinstance(thing, torch.nn.Module)


def python_functions(thing: Any) -> list[types.FunctionType]:
    """The functions written in Python that calling ``thing`` runs, as far as can be known; none for libraries'."""
    thing = getattr(thing, "__func__", thing)
    function = getattr(thing, "__pullback__", None)
    if function is not None:
        return [f for source in function.sources() for f in python_functions(source)]
    return [thing] if isinstance(thing, types.FunctionType) and not _from_library(thing) else []


def refuse_trainable(found: Iterable[Capture], who: str) -> None:
    """Raise if anything captured needs a gradient, which it would silently not get."""
    for capture in found:
        if _trainable(capture.value):
            raise CapturedTensorError(
                who,
                "everything that needs a gradient must be an argument",
                f"{capture}, a {type(capture.value).__name__} that requires one, read from outside",
                f"make {capture.path[-1]} an argument",
            )


def _trainable(value: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return any(p.requires_grad for p in value.parameters())
    return isinstance(value, torch.Tensor) and value.requires_grad


def reader(captured: list[Capture]) -> Callable[[], tuple[Any, ...]]:
    """A function that reads what one function captures exactly where that function reads it."""
    fn = captured[0].fn
    free = fn.__code__.co_freevars
    reads = "".join(f"{path}, " for path in dict.fromkeys(map(str, captured)))
    source = f"def make({', '.join(free)}):\n def read():\n  return ({reads})\n return read"
    make = next(c for c in compile(source, "<pullback>", "exec").co_consts if isinstance(c, types.CodeType))
    code = next(c for c in make.co_consts if isinstance(c, types.CodeType))
    cells = dict(zip(free, fn.__closure__ or (), strict=True))
    return types.FunctionType(code, fn.__globals__, "read", None, tuple(cells[name] for name in code.co_freevars))


def reads(fn: types.FunctionType) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The paths that a function reads from outside, with what is there now."""
    for code in nested_code(fn.__code__):
        instructions = [i for i in dis.get_instructions(code) if i.opname not in ("PUSH_NULL", "CACHE", "NOP")]
        for position, instruction in enumerate(instructions):
            root = _root(fn, instruction)
            if root is not EMPTY:
                yield _follow((str(instruction.argval),), root, instructions[position + 1 :])


def _root(fn: types.FunctionType, instruction: dis.Instruction) -> Any:
    name = instruction.argval
    if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return fn.__globals__.get(name, getattr(builtins, name, EMPTY))
    if instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in fn.__code__.co_freevars:
        cell = (fn.__closure__ or ())[fn.__code__.co_freevars.index(name)]
        return _contents(cell)
    return EMPTY


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return EMPTY


def _follow(path: tuple[str, ...], value: Any, following: list[dis.Instruction]) -> tuple[tuple[str, ...], Any]:
    """Follow ``name.attribute.attribute`` as far as it can be read without running anybody's code."""
    for instruction in following:
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD") or isinstance(value, torch.Tensor):
            break
        inside = getattr(value, "__dict__", {}).get(instruction.argval, EMPTY)
        if inside is EMPTY and isinstance(value, types.ModuleType):
            inside = getattr(value, instruction.argval, EMPTY)
        if inside is EMPTY or isinstance(inside, (classmethod, staticmethod, property)):
            break
        path, value = (*path, instruction.argval), inside
    return path, value
