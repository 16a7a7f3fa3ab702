"""What `pullback.watch` costs a training loop: steps with it beside steps without it, in one run.

``python benchmarks/watch.py`` prints two ratios: while calls are kept for checking, and after that.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import torch

import pullback as pb

STEPS = 40
BUDGET = {"while checking": 3.0, "after": 1.05}


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 + x * (1 - s))


def training() -> Callable[[], None]:
    """A step of a small network whose activations are all autograd.Functions."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(128, 128) for _ in range(4)]
    x, y = torch.randn(64, 128), torch.randn(64, 128)
    optimiser = torch.optim.SGD([p for layer in layers for p in layer.parameters()], lr=1e-3)

    def step() -> None:
        h = x
        for layer in layers:
            h = Swish.apply(layer(h))
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(h, y).backward()
        optimiser.step()

    return step


def timed(step: Callable[[], None], count: int) -> Iterator[float]:
    for _ in range(count):
        started = time.perf_counter()
        step()
        yield time.perf_counter() - started


def ratios() -> dict[str, float]:
    """The median step with, in units of the median step without; the first steps are those that keep calls."""
    step = training()
    plain = list(timed(step, STEPS))
    first: list[float] = []
    later: list[float] = []
    for _ in range(3):
        watching = pb.watch()
        watching.__enter__()
        first += timed(step, 2)
        list(timed(step, 60))
        later += timed(step, STEPS)
        watching.__exit__(None, None, None)
        plain += timed(step, STEPS)
    base = statistics.median(plain)
    return {"while checking": statistics.median(first) / base, "after": statistics.median(later) / base}


def main() -> None:
    torch.set_num_threads(1)
    for name, ratio in ratios().items():
        print(f"{name:15} {ratio:.3f} × the step without (budget {BUDGET[name]})")


if __name__ == "__main__":
    main()
