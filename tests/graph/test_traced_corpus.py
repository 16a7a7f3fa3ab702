"""Hand-written classes as they are published: which are traced, and that right ones are proved."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pullback.errors import TraceError
from pullback.graph.joint import joint
from pullback.graph.prove import prove

FILES = {path.stem.split("_")[0]: path for path in sorted((Path(__file__).parents[1] / "corpus").glob("*.py"))}

SEVERAL, FOREIGN, RANDOM = "one output that is a tensor", "every tensor it uses must be an argument", "on the argu"
NOT_TRACED = {
    "014": SEVERAL, "023": SEVERAL, "046": SEVERAL, "069": SEVERAL, "075": SEVERAL, "110": SEVERAL,
    "016": FOREIGN, "088": FOREIGN,
    "070": RANDOM, "077": RANDOM,
    "017": "it must run on these arguments",  # differentiates inside, without enabling gradients: its fault
    "122": "it must run on these arguments",  # writes to its argument, and warns
    "086": "only PyTorch's own operations",  # NumPy
    "061": "", "087": "", "091": "", "097": "", "116": "",  # custom operators and a module: no class
}  # fmt: skip
"""What is not traced, and the reason given."""

MEANT = {"007": ["x"], "013": ["teacher"], "059": ["x"], "073": ["x"], "134": ["x"]}
"""Right files with gradients that are meant to differ from the derivative."""

NOT_PROVED = {
    "002": "compares with labels", "030": "a sparse gradient", "052": "an iteration", "089": "complex tensors",
}  # fmt: skip
"""Right files that are compared in values alone, and why: none is pointwise and real."""


def load(number: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"traced_{number}", FILES[number])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def subject(module: ModuleType) -> Any:
    return getattr(module, module.EXPECT["class"])


@pytest.mark.parametrize("number", [n for n in FILES if n not in NOT_TRACED])
def test_is_traced(number: str) -> None:
    """Forward and backward make one graph, and where the file is right its backward is proved."""
    module = load(number)
    if module.EXPECT["fault"] is not None or number in NOT_PROVED:
        assert len(joint(subject(module), *module.make_inputs()).module.graph.nodes) > 2
        return
    verdicts = {name: j.verdict for name, j in prove(subject(module), *module.make_inputs()).items()}
    assert verdicts
    assert verdicts == {name: "wrong" if name in MEANT.get(number, []) else "proved" for name in verdicts}


@pytest.mark.parametrize("number", [n for n, reason in NOT_TRACED.items() if reason])
def test_says_why_not(number: str) -> None:
    module = load(number)
    with pytest.raises(TraceError, match=NOT_TRACED[number]):
        joint(subject(module), *module.make_inputs())


def test_most_are_traced() -> None:
    assert len(FILES) - len(NOT_TRACED) >= 40
