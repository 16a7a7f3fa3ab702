"""The signature of a forward: its arguments as one tuple of values, and as the text of generated code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KIND = inspect.Parameter


@dataclass(frozen=True)
class Arguments:
    """The arguments of a forward, in order; ``*args`` and ``**kwargs`` count as one argument each (tuple, dict)."""

    signature: inspect.Signature

    @property
    def names(self) -> tuple[str, ...]:
        """The parameter names, in order."""
        return tuple(self.signature.parameters)

    def call(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments that pass ``values`` by name."""
        args: list[Any] = []
        keywords: dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is KIND.VAR_POSITIONAL:
                args.extend(values[name])
            elif parameter.kind is KIND.VAR_KEYWORD:
                keywords.update(values[name])
            elif parameter.kind is KIND.KEYWORD_ONLY:
                keywords[name] = values[name]
            else:
                args.append(values[name])
        return tuple(args), keywords

    def header(self, default: str) -> str:
        """The parameter list of a function with this signature; defaults are read from ``<default><name>``."""
        parts: list[str] = []
        parameters = list(self.signature.parameters.values())
        for position, p in enumerate(parameters):
            before = parameters[position - 1] if position else None
            if before and before.kind is KIND.POSITIONAL_ONLY and p.kind is not KIND.POSITIONAL_ONLY:
                parts.append("/")
            if p.kind is KIND.KEYWORD_ONLY and (before is None or before.kind in PLAIN):
                parts.append("*")
            parts.append(STAR.get(p.kind, "") + p.name + ("" if p.default is p.empty else f"={default}{p.name}"))
        if parameters and parameters[-1].kind is KIND.POSITIONAL_ONLY:
            parts.append("/")
        return ", ".join(parts)

    def defaults(self, prefix: str) -> dict[str, Any]:
        """The defaults under the names that `header` reads them from."""
        return {prefix + p.name: p.default for p in self.signature.parameters.values() if p.default is not p.empty}


PLAIN = (KIND.POSITIONAL_ONLY, KIND.POSITIONAL_OR_KEYWORD)
STAR: dict[Any, str] = {KIND.VAR_POSITIONAL: "*", KIND.VAR_KEYWORD: "**"}


def with_parameter(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``fn``; around a builtin (`torch.sigmoid`), which does not tell its parameters, a function of one with ``name``.

    >>> import torch
    >>> inspect.signature(with_parameter(torch.sigmoid, "x"))
    <Signature (x)>
    """
    try:
        inspect.signature(fn)
    except ValueError:
        builtin = fn

        def around(*args: Any, **keywords: Any) -> Any:
            return builtin(*args, *keywords.values())

        around.__name__ = around.__qualname__ = getattr(fn, "__name__", type(fn).__name__)
        around.__signature__ = inspect.Signature([KIND(name, KIND.POSITIONAL_OR_KEYWORD)])  # type: ignore[attr-defined]
        return around
    return fn
