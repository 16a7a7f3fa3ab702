"""The author's backward is the one that runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import torch

from pullback.check.case import Case
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """See whether backward was called, and whether a module carries one that never can be."""
    target, base = case.target, case.base
    tracked = any(out.requires_grad for out in base.outputs)
    if target.function is not None and target.call is not None and not base.raw and tracked:
        yield Finding(
            "bypassed-backward", f"the backward of {target.name} never runs",
            cause="forward is called by itself, or the result does not go through apply",
            fix=f"call {target.name}.apply(…)",
        )  # fmt: skip
    for module in _modules(case):
        name = type(module).__name__
        yield Finding(
            "bypassed-backward", f"{name} has a method backward that PyTorch never calls",
            cause="nn.Module has no backward protocol: the gradient is that of forward",
            fix="put forward and backward in a torch.autograd.Function and call its apply in the module",
        )  # fmt: skip


def _modules(case: Case) -> list[torch.nn.Module]:
    met: dict[type, torch.nn.Module] = {}
    if case.target.function is None and case.target.kind in ("module", "callable"):

        def hook(module: torch.nn.Module, *_: object) -> None:
            if _carries_backward(type(module)):
                met.setdefault(type(module), module)

        handle = torch.nn.modules.module.register_module_forward_pre_hook(hook)
        try:
            case.run(backward=False)
        finally:
            handle.remove()
    if isinstance(case.target.subject, torch.nn.Module) and _carries_backward(type(case.target.subject)):
        met.setdefault(type(case.target.subject), case.target.subject)
    return list(met.values())


def _carries_backward(cls: type) -> bool:
    """Whether a module has a method that looks like a gradient: ``backward(self, grad_output)``."""
    method = inspect.getattr_static(cls, "backward", None)
    return (
        inspect.isfunction(method) and "loss" not in (names := inspect.signature(method).parameters) and len(names) >= 2
    )
