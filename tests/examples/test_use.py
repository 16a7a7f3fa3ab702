"""The catalogue at work: what the examples replace computes the same, and a few steps of each training run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from compare import assert_gradients, assert_values

FOLDER = Path(__file__).parents[2] / "examples/use"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "shared")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)
    yield importlib.import_module
    for name in ("shared", *NAMES):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", NAMES)
def test_each_runs_and_draws_a_picture(name: str, load: object, tmp_path: Path) -> None:
    module: ModuleType = load(name)  # type: ignore[operator]
    module.main(2)
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


def gradients(model: torch.nn.Module, loss: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters())))


def test_the_replaced_language_model_is_the_same_and_keeps_less(load: object) -> None:
    module = load("language_model")  # type: ignore[operator]
    data = torch.arange(200) % 7
    one, other = module.models(7).values()
    losses = [module.loss_of(model, data, 0) for model in (one, other)]
    assert_values(losses[1:], losses[:1])
    assert_gradients(gradients(other, losses[1]), gradients(one, losses[0]))
    sizes = [sys.modules["shared"].kept(lambda m=m: module.loss_of(m, data, 0)) for m in (one, other)]
    unit = module.BATCH * module.CONTEXT * 2 * module.WIDTH * 4 / 2**20  # silu(gate) of each of the layers
    assert_values([torch.tensor(sizes[0] - sizes[1])], [torch.tensor(module.LAYERS * unit)])


def test_the_replaced_vision_transformer_is_the_same(load: object) -> None:
    module = load("vision_transformer")  # type: ignore[operator]
    x, y = torch.rand(8, 64), torch.arange(8)
    one, other, nudged = module.models().values()
    losses = [module.loss_of(model, x, y, 0) for model in (one, other)]
    assert not torch.equal(one.patches.weight, nudged.patches.weight)
    assert_values(losses[1:], losses[:1])
    assert_gradients(gradients(other, losses[1]), gradients(one, losses[0]))
    assert [module.not_finite(g) for g in (torch.nn.GELU("tanh"), other.blocks[0].mlp[1])] == [16384, 0]


def test_quantised_layers_have_as_many_levels_as_bits_allow(load: object) -> None:
    module = load("quantized_digits")  # type: ignore[operator]
    model = module.quantized(module.network(), 2, torch.rand(32, 64))
    model[0].linear.weight.data = torch.linspace(-1, 1, 48 * 64).reshape(64, 48).T.contiguous()
    model[0].weights.step = 0.25
    assert module.levels(model[0]) == 4
    assert len(model[0].inputs(torch.linspace(-1, 9, 400)).unique()) == 4


def test_the_oscillator_knows_its_derivatives(load: object) -> None:
    module = load("oscillator")  # type: ignore[operator]
    x = torch.linspace(0, 2, 5)[:, None]

    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(torch.pi * x)

    assert_gradients(module.derivatives(sine, x)[1:2], [torch.pi * torch.cos(torch.pi * x)])
    assert module.loss_of(sine, x) < 1e-9
