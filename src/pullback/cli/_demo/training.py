"""Two networks of the same size trained on scikit-learn's digits: one with the demo's activations, one with ReLU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pullback.cli._demo.functions import LearnableClamp, Quantizer

BATCH = 64


@dataclass(frozen=True)
class Digits:
    """Images of 8×8 pixels as rows, and the digits that they show."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


@dataclass
class History:
    """What training a network left behind."""

    losses: list[float] = field(default_factory=list)  # the mean over each epoch
    accuracies: list[float] = field(default_factory=list)  # on the test images, after each epoch
    paths: dict[str, list[float]] = field(default_factory=dict)  # the activations' parameters, at first and after


def load_digits() -> Digits:
    """The digits, a quarter of each set apart for the test; always the same split."""
    from sklearn.datasets import load_digits as load
    from sklearn.model_selection import train_test_split

    pixels, labels = load(return_X_y=True)
    parts = train_test_split(pixels / 16, labels, test_size=0.25, random_state=0, stratify=labels)
    train_x, test_x, train_y, test_y = (torch.from_numpy(part) for part in parts)
    return Digits(train_x.float(), train_y, test_x.float(), test_y)


def network(first: nn.Module, second: nn.Module, seed: int) -> nn.Sequential:
    """Three linear layers with two activations in between; the same weights for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(64, 48), first, nn.Linear(48, 32), second, nn.Linear(32, 10))


def ours(seed: int) -> nn.Sequential:
    """The network with the learnable clamp and the quantizer."""
    return network(LearnableClamp(-0.5, 0.5), Quantizer(1.0), seed)


def relu(seed: int) -> nn.Sequential:
    """The network with ReLU."""
    return network(nn.ReLU(), nn.ReLU(), seed)


def train(net: nn.Sequential, digits: Digits, epochs: int, seed: int, tick: Callable[..., None]) -> History:
    """Train a network and say how it went; ``tick(state=text)`` is called after each epoch."""
    history = History()
    shuffle = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    _note_parameters(net, history)
    for _ in range(epochs):
        order = torch.randperm(len(digits.train_x), generator=shuffle)
        batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        losses = [_step(net, optimizer, digits.train_x[i], digits.train_y[i]) for i in batches]
        schedule.step()
        history.losses.append(sum(losses) / len(losses))
        history.accuracies.append(accuracy(net, digits))
        _note_parameters(net, history)
        tick(state=f"loss {history.losses[-1]:.3f}, test accuracy {history.accuracies[-1]:.3f}")
    return history


def accuracy(net: nn.Module, digits: Digits) -> float:
    """The part of the test images that are recognized."""
    with torch.no_grad():
        return float((net(digits.test_x).argmax(1) == digits.test_y).double().mean())


def _step(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def _note_parameters(net: nn.Sequential, history: History) -> None:
    for layer in net:
        if not isinstance(layer, nn.Linear):
            for name, parameter in layer.named_parameters():
                history.paths.setdefault(name, []).append(parameter.item())
