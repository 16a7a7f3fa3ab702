import ast
from pathlib import Path

import pytest

from pullback_lint.engine import lint

CORPUS = Path(__file__).parents[2] / "tests" / "corpus"

UNSEEN = {
    "104_wrong-derivative_physics_morse",
    "036_wrong-reduction-axis_activation_prelu",
    "064_grad-for-nontensor_signal_gain",
    "081_wrong-grad-shape_activation_scalar_for_vector",
    "138_wrong-derivative_activation_prod_sign",
}
"""Faults that show only when the function is run: in shapes, in types of arguments, or in values."""


def fault_of(path):
    """The fault that a file declares; None for a correct one."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "EXPECT":
            return ast.literal_eval(node.value)["fault"]
    raise AssertionError(f"{path} declares nothing")


FILES = sorted(CORPUS.glob("*.py"))
FAULTY = [path for path in FILES if fault_of(path) is not None]
CORRECT = [path for path in FILES if fault_of(path) is None]


def findings(path):
    result = lint(path.read_text("utf-8"), path.name, place=path)
    assert not result.error
    return result.findings


def test_the_corpus_is_there():
    assert len(FAULTY) == 65
    assert len(CORRECT) == 22


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_fault_is_found_by_its_name_unless_it_cannot_be_seen(path):
    names = {finding.name for finding in findings(path)}
    assert (fault_of(path) in names) == (path.stem not in UNSEEN)


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
def test_nothing_above_a_note_on_correct_files(path):
    assert [finding.message for finding in findings(path) if finding.severity != "note"] == []
