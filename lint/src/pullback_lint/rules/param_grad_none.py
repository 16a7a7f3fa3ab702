"""Find learnable parameters, by their name, that always get None."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB208"


NAMES = re.compile(
    r"^(weights?|w|bias|b|gain|gamma|beta|alpha|thr|threshold|theta|slope|scale|temperature|sharpness|"
    r"shift|offset|steepness|kernel|filters?|codebook|step_size|tau|leak)$"
)


def check_function(function: Function) -> Iterator[Problem]:
    if not function.gradients or function.is_surrogate:
        return
    for index, parameter in enumerate(function.inputs):
        elements = function.gradients_of(index)
        if not elements or not all(element.is_none for element in elements) or not NAMES.match(parameter.name):
            continue
        if function.is_plain(index) or not (_is_bias(function, parameter.name) or _matters(function, parameter.name)):
            continue
        yield Problem(
            elements[0].node,
            f"`{parameter.name}` never gets a gradient, although the output depends on it",
            argument=parameter.name,
            fix="return its gradient, or ignore this if it is not to be trained",
            severity="note",
        )


def _matters(function: Function, name: str) -> bool:
    if name not in function.tensor_inputs:
        return False
    saved = any(f"in.{name}" in value.alias for save in function.saves for value in save.values or ())
    return saved and f"in.{name}" in function.outputs.smooth


def _is_bias(function: Function, name: str) -> bool:
    """Whether it is added to an output whose other parts are trained: nothing of it needs to be saved."""
    return (
        name in {"bias", "b", "offset", "shift"} and f"in.{name}" in function.outputs.smooth and bool(function.trained)
    )
