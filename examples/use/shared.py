"""What the examples of this folder share: data that comes with Python, a progress bar, a picture, what is kept."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#888888"


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """scikit-learn's images of digits, 8×8, between 0 and 1, with what they show: for training and for the test."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    parts = train_test_split(x / 16, y, test_size=0.25, random_state=0, stratify=y)
    train_x, test_x, train_y, test_y = (torch.as_tensor(part) for part in parts)
    return train_x.float(), train_y, test_x.float(), test_y


def steps(count: int, what: str) -> Iterator[int]:
    """0 … count - 1, with a progress bar in a terminal."""
    from rich.progress import track

    yield from track(range(count), what, transient=True, disable=not sys.stdout.isatty())


def kept(call: Callable[[], torch.Tensor]) -> float:
    """How many megabytes a call keeps for backward, each tensor once, what exists anyway (parameters) aside."""
    sizes: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_leaf:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = call()
    del loss
    return sum(sizes.values()) / 2**20


def train(
    model: nn.Module, loss_of: Callable[[int], torch.Tensor], count: int, what: str, lr: float = 2e-3
) -> tuple[list[float], float]:
    """Losses and seconds per step (the median) of training with Adam."""
    losses, seconds = side_by_side({what: model}, lambda _, step: loss_of(step), count, lr)
    return losses[what], seconds[what]


def side_by_side(
    models: dict[str, nn.Module], loss_of: Callable[[Any, int], torch.Tensor], count: int, lr: float = 2e-3
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Losses and seconds per step (the median) of several models, which take their steps in turn.

    So a machine that is slow for a while is slow for all of them.
    """
    optimizers = {name: torch.optim.Adam(model.parameters(), lr=lr) for name, model in models.items()}
    losses: dict[str, list[float]] = {name: [] for name in models}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for step in steps(count, ", ".join(models)):
        for name, model in models.items():
            start = time.perf_counter()
            loss = loss_of(model, step)
            optimizers[name].zero_grad()
            loss.backward()
            optimizers[name].step()
            losses[name].append(loss.item())
            seconds[name].append(time.perf_counter() - start)
    return losses, {name: statistics.median(times) for name, times in seconds.items()}


def accuracy(model: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> float:
    """The share of inputs whose largest output is the right one."""
    with torch.no_grad():
        return (model(x).argmax(1) == y).double().mean().item()


def axes(rows: int, columns: int) -> tuple[Any, Any]:
    """A figure with its axes in one row after the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * columns, 3.6 * rows), dpi=110, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).ravel()


def draw_runs(axis: Any, runs: dict[str, list[float]], title: str) -> None:
    """Several loss curves, which may lie on one another."""
    for (name, losses), color, style in zip(runs.items(), (BLUE, ORANGE, GREEN), ("-", "--", ":")):
        axis.plot(losses, color=color, linestyle=style, linewidth=1.5, label=name)
    axis.set(title=title, xlabel="step", ylabel="loss")
    axis.legend()
