"""Find the backward of a row-wise function that combines nothing within the row."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, mixes_cotangent, results
from pullback_lint.problem import Problem

CODE = "PB218"


_ROW_WISE = {"softmax", "log_softmax", "softmin", "cumsum", "cumprod", "normalize", "logsumexp_", "layer_norm"}


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_surrogate:
        return
    for shown in results(forward):
        if called(shown) not in _ROW_WISE:
            continue
        for element in function.gradients_of(0):
            known = "opaque" not in element.value.tags and element.value.rooted("g.")
            if not known or mixes_cotangent(backward.flow, element.node):
                continue
            if element.value.rooted("saved.") or called(shown) == "cumsum":
                yield Problem(
                    element.node,
                    f"`{called(shown)}` mixes the elements of a row, this gradient does not",
                    argument=function.first,
                    fix="add the sum over the dimension",
                )
