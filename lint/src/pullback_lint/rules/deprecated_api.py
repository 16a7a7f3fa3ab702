"""Find removed and deprecated names of autograd."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB134"


def check_function(function: Function) -> Iterator[Problem]:
    for flow in (*function.fillers, *function.readers):
        for node in every(flow.node, ast.Attribute):
            if node.attr == "saved_variables" and flow.is_ctx(node.value):
                yield Problem(node, "`saved_variables` is deprecated", fix="use `saved_tensors`")
        for decorator in getattr(flow.node, "decorator_list", []):
            called_name = decorator.func if isinstance(decorator, ast.Call) else decorator
            dotted = function.module.imports.dotted(called_name)
            if dotted.startswith("torch.cuda.amp."):
                name = dotted.rpartition(".")[2]
                yield Problem(decorator, f"`{dotted}` is deprecated", fix=f'use `torch.amp.{name}(device_type="cuda")`')
