"""One record per entry of the catalogue: everything that is known about it, in one place.

A record is made by decorating the Function: ``@entry(...)`` above ``@function``. The module, the listing, the page of
the documents, the plots and the tests all come from the records.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from pullback._tolerances import CERTIFIED

F = TypeVar("F")
Formula = str | Callable[..., Any]
RECORDS: dict[str, Record] = {}


@dataclass(frozen=True)
class Parameter:
    """An argument that a module learns.

    Attributes:
        initial: Its first value; a tuple for a vector of coefficients.
        above: The bound that a constraint keeps it above, by parametrisation; ``None`` for no constraint.
        channels: Whether it may have one value per channel.
    """

    initial: float | tuple[float, ...] = 1.0
    above: float | None = None
    channels: bool = True


@dataclass(frozen=True, eq=False)
class Record:
    """What is known about one entry.

    Attributes:
        name: Of the function.
        family: The list it stands in.
        function: The Function.
        formula: The value, as a formula of `pullback.functional.reference`, or a float64 function of the arguments.
        source: Where it comes from.
        parameters: The arguments that a module learns.
        like: The function whose derivative is the gradient, where that is not the value: one for all arguments, or
            one each.
        gradient: The gradients as formulas in ``g``, where they are the derivative of nothing.
        slope: The derivative in a form that is accurate in float64. Entries that have one are certified.
        module: The name of the class in `pullback.nn`; empty where there is no state.
        torch: The dotted name of the same function in PyTorch.
        kinks: Documented points: an input, and the value and gradient there.
        domain: Where the function is defined.
        channel_dim: The dimension that the values of a parameter per channel belong to.
        random: Whether two calls may give different gradients.
        unfused: Why kernels do not serve it; empty if they do.
    """

    name: str
    family: str
    function: Any
    formula: Formula
    source: str = ""
    text: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    like: Formula | Mapping[str, str] | None = None
    gradient: Mapping[str, str] = field(default_factory=dict)
    slope: str = ""
    module: str = ""
    torch: str = ""
    kinks: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    domain: tuple[float, float] = (-4.0, 4.0)
    channel_dim: int = 1
    random: bool = False
    unfused: str = ""

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def shown(self) -> str:
        """The formula as text."""
        return self.text or str(self.formula)

    @property
    def headline(self) -> str:
        """Value and gradient in short: the formula, and what the gradient is where it is not the derivative."""
        if self.gradient:
            return f"{self.shown}; {each(self.gradient)}"
        return self.shown if self.like is None else f"{self.shown}, like {each(self.like)}"

    @property
    def tensors(self) -> tuple[str, ...]:
        """The arguments that are data: those without default that no module learns."""
        arguments = inspect.signature(self.function).parameters.values()
        return tuple(a.name for a in arguments if a.default is a.empty and a.name not in self.parameters)

    @property
    def options(self) -> dict[str, Any]:
        """The hyperparameters with their defaults."""
        arguments = inspect.signature(self.function).parameters.values()
        return {a.name: a.default for a in arguments if a.default is not a.empty and a.name not in self.parameters}

    @property
    def certified(self) -> bool:
        """Whether its accuracy is proved over all inputs of 16 bits."""
        return bool(self.slope)

    @property
    def ulp(self) -> tuple[float, float] | None:
        """The bounds of the error of value and gradient, in 16 bits and in float32; ``None`` if not certified."""
        return (CERTIFIED[torch.bfloat16], CERTIFIED[torch.float32]) if self.certified else None

    @property
    def bits(self) -> float:
        """What waits for backward, in bits for each element of an input of float32; all arguments need a gradient."""
        from pullback.functional.sample import kept_bits  # which makes its arguments from records

        return kept_bits(self)


def entry(family: str, formula: Formula, **known: Any) -> Callable[[F], F]:
    """A decorator that enters a Function into the catalogue, and completes its docstring from the record."""

    def enter(function: F) -> F:
        record = Record(function.__name__, family, function, formula, **known)  # type: ignore[attr-defined]
        RECORDS[record.name] = record
        function.__doc__ = documented(record)
        return function

    return enter


def documented(record: Record) -> str:
    """The docstring of the author, with the facts of the record before the example."""
    text = inspect.getdoc(record.function) or ""
    before, mark, example = text.partition("Example:")
    return f"{before.rstrip()}\n\n{facts(record)}\n\n{mark}{example}".rstrip() + "\n"


def facts(record: Record) -> str:
    """Formula, gradient, kinks and source, one line each."""
    lines = [f"Formula: ``{record.shown}``"]
    if record.like is not None:
        lines.append(f"Gradient: that of ``{each(record.like)}``")
    if record.gradient:
        lines.append(f"Gradient: ``{each(record.gradient)}``")
    lines += [f"At {at:g}: value {value:g}, gradient {slope:g}" for at, (value, slope) in record.kinks.items()]
    lines += [f"Not fused: {record.unfused}"] if record.unfused else []
    lines += [f"Source: {record.source}"] if record.source else []
    return "\n\n".join(lines)


def each(formulas: Any) -> str:
    """Formulas by argument as text."""
    if isinstance(formulas, Mapping):
        return ", ".join(f"{arg}: {formula}" for arg, formula in formulas.items())
    return inspect.getdoc(formulas) or "" if callable(formulas) else str(formulas)
