"""What stands before the way into a Function once the node in C++ is there, and learns which kernels serve what.

A call that it knows never comes to Python. Whatever it does not know, or must not touch, goes the way it always went.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pullback._torch import grad_enabled
from pullback.define.eager import Shape
from pullback.define.function import Function
from pullback.kernels import native, report
from pullback.kernels.recipe import Recipe


class Front:
    """What stands before one way into a Function.

    Args:
        function: The Function.
        shape: What its calls look like.
        held: A list that is empty unless no kernel shall serve.
        outside: Tells what its code finds outside, to be compared on every call; ``None`` if that is nothing.
    """

    def __init__(self, function: Function[..., Any], shape: Shape, held: list[None], outside: Any) -> None:
        self.function, self.shape, self.held, self.outside = function, shape, held, outside
        self.counted = False
        self.choices: dict[tuple[str, ...], Any] = {}
        self.way: Any = None

    @classmethod
    def of(cls, function: Function[..., Any], shape: Shape, held: list[None], outside: Any) -> Front:
        """The one for calls of this shape."""
        known = (front for front in function.fronts if front.shape is shape)
        found = next(known, None)
        if found is None:
            found = cls(function, shape, held, outside)
            function.fronts.append(found)
        return found

    def take(self, choice: Any) -> None:
        """Ask ``choice`` about the arguments that it serves."""
        self.choices[choice.needed] = choice
        self.counted = choice.how == "auto"
        native.look()
        native.when_loaded(self)

    def install(self) -> None:
        """Stand before the way in from now on, wherever it is."""
        enter = next((way for shape, way in self.function.ways_in if shape is self.shape), None)
        if enter is None or self.way is not None:
            return
        function, places = self.function, [self.function.params.index(n) for n in self.shape.tensors]
        _, nondiff = function.opted_out()
        frozen = sum(1 << i for i, n in enumerate(self.shape.tensors) if n in nondiff)
        self.enter, count = enter, len(function.params)
        make = native.LOADED[0].way
        self.way = make(enter, self.missing, self.held, self.outside, count, places, frozen, self.counted)
        for types, way in list(function.entries.items()):
            if way is enter:
                function.entries[types] = self.way

    def missing(self, *values: Any) -> Any:
        """A call that is not known: learnt if it can be, and served by Python."""
        self._learn(values)
        return self.enter(*values)

    def _learn(self, values: Sequence[Any]) -> None:
        given = dict(zip(self.function.params, values, strict=True))
        _, nondiff = self.function.opted_out()
        asked = [n for n in self.shape.tensors if given[n].requires_grad and n not in nondiff] if grad_enabled() else []
        choice = self.choices.get(tuple(asked))
        variant = choice.variant(values) if choice is not None else None
        if variant is None or variant.state not in (report.READY, report.REFUSED):
            return
        tensors = [given[n] for n in self.shape.tensors]
        found = self._found(variant, values, tensors) if variant.state == report.READY else None
        recipe, layout = found or (None, None)
        self.way.learn(tuple(values), recipe, layout, tuple(tuple(t.shape) for t in tensors))

    def _found(self, variant: Any, values: Sequence[Any], tensors: Sequence[torch.Tensor]) -> Any:
        """What the node knows about the kernels of a variant, and how they visit these tensors."""
        if variant.recipe is None:
            variant.recipe = Recipe(self.function, self.shape, variant, values)
        layout = variant.recipe.forward(tensors)
        return (variant.recipe.made, layout) if layout is not None else None
