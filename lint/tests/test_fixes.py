import ast
import copy
import random
from pathlib import Path

import pytest

from pullback_lint.engine import lint
from pullback_lint.fixes import apply, fix
from pullback_lint.modernize import modernize
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
        "torch.logsumexp(x, -1)",
    ):
        assert stable in after


@pytest.mark.parametrize(
    ("formula", "stable"),
    [
        ("g * torch.exp(x) / (1 + torch.exp(x))", "g * torch.sigmoid(x)"),
        ("x.exp() / (x.exp() + 1.0) * g", "x.sigmoid() * g"),
        ("g * torch.exp(-x) / (1 + torch.exp(-x)) ** 2", "g * torch.sigmoid(-x) * torch.sigmoid(-(-x))"),
        ("g * (torch.exp(x)) / (1 + torch.exp(x))", "g * (torch.exp(x)) / (1 + torch.exp(x))"),
        ("g * torch.exp(x) / (2 + torch.exp(x))", "g * torch.exp(x) / (2 + torch.exp(x))"),
    ],
)
def test_quotients_of_exponentials_become_logistic(formula, stable):
    source = CLASS.replace("return x.view(3, -1)", "ctx.save_for_backward(x)\n        return x.cumsum(0)")
    last = "(x,) = ctx.saved_tensors\n        return {}, None"
    before = source.format(static="@staticmethod", last=last.format(formula))
    assert repaired(before, unsafe=True) == source.format(static="@staticmethod", last=last.format(stable))
    assert repaired(before) == before


def test_none_is_added_to_a_name_that_is_one_gradient():
    before = CLASS.replace("h=None", "h").format(static="@staticmethod", last="d = 2 * g\n        return (d)")
    assert "return (d, None)" in repaired(before)


def test_repairing_twice_is_repairing_once():
    for path in sorted(FIXTURES.glob("*/fires.py")):
        once = repaired(path.read_text(), unsafe=True)
        ast.parse(once)
        assert repaired(once, unsafe=True) == once, path.parent.name


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


def test_a_last_line_without_an_end_stays_so():
    source = CLASS.format(static="# x", last="return g.view(9), None").rstrip("\n")
    assert repaired(source).endswith("return g.reshape(9), None")
    assert modernize(MODERNIZED_AT_THE_END)[0].endswith("        ctx.shape = x.shape")


MODERNIZED_AT_THE_END = """import torch


class Heads(torch.autograd.Function):
    @staticmethod
    def backward(ctx, g):
        return g.reshape(ctx.shape)

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return 2 * x"""


@pytest.mark.parametrize("seed", range(12))
def test_repairing_and_rewriting_nonsense_twice_is_doing_it_once(seed):
    rng = random.Random(seed)
    sources = [path.read_text() for path in sorted(FIXTURES.glob("*/fires.py"))]
    tree = ast.parse(rng.choice(sources))
    for _ in range(3):
        mutate(rng, tree)
    source = ast.unparse(ast.fix_missing_locations(tree))
    once = repaired(source, unsafe=True)
    assert repaired(once, unsafe=True) == once
    rewritten = modernize(source)[0]
    ast.parse(rewritten)
    assert modernize(rewritten)[0] == rewritten


def mutate(rng, tree):
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list) and node.body]
    if rng.random() < 0.5:
        body = rng.choice(bodies)
        body.insert(rng.randrange(len(body)), copy.deepcopy(rng.choice(rng.choice(bodies))))
        return
    victim, donor = rng.choice(nodes), rng.choice(nodes)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is victim:
                setattr(parent, name, copy.deepcopy(donor))
                return
