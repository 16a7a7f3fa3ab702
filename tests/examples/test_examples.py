"""The examples: each runs alone, and shows the values that it should, in the classic form and with pullback.

Expected values are closed forms, worked out by hand; none comes from running the code.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from pullback._tolerances import value_tolerance

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
NAMES = (
    "custom_gradient", "doubling", "square", "cube", "exponential", "sum_of_squares", "root_plus_reciprocal",
    "learnable_clamp", "cotangent", "function_or_module", "graph", "four_reasons", "outside_code",
)  # fmt: skip

STATE = ["0.weight", "0.bias", "1.slope", "2.weight", "2.bias"]


@functools.cache
def load(name: str) -> ModuleType:
    """An example as a module."""
    (path,) = FOLDER.glob(f"[0-9][0-9]_{name}.py")
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def same(found: Any, expected: Any) -> None:
    """Numbers agree within float32's tolerance, at any depth; everything else exactly."""
    if isinstance(expected, float):
        rtol, atol = value_tolerance(torch.float32)
        assert found == pytest.approx(expected, rel=rtol, abs=atol, nan_ok=True)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        same(list(found.values()), list(expected.values()))
    else:
        assert found == expected


Value = Callable[[ModuleType], Any]


def square_of(y: torch.Tensor) -> torch.Tensor:
    return y**2


def negative(y: torch.Tensor) -> torch.Tensor:
    return -y


# both forms: what holds for the autograd.Function as for the pullback Function
BOTH: list[tuple[str, str, str, Callable[[ModuleType, Any], Any], Any]] = [
    ("custom_gradient", "CustomGradient", "custom_gradient", lambda m, op: m.gradient(op), 3.0),
    # z = f2(y), y = 2: 3·f2'(y), f2 = y² and f2 = -y
    ("custom_gradient", "CustomGradient", "custom_gradient", lambda m, op: m.gradient(op, square_of), 12.0),
    ("custom_gradient", "CustomGradient", "custom_gradient", lambda m, op: m.gradient(op, negative), -3.0),
    # x - 2 shrinks by 1 - 0.05·2·2·3 = 0.4 in each of 20 steps
    ("custom_gradient", "CustomGradient", "custom_gradient", lambda m, op: m.trained(op), 2 - 0.4**20),
    ("doubling", "Double", "double", lambda m, op: m.gradient(op), [2.0, 2.0, 2.0]),
    ("doubling", "Double", "double", lambda m, op: m.kept(op), 0),
    ("square", "Square", "square", lambda m, op: m.gradient(op), [2.0, 4.0, 6.0]),
    ("square", "Square", "square", lambda m, op: m.second_derivative(op), [2.0, 2.0, 2.0]),
    ("cube", "Cube", "cube", lambda m, op: m.gradient(op), [3.0, 12.0, 27.0]),
    ("exponential", "Exponential", "exponential", lambda m, op: m.gradient(op), [1.0, 2.0, 3.0]),
    ("exponential", "Exponential", "exponential", lambda m, op: m.kept(op), ["output"]),
    ("sum_of_squares", "SumOfSquares", "sum_of_squares", lambda m, op: m.value_and_gradient(op),
     (14.0, [2.0, 4.0, 6.0])),
    ("root_plus_reciprocal", "RootPlusReciprocal", "root_plus_reciprocal", lambda m, op: m.value_and_gradient(op),
     ([2.25, 3 + 1 / 9, 4.0625], [0.1875, 1 / 6 - 1 / 81, 0.12109375])),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.gradients(op, -1.0, 1.0),
     {"y": [-2.0, 0.0, 2.0], "dx": [0.0, 2.0, 0.0], "dlow": 2.0, "dhigh": 2.0}),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.gradients(op, 1.0, -1.0),
     {"y": [-2.0, -2.0, -2.0], "dx": [0.0, 0.0, 0.0], "dlow": 0.0, "dhigh": 6.0}),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.gradients(op, 1.0, 1.0),
     {"y": [2.0, 2.0, 2.0], "dx": [0.0, 0.0, 0.0], "dlow": 4.0, "dhigh": 2.0}),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.gradients(op, -150.0, 150.0),
     {"y": [-4.0, 0.0, 4.0], "dx": [2.0, 2.0, 2.0], "dlow": 0.0, "dhigh": 0.0}),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.trained(op), (-1.0, 1.0, 0.0)),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.trained_across(op), 3.0),
    ("learnable_clamp", "LearnableClampFunction", "learnable_clamp", lambda m, op: m.kept_bytes(op), 2),
    ("cotangent", "Product", "product", lambda m, op: m.needs_a_cotangent(op),
     "grad can be implicitly created only for scalar outputs"),
    ("cotangent", "Product", "product", lambda m, op: m.with_cotangent(op), [2.0, 20.0, 200.0]),
    ("cotangent", "Product", "product", lambda m, op: m.not_required(op)[0], None),
    ("cotangent", "Product", "product", lambda m, op: m.broadcast(op), [4.0, 8.0, 12.0]),
    ("cotangent", "DoubleInPlace", "double_", lambda m, op: m.in_place(op), (True, [2.0, 4.0, 6.0], [2.0, 2.0, 2.0])),
    ("cotangent", "Largest", "largest", lambda m, op: m.with_index(op), (3.0, 0, False, [1.0, 0.0, 0.0])),
    ("function_or_module", "LeakyFunction", "leaky", lambda m, op: m.as_function(op), ([-0.5, 3.0], [0.25, 1.0], -2.0)),
    ("four_reasons", "Quantize", "quantize", lambda m, op: m.quantized(op), ([0.5, 1.5, -1.0], [1.0] * 3, -0.25)),
    ("four_reasons", "LookUp", "look_up", lambda m, op: m.gradient(op, [0.5, 1.5, 2.5]),
     ([0.5, 2.5, 6.5], [1.0, 3.0, 5.0])),
    ("four_reasons", "Softsign", "softsign", lambda m, op: m.gradient(op, [-3.0, 0.0, 1.0]),
     ([-0.75, 0.0, 0.5], [1 / 16, 1.0, 1 / 4])),
    ("four_reasons", "Softsign", "softsign", lambda m, op: m.kept_tensors(op), 1),
    ("four_reasons", "Log1pExp", "log1pexp", lambda m, op: m.gradient(op, [0.0, 100.0]),
     ([math.log(2), 100.0], [0.5, 1.0])),
    ("four_reasons", "LimitGradient", "limit_gradient", lambda m, op: m.trained(op), 3.0),
    # y³ + y = x has the roots 0, 1, 2; the gradient is 1 / (3y² + 1)
    ("outside_code", "Root", "root", lambda m, op: m.gradient(op), ([0.0, 1.0, 2.0], [1.0, 1 / 4, 1 / 13])),
]  # fmt: skip

