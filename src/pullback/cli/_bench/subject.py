"""What is measured: a formula or a function of a file, its inputs, and everything that computes the same."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import pullback as pb
from pullback._tolerances import value_tolerance
from pullback.errors import UsageError

_KNOWN = {"torch": torch, "F": torch.nn.functional, "math": math}
_BUILT_IN = (
    "relu", "relu6", "silu", "mish", "gelu", "elu", "selu", "softplus", "softsign", "hardswish", "hardsigmoid",
    "logsigmoid", "tanhshrink", "leaky_relu", "hardtanh", "tanh", "sigmoid",
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A function, and which of its arguments grow with the size; others have one element."""

    fn: Callable[..., Any]
    data: tuple[str, ...]

    @property
    def arguments(self) -> list[inspect.Parameter]:
        """Its parameters."""
        return list(inspect.signature(self.fn).parameters.values())

    def inputs(self, size: int, dtype: torch.dtype) -> list[Any]:
        """Arguments of a size: the first, and those named as data, are tensors of it; numbers keep their default."""
        generator = torch.Generator().manual_seed(0)
        return [self._input(p, size, dtype, generator) for p in self.arguments]

    def _input(self, p: inspect.Parameter, size: int, dtype: torch.dtype, generator: torch.Generator) -> Any:
        if p.default is not p.empty:
            return p.default
        large = p.name in self.data or p.name == self.arguments[0].name
        made = torch.rand(size if large else (), generator=generator).to(dtype)
        return (made + 0.5).requires_grad_()


def subject(text: str, data: tuple[str, ...]) -> Subject:
    """The function that a formula, or FILE:FUNCTION, stands for.

    Raises:
        UsageError: If there is no such file or function, or the formula is no Python.
    """
    path, _, name = text.rpartition(":")
    if path.endswith(".py"):
        return Subject(named(path, name), data)
    return Subject(_formula(text), data)


def named(path: str, name: str) -> Any:
    """Something of a file, which is run for it."""
    if not Path(path).is_file():
        raise UsageError(path, "a Python file", "there is none", "check the path before the colon")
    found = runpy.run_path(path).get(name)
    if found is None:
        raise UsageError(f"{path}:{name}", "the name of a function in this file", repr(name), "check the name")
    return found


def _formula(text: str) -> Callable[..., Any]:
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise UsageError(text, "a formula in Python", str(error), "write it as you would in PyTorch") from None
    if not body or not isinstance(body[-1], ast.Expr):
        raise UsageError(text, "a formula that ends with an expression", "a statement", "end with the result")
    stored = {n.id for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    loaded = [n.id for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    free = [n for n in dict.fromkeys(loaded) if n not in stored and n not in _KNOWN and not hasattr(builtins, n)]
    called = [
        n.func.id for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    for name in {*called} & {*free}:
        raise UsageError(text, "functions by their full names", f"{name}(…)", f"write torch.{name}(…), say")
    free = sorted(free, key=lambda n: (n != "x", free.index(n)))
    lines = [*map(ast.unparse, body[:-1]), f"return {ast.unparse(body[-1])}"]
    space: dict[str, Any] = dict(_KNOWN)
    exec(f"def formula({', '.join(free)}):\n " + "\n ".join(lines), space)
    return space["formula"]  # type: ignore[no-any-return]


def rivals(what: Subject, classic: Any, compiled: bool) -> dict[str, Callable[..., Any]]:
    """Everything that computes the same, by name; ``pullback`` last."""
    plain = inspect.unwrap(what.fn)
    found: dict[str, Callable[..., Any]] = {"eager": plain}
    if classic is not None:
        found["autograd.Function"] = classic.apply
    name = built_in(plain, what)
    if name:
        found[name] = getattr(torch.nn.functional, name)
    if compiled:
        found["torch.compile"] = torch.compile(plain, dynamic=False)
    function = getattr(what.fn, "__pullback__", None)
    found["pullback"] = what.fn if function is not None else pb.function(fuse=True)(plain)
    return found


def built_in(plain: Callable[..., Any], what: Subject) -> str:
    """The name of the function of torch.nn.functional that computes the same; empty if there is none."""
    if len(what.arguments) != 1:
        return ""
    x = torch.linspace(-9, 9, 4001, dtype=torch.float64)
    expected = plain(x)
    tolerance = value_tolerance(torch.float32)
    for name in _BUILT_IN:
        if torch.allclose(getattr(torch.nn.functional, name)(x), expected, *tolerance, equal_nan=True):
            return name
    return ""
