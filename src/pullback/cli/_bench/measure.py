"""Times and bytes of functions that take turns in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Call = Callable[[], Any]


def training(fn: Callable[..., Any], inputs: list[Any]) -> Call:
    """Forward and backward of a function."""
    wanted = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    g = torch.ones_like(fn(*inputs))
    return lambda: torch.autograd.grad(fn(*inputs), wanted, g, allow_unused=True)


def first(fn: Callable[..., Any], inputs: list[Any]) -> float:
    """Seconds that the first call takes, backward included."""
    start = time.perf_counter()
    out = fn(*inputs)
    wanted = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    torch.autograd.grad(out.sum(), wanted, allow_unused=True)
    return time.perf_counter() - start


def medians(calls: dict[str, Call], seconds: float) -> dict[str, float]:
    """Seconds for one call of each: medians over turns, for about ``seconds`` in all."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 3:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def limit(inputs: list[Any]) -> Call:
    """The traffic of an ideal forward and backward in memory that is there: a copy, and a sum for each large argument.

    So much is read and written when each of them and the cotangent are read, and the result and each gradient written.
    """
    tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
    most = max(t.numel() for t in tensors)
    large = [torch.ones_like(t).reshape(-1) for t in tensors if t.numel() == most]  # (16,) and (16, 1), say
    g, results = torch.ones_like(large[0]), [torch.ones_like(t) for t in large]

    def move() -> None:
        results[0].copy_(large[0])
        for x, result in zip(large, results, strict=True):
            torch.add(x, g, out=result)

    return move


def kept(fn: Callable[..., Any], inputs: list[Any]) -> int:
    """The bytes kept from forward to backward; what several operations keep counts once."""
    seen: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        seen[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    out = fn(*inputs)
    nodes, done = [out.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in done:
            continue
        done.add(node)
        for name in dir(node):
            if name == "saved_tensors" or name.startswith("_saved_"):
                _note(getattr(node, name), note)
        nodes.extend(n for n, _ in node.next_functions)
    return sum(seen.values())


def _note(value: Any, note: Callable[[torch.Tensor], Any]) -> None:
    for tensor in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(tensor, torch.Tensor):
            note(tensor)


def peak(call: Call) -> int | None:
    """The most memory that the process takes during a call, above what it had, in whole pages; Linux only."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # begin anew to note the most
        before = _memory("VmRSS")
        call()
        return max(_memory("VmHWM") - before, 0)
    except OSError:
        return None


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