# what only one thing in an example does: the mistakes, plain PyTorch to compare with, modules, graphs
ONE: list[tuple[str, Value, Any]] = [
    ("custom_gradient", lambda m: m.gradient(m.WrongForgetsCotangent.apply), 3.0),
    ("custom_gradient", lambda m: m.gradient(m.WrongForgetsCotangent.apply, square_of), 3.0),
    ("custom_gradient", lambda m: m.gradient(m.WrongForgetsCotangent.apply, negative), 3.0),
    ("custom_gradient", lambda m: m.trained(m.WrongForgetsCotangent.apply), 1 - 20 * 0.05 * 3),
    ("custom_gradient", lambda m: "must use its cotangent 'g'" in m.refusal(), True),
    ("doubling", lambda m: m.gradient(m.double_derived), [2.0, 2.0, 2.0]),
    ("square", lambda m: m.jacobian(m.square), [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]),
    ("cube", lambda m: m.gradient(m.WrongKeepsOutput.apply), [3.0, 192.0, 2187.0]),
    ("learnable_clamp", lambda m: m.gradients(m.plain, -1.0, 1.0),
     {"y": [-2.0, 0.0, 2.0], "dx": [0.0, 2.0, 0.0], "dlow": 2.0, "dhigh": 2.0}),
    ("learnable_clamp", lambda m: m.gradients(m.plain, 1.0, -1.0),
     {"y": [-2.0, -2.0, -2.0], "dx": [0.0, 0.0, 0.0], "dlow": 0.0, "dhigh": 6.0}),
    ("learnable_clamp", lambda m: m.trained(m.plain), (-1.0, 1.0, 0.0)),
    ("learnable_clamp", lambda m: m.kept_bytes(m.plain), 4),
    ("learnable_clamp", lambda m: m.published_error(), "NameError: name 'scale' is not defined"),
    ("learnable_clamp", lambda m: m.gradients(m.WrongNameMended.apply, -1.0, 1.0),
     {"y": [-2.0, 0.0, 2.0], "dx": [2.0, 2.0, 2.0], "dlow": 0.1, "dhigh": 0.1}),
    # both thresholds sink by 0.5·0.1 in each of 100 steps, whatever the loss says
    ("learnable_clamp", lambda m: m.trained(m.WrongNameMended.apply)[:2], (-3 - 5.0, 3 - 5.0)),
    ("learnable_clamp", lambda m: m.trained(m.WrongNameMended.apply)[2] > 5, True),
    ("learnable_clamp", lambda m: m.trained_across(m.WrongWhenCrossed.apply), 1.0),
    ("learnable_clamp", lambda m: [p.item() for p in m.LearnableClamp().parameters()], [-150.0, 150.0]),
    ("learnable_clamp", lambda m: m.layer_gradients(),
     {"y": [-2.0, 0.0, 2.0], "dx": [0.0, 2.0, 0.0], "dlow": 2.0, "dhigh": 2.0}),
    ("learnable_clamp", lambda m: list(m.LearnableClamp().state_dict()), ["low", "high"]),
    ("learnable_clamp", lambda m: m.LearnableClamp(scale=2.0)(torch.tensor([-200.0, 1.0, 200.0])).tolist(),
     [-300.0, 2.0, 300.0]),
    ("cotangent", lambda m: m.not_required(m.Product.apply)[1], 2),
    ("cotangent", lambda m: m.not_required(m.product)[1], 1),
    ("function_or_module", lambda m: m.as_module(m.ClassicLeaky), ([-0.5, 3.0], [0.25, 1.0], -2.0)),
    ("function_or_module", lambda m: m.as_module(m.Leaky), ([-0.5, 3.0], [0.25, 1.0], -2.0)),
    ("function_or_module", lambda m: m.names_and_slope_after_training(m.ClassicLeaky), (STATE, True)),
    ("function_or_module", lambda m: m.names_and_slope_after_training(m.Leaky), (STATE, True)),
    ("function_or_module", lambda m: m.round_trip(m.ClassicLeaky), True),
    ("function_or_module", lambda m: m.round_trip(m.Leaky), True),
    ("graph", lambda m: m.facts(m.Exponential.apply, m.SumOfSquares.apply),
     {"root": "SumOfSquaresBackward", "leaves": ["a", "b"],
      "kept": {"SumOfSquaresBackward": 4000, "ExponentialBackward": 4000, "MulBackward0": 8000}, "in all": 12000}),
    ("graph", lambda m: m.facts(m.exponential, m.sum_of_squares),
     {"root": "sum_of_squaresBackward", "leaves": ["a", "b"],
      "kept": {"sum_of_squaresBackward": 4000, "exponentialBackward": 4000, "MulBackward0": 8000}, "in all": 12000}),
    ("four_reasons", lambda m: m.quantized(m.plain_quantize), ([0.5, 1.5, -1.0], [0.0] * 3, 2.0)),
    ("four_reasons", lambda m: "Can't call numpy()" in m.numpy_alone(), True),
    ("four_reasons", lambda m: m.kept_tensors(m.plain_softsign), 2),
    ("four_reasons", lambda m: m.gradient(m.plain_log1pexp, [0.0, 100.0])[1], [0.5, math.nan]),
    ("four_reasons", lambda m: m.trained(lambda w: w), math.nan),
    ("outside_code", lambda m: m.per_sample(m.root), [1.0, 1 / 4, 1 / 13]),
    ("outside_code", lambda m: "functorch transforms" in m.per_sample(m.Root.apply), True),
    ("outside_code", lambda m: m.compiled(m.root), [1.0, 1 / 4, 1 / 13]),
    ("outside_code", lambda m: m.steps(m.root), ["examples.root_grad_x.default"]),
    ("outside_code", lambda m: m.second_derivative(m.root), "DoubleBackwardError"),
]  # fmt: skip


