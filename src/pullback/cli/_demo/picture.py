"""The demo's picture: both activations, their gradients, the paths of their parameters, and the losses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pullback.cli._demo.functions import learnable_clamp, quantize
from pullback.cli._demo.training import History

# colours that colour-blind people tell apart (Okabe and Ito); each line also has a dash pattern of its own
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#888888"
RANGE = 1.6


def save(path: Path, ours: History, relu: History) -> None:
    """Draw the picture and write it to ``path``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.5, 7.6), dpi=110, layout="constrained")
    (clamp, clamp_gradients, parameters), (rounding, rounding_gradients, losses) = figure.subplots(2, 3)
    starts, ends = ({name: path[i] for name, path in ours.paths.items()} for i in (0, -1))
    thresholds, step = ("low", "high"), ("step",)
    _functions(clamp, "Learnable clamp", _clamp, _of(thresholds, starts), _of(thresholds, ends))
    _functions(rounding, "Learned-step quantizer", quantize, _of(step, starts), _of(step, ends))
    _gradients(clamp_gradients, "Clamp: gradients, after training", _clamp, _of(thresholds, ends))
    _gradients(rounding_gradients, "Quantizer: gradients, after training", quantize, _of(step, ends))
    _paths(parameters, ours.paths)
    _losses(losses, ours, relu)
    figure.savefig(path)


def _of(names: tuple[str, ...], values: dict[str, float]) -> dict[str, float]:
    return {name: values[name] for name in names}


def _clamp(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return learnable_clamp(x, low, high)


def _functions(
    axes: Any, title: str, function: Callable[..., Tensor], start: dict[str, float], end: dict[str, float]
) -> None:
    x = torch.linspace(-RANGE, RANGE, 1601)
    axes.plot(x, x, color=GREY, linewidth=1, linestyle=":", label="x")
    for values, when, color, style in ((start, "at the start", BLUE, "--"), (end, "after training", ORANGE, "-")):
        axes.plot(x, function(x, *map(torch.tensor, values.values())), color=color, linestyle=style, label=when)
    _finish(axes, title, "x", "value")


def _gradients(axes: Any, title: str, function: Callable[..., Tensor], parameters: dict[str, float]) -> None:
    x = torch.linspace(-RANGE, RANGE, 1601, requires_grad=True)
    # one copy of each parameter for each x, so that their gradients are not summed
    copies = [torch.full_like(x, value).requires_grad_() for value in parameters.values()]
    gradients = torch.autograd.grad(function(x, *copies).sum(), [x, *copies])
    styles = ((BLUE, "-", 4), (ORANGE, "--", 2.2), (GREEN, ":", 2.2))  # lines that meet are all to be seen
    for name, gradient, (color, style, width) in zip(["x", *parameters], gradients, styles):
        axes.plot(x.detach(), gradient, color=color, linestyle=style, linewidth=width, label=name)
    axes.set_ylim(top=1.25)  # room for the legend
    _finish(axes, title, "x", "gradient for cotangent 1", loc="upper center", ncols=3)


def _paths(axes: Any, paths: dict[str, list[float]]) -> None:
    for (name, path), color, style in zip(paths.items(), (BLUE, ORANGE, GREEN), ("-", "--", "-.")):
        axes.plot(path, color=color, linestyle=style, label=name)
        axes.plot(0, path[0], "o", color=color, markersize=5)
    _finish(axes, "Learnt parameters", "epoch", "value", loc="center right")


def _losses(axes: Any, ours: History, relu: History) -> None:
    epochs = range(1, len(ours.losses) + 1)
    for history, name, color, style in ((ours, "clamp + quantizer", ORANGE, "-"), (relu, "ReLU", BLUE, "--")):
        label = f"{name}; test accuracy {history.accuracies[-1]:.3f}"
        axes.semilogy(epochs, history.losses, color=color, linestyle=style, label=label)
    _finish(axes, "Training loss, same network", "epoch", "cross-entropy")


def _finish(axes: Any, title: str, x: str, y: str, **legend: Any) -> None:
    axes.set_title(title, fontsize=12)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=10, **legend)
