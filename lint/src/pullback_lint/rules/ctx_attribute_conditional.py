"""Find attributes of the context that are set on some paths of forward only and read on all of backward's."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.queries import covers, text
from pullback_lint.problem import Problem

CODE = "PB126"


def check_function(function: Function) -> Iterator[Problem]:
    if function.ctx_escapes or not function.complete:
        return
    for name, items in function.sets.items():
        if covers([item.guards for item in items]) or name in function.attributes or _about_gradients(items):
            continue
        for flow in function.readers:
            for read in flow.reads.values():
                if read.name == name and not read.guards and not _asked(function, name):
                    yield Problem(
                        read.node,
                        f"`{flow.ctx}.{name}` is set only if `{text(items[0].guards[0][0])}`",
                        fix="set it on every path of `forward`",
                    )
                    break


def _about_gradients(items: list[AttributeSet]) -> bool:
    """Whether the condition is that a gradient is needed at all."""
    return any("grad" in text(test) for item in items for test, _ in item.guards)


def _asked(function: Function, name: str) -> bool:
    """Whether some method asks for it or sets it first."""
    asked = any(f'"{name}"' in text(flow.node) or f"'{name}'" in text(flow.node) for flow in function.readers)
    return asked or any(name == item.name for flow in function.readers for item in flow.sets.values())