def test_there_is_one_file_for_each_system_in_order() -> None:
    assert tuple(path.stem[3:] for path in FILES) == NAMES
    assert [int(path.name[:2]) for path in FILES] == list(range(1, len(NAMES) + 1))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_runs_as_a_script_and_prints(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) >= 3
    assert printed.err == ""
    assert max(map(len, printed.out.splitlines())) <= 120


def test_a_file_runs_alone(tmp_path: Path) -> None:
    """In a process of its own, from another directory."""
    result = subprocess.run([sys.executable, FILES[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "[2.0, 2.0, 2.0]" in result.stdout


@pytest.mark.parametrize("form", ["classic", "pullback"])
@pytest.mark.parametrize(("example", "cls", "function", "value", "expected"), BOTH)
def test_both_forms_give_the_value(
    example: str, cls: str, function: str, value: Callable[[ModuleType, Any], Any], expected: Any, form: str
) -> None:
    module = load(example)
    op = getattr(module, cls).apply if form == "classic" else getattr(module, function)
    same(value(module, op), expected)


@pytest.mark.parametrize(("example", "value", "expected"), ONE)
def test_the_value_is_shown(example: str, value: Value, expected: Any) -> None:
    same(value(load(example)), expected)


@pytest.mark.parametrize("found", [[3.0, 12.0, 27.1], [3.0, 12.0], [3.0, 12.0, math.nan]])
def test_a_planted_wrong_value_is_found(found: list[float]) -> None:
    with pytest.raises(AssertionError):
        same(found, [3.0, 12.0, 27.0])
