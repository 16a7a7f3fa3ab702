import ast
from pathlib import Path

import pytest

from pullback_lint.engine import lint
from pullback_lint.fixes import apply, fix
from pullback_lint.problem import Edit

FIXTURES = Path(__file__).parent / "fixtures"


CLASS = """import torch


class Heads(torch.autograd.Function):
    {static}
    def forward(ctx, x, h=None):
        return x.view(3, -1)

    @staticmethod
    def backward(ctx, g):
        {last}
"""


def repaired(source, *, unsafe=False):
    return fix(source, lambda text: lint(text).findings, unsafe=unsafe)[0]


def test_view_becomes_reshape_and_the_rest_of_the_line_stays():
    before = CLASS.format(static="@staticmethod", last="return g.view( 9,  -1 ), None   # keep  this")
    after = CLASS.format(static="@staticmethod", last="return g.reshape( 9,  -1 ), None   # keep  this")
    assert repaired(before) == after


def test_static_method_is_added_above_the_definition():
    before = CLASS.format(static="# a comment", last="return 2 * g, None")
    after = CLASS.format(static="# a comment\n    @staticmethod", last="return 2 * g, None")
    assert repaired(before) == after


def test_missing_none_is_added_at_the_end():
    before = CLASS.replace("h=None", "h").format(static="@staticmethod", last="return (2 * g)")
    assert "return (2 * g, None)" in repaired(before) or "return (2 * g), None" in repaired(before)


def test_attribute_becomes_a_saved_tensor():
    source = (FIXTURES / "ctx_tensor_stale" / "fires.py").read_text()
    after = repaired(source)
    assert "ctx.save_for_backward(x, w)" in after
    assert "x, w = ctx.saved_tensors" in after
    assert "return g @ w.t(), x.t() @ g" in after


def test_gradient_is_summed_down():
    source = (FIXTURES / "broadcast_not_reduced" / "fires.py").read_text()
    assert "return g, g.sum_to_size(bias.shape)" in repaired(source)


def test_stable_formulas_need_consent():
    source = (FIXTURES / "unstable_formula" / "fires.py").read_text()
    assert "log_softmax" not in repaired(source)
    after = repaired(source, unsafe=True)
    for stable in (
        "torch.log_softmax(x, -1)",
        "torch.nn.functional.softplus(x)",
        "torch.expm1(x)",
        "torch.logsumexp(x, -1)",
    ):
        assert stable in after


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_repairing_twice_is_repairing_once(path):
    once = repaired(path.read_text(), unsafe=True)
    ast.parse(once)
    assert repaired(once, unsafe=True) == once


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_are_kept(end):
    source = CLASS.format(static="# x", last="return g.view(9), None").replace("\n", end)
    after = repaired(source)
    assert after.count("\r\n") == (after.count("\n") if end == "\r\n" else 0)


def test_overlapping_edits_are_applied_one_at_a_time():
    one, two = Edit((1, 0), (1, 3), "x"), Edit((1, 2), (1, 4), "y")
    assert apply("abcdef", [(one,), (two,)]) == ("xdef", 1)


def test_characters_beyond_ascii_do_not_shift_an_edit():
    source = CLASS.format(static="@staticmethod", last='"ä→"; return g.view(9), None')
    assert '"ä→"; return g.reshape(9), None' in repaired(source)
