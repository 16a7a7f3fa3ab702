"""Find saved tensors that are unpacked under each other's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB124"


def check_function(function: Function) -> Iterator[Problem]:
    if len(function.saves) != 1:
        return
    saved = [argument.id for argument in function.saves[0].arguments if isinstance(argument, ast.Name)]
    if len(saved) != len(function.saves[0].arguments):
        return
    for flow in function.readers:
        for unpack in flow.unpacks:
            names = [target.id for target in unpack.targets if isinstance(target, ast.Name)]
            if isinstance(unpack.node.value, ast.Attribute) and names != saved and sorted(names) == sorted(saved):
                yield Problem(
                    unpack.node,
                    f"saved as `{', '.join(saved)}`, but unpacked as `{', '.join(names)}`",
                    fix="use the order of `save_for_backward`",
                )
