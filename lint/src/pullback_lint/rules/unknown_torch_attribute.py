"""Find misspelt torch functions: names that do not exist and come close to one that does."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from pullback_lint.model.function import Function
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB121"
_LIST = Path(__file__).parents[1] / "data" / "torch_names.txt"


def check_function(function: Function) -> Iterator[Problem]:
    for flow in (*function.fillers, *function.readers):
        for node in every(flow.node, ast.Attribute):
            owner = function.module.imports.dotted(node.value)
            if owner.removeprefix("torch.") in _PARTS:
                near = _misspelt(node.attr, f"{owner.removeprefix('torch.')}.")
                if near:
                    yield Problem(node, f"`{owner}.{node.attr}` does not exist", fix=f"use `{owner}.{near}`")
            elif owner == "torch":
                near = _misspelt(node.attr)
                if near:
                    yield Problem(node, f"`torch.{node.attr}` does not exist", fix=f"use `torch.{near}`")
                elif _is_invented(function, node):
                    yield Problem(
                        node,
                        f"`torch.{node.attr}` does not exist in any version up to 2.13",
                        fix="write it with functions that exist",
                        severity="warning",
                    )


def _is_invented(function: Function, node: ast.Attribute) -> bool:
    """Whether a name that torch does not have is called as a function, and nothing in the file provides it."""
    if node.attr in names():
        return False
    call = function.module.parents.get(node)
    provided = f"torch.{node.attr} =" in function.module.source or "hasattr(torch" in function.module.source
    return isinstance(call, ast.Call) and call.func is node and not provided


_PARTS = {"nn.functional", "linalg", "special", "fft"}
"""Parts of torch whose names are known as well."""


@functools.cache
def _misspelt(name: str, part: str = "") -> str:
    known = _known(part)
    if name in known or name.startswith("_"):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.8)
    return near[0] if near else ""


@functools.cache
def _known(part: str) -> frozenset[str]:
    return frozenset(item.removeprefix(part) for item in names() if item.startswith(part))


@functools.cache
def names() -> frozenset[str]:
    """The public names of torch, of present and of older versions."""
    return frozenset(_LIST.read_text("utf-8").split())
