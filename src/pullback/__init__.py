"""Differentiable functions that cannot be wrong: rules by argument, checked, the same in every stack."""

import importlib
import sys
import types
import typing

if typing.TYPE_CHECKING:
    from pullback import functional, nn
    from pullback.check import assert_correct, check, gradcheck
    from pullback.check.report import Report
    from pullback.check.watch import watch
    from pullback.define.classic import from_autograd
    from pullback.define.decorate import function
    from pullback.define.function import Function
    from pullback.define.keep import keep
    from pullback.define.surrogates import straight_through, surrogate
    from pullback.errors import PullbackError
    from pullback.functional.listing import catalogue
    from pullback.graph.kept import assert_kept
    from pullback.kernels.fuse import fuse

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


_HOMES = {
    "pullback.check": ("Report", "assert_correct", "check", "gradcheck", "watch"),
    "pullback.define.classic": ("from_autograd",),
    "pullback.define.decorate": ("function",),
    "pullback.define.function": ("Function",),
    "pullback.define.keep": ("keep",),
    "pullback.define.surrogates": ("straight_through", "surrogate"),
    "pullback.errors": ("PullbackError",),
    "pullback.graph.kept": ("assert_kept",),
    "pullback.kernels.fuse": ("fuse",),
}


class _Package(types.ModuleType):
    """A package in which ``check`` stays the function, also when Python binds the subpackage of that name."""

    def __setattr__(self, name: str, value: typing.Any) -> None:
        function = name == "check" and isinstance(value, types.ModuleType)
        super().__setattr__(name, value.check if function else value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> typing.Any:
    """The names, all together once one is asked for: PyTorch takes a while, and commands may not need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {home: importlib.import_module(home) for home in _HOMES}
    globals().update({n: getattr(modules[home], n) for home, names in _HOMES.items() for n in names})
    if name == "catalogue":
        return importlib.import_module("pullback.functional.listing").catalogue
    if name in ("functional", "nn"):
        return importlib.import_module(f"pullback.{name}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
