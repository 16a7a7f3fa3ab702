"""Differentiable functions that cannot be wrong: rules by argument, checked, the same in every stack."""

import importlib
import typing

from pullback.check import Report, assert_correct, check, gradcheck, watch
from pullback.define.classic import from_autograd
from pullback.define.decorate import function
from pullback.define.function import Function
from pullback.define.keep import keep
from pullback.define.surrogates import straight_through, surrogate
from pullback.errors import PullbackError
from pullback.graph.kept import assert_kept
from pullback.kernels.fuse import fuse

if typing.TYPE_CHECKING:
    from pullback import functional, nn
    from pullback.functional.listing import catalogue

__version__ = "0.1.0"

__all__ = [
    "Function",
    "PullbackError",
    "Report",
    "assert_correct",
    "assert_kept",
    "catalogue",
    "check",
    "from_autograd",
    "function",
    "functional",
    "fuse",
    "gradcheck",
    "keep",
    "nn",
    "straight_through",
    "surrogate",
    "watch",
]


def __getattr__(name: str) -> typing.Any:
    """The catalogue, once it is asked for: making its Functions takes a while."""
    if name == "catalogue":
        return importlib.import_module("pullback.functional.listing").catalogue
    if name in ("functional", "nn"):
        return importlib.import_module(f"pullback.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
