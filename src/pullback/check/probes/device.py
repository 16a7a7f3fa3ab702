"""Nothing is tied to one device: the target also runs on the meta device, which holds no data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, Outcome, cotangents, pull
from pullback.check.report import Finding

NEEDS = "gradient"
MIXED = re.compile(r"same device|expected device|device meta.*cpu|cpu.*meta|is on cpu|found at least two devices")


def probe(case: Case) -> Iterator[Finding]:
    """Run forward and backward on the meta device."""
    outcome = _on_meta(case.given)
    holds = any(isinstance(leaf, torch.nn.Module) for leaf in case.given.leaves)
    if outcome is None or holds or case.target.kind == "callable":  # a module or closure holds tensors of its own
        return
    run = _run(case, outcome)
    message = str(run.error)
    if run.error is not None and MIXED.search(message) and "numpy" not in message:
        yield Finding(
            "hardcoded-device", f"{run.stage} mixes devices: {message.splitlines()[0][:200]}",
            cause="a tensor is made on the CPU, or on a device named in the code, whatever device the inputs are on",
            fix="make it with zeros_like, new_zeros or device=x.device", level="warning",
        )  # fmt: skip


def _on_meta(arguments: Arguments) -> Arguments | None:
    try:
        return arguments.map(lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf)
    except Exception:
        return None


def _run(case: Case, arguments: Arguments) -> Outcome:
    outcome = Outcome(stage="forward")
    try:
        with _Fetched():  # type: ignore[no-untyped-call]
            leaves, passed = arguments.fresh()
            outcome.outputs = tree.tensors(case.target.apply(*passed))
            outcome.stage = "backward"
            incoming = [None if c is None else c.to("meta") for c in _shapes(outcome.outputs)]
            pull(outcome.outputs, leaves, incoming)
    except Exception as error:  # a result of the experiment
        outcome.error = error
    return outcome


class _Fetched(TorchDispatchMode):
    """Lets ``.cpu()`` bring something back from the meta device, so that what is done with it there can be seen."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if func.__name__.startswith("_to_copy") and args[0].is_meta and device is not None and device.type == "cpu":
            return torch.zeros_like(args[0], device="cpu", dtype=kwargs.get("dtype") or args[0].dtype)
        return func(*args, **kwargs)


def _shapes(outputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
    return cotangents([torch.empty(out.shape, dtype=out.dtype) for out in outputs])
