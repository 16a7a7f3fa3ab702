"""What `describe` says about the kernels of a Function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pullback.define.function import Function
from pullback.graph.closed import open_because

if TYPE_CHECKING:
    from pullback.kernels.way import Variant


def path(function: Function[..., Any], needed: tuple[str, ...]) -> tuple[str, str]:
    """What serves plain calls on the CPU in which ``needed`` need a gradient, and why."""
    from pullback.kernels.way import READY, mode

    if mode(function) == "off":
        return "eager", "kernels are switched off"
    reason = open_because(function)
    if reason:
        return "eager", reason
    kinds = function.kernels.get(needed, {}).values()
    ready = [v for v in kinds if v.state == READY]
    if ready:
        return "kernel", f"compiled for {len(ready)} kind{'s' if len(ready) > 1 else ''} of calls"
    return "eager", next((v.reason for v in kinds), "it has not been called often enough yet")


def lines(function: Function[..., Any], needed: tuple[str, ...]) -> Iterator[str]:
    """The path, and for each kernel the bytes that it moves for each element and its C."""
    where, reason = path(function, needed)
    yield f"plain calls on the CPU: {where} ({reason})"
    for variant in function.kernels.get(needed, {}).values():
        for name, kernel in zip(("forward", "backward"), variant.kernels, strict=False):
            yield f"  {name}: {moved(kernel.program)} bytes moved for each element"


def moved(program: Any) -> int:
    """The bytes that one element takes to read and to write: what no kernel can be faster than."""
    from pullback.kernels.program import ELEMENT

    read = sum(o.dtype.itemsize for o in program.operands if not o.scalar)
    return int(read + sum(o.dtype.itemsize for o in program.outputs if o is not None and o.value.place == ELEMENT))


def source(variant: Variant) -> list[str]:
    """The C of a variant's kernels, without what all kernels begin with."""
    from pullback.kernels.emit import header

    return [kernel.source.text.removeprefix(header()) for kernel in variant.kernels]
