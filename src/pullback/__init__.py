"""Differentiable functions that cannot be wrong: rules by argument, checked, the same in every stack."""

from pullback.check import Report, assert_correct, check, gradcheck, watch
from pullback.define.classic import from_autograd
from pullback.define.decorate import function
from pullback.define.function import Function
from pullback.define.keep import keep
from pullback.define.surrogates import straight_through, surrogate
from pullback.errors import PullbackError
from pullback.graph.kept import assert_kept
from pullback.kernels.fuse import fuse

__version__ = "0.1.0"

__all__ = [
    "Function",
    "PullbackError",
    "Report",
    "assert_correct",
    "assert_kept",
    "check",
    "from_autograd",
    "function",
    "fuse",
    "gradcheck",
    "keep",
    "straight_through",
    "surrogate",
    "watch",
]
