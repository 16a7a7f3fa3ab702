import ast
from pathlib import Path

import pytest

from pullback_lint.engine import lint
from pullback_lint.modernize import modernize

CORPUS = Path(__file__).parents[2] / "tests" / "corpus"

CLASSIC = '''import torch


class Scaled(torch.autograd.Function):
    """A documented class."""

    @staticmethod
    def forward(ctx, x, scale, *rest):
        # scale it
        y = torch.sin(x) * scale  # elementwise
        ctx.save_for_backward(x, y)
        if scale is not None:
            ctx.scale = scale  # a number
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * torch.cos(x) * ctx.scale, None
'''

MODERN = '''import torch


class Scaled(torch.autograd.Function):
    """A documented class."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale, *rest):
        # scale it
        y = torch.sin(x) * scale  # elementwise
        return y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, *_ = inputs
        y = output
        ctx.save_for_backward(x, y)
        if scale is not None:
            ctx.scale = scale  # a number

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * torch.cos(x) * ctx.scale, None
'''


def test_lines_move_with_their_comments():
    assert modernize(CLASSIC)[0] == MODERN


def test_what_is_modern_stays():
    assert modernize(MODERN) == (MODERN, [])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "y = torch.sin(x) * scale",
            "y = torch.sin(x) * (scale if ctx.needs_input_grad[0] else 1)",
            "uses the context",
        ),
        ("ctx.save_for_backward(x, y)", "ctx.save_for_backward(x, y * 2, z)", ""),
        ("return y", "return y + 1", "`y`, which is neither an input nor an output"),
        ("# scale it", "x = x.contiguous()", "neither an input nor an output"),
        ("# scale it", "prepare(ctx)", "hands its context"),
        ("    @staticmethod\n    def forward", "    @staticmethod\n    @custom\n    def forward", "further decorators"),
        ("    @staticmethod\n    def forward", "    def forward", "not a static method"),
    ],
)
def test_a_change_of_meaning_is_refused_with_the_reason(old, new, reason):
    source = CLASSIC.replace(old, new)
    after, (outcome,) = modernize(source)
    assert reason in outcome.reason
    assert (after == source) == bool(reason)


def test_the_rewritten_corpus_has_no_new_finding():
    rewritten = 0
    for path in sorted(CORPUS.glob("*.py")):
        before = path.read_text("utf-8")
        after, outcomes = modernize(before, path)
        ast.parse(after)
        rewritten += sum(not outcome.reason for outcome in outcomes)
        assert names(after) - {"no-jvp", "no-vmap", "ctx-tensor-stale"} <= names(before), path.name
    assert rewritten >= 50


def names(source):
    return {finding.name for finding in lint(source).findings}


def test_gradients_stay_the_same():
    """Of every correct class of the corpus that is rewritten."""
    torch = pytest.importorskip("torch")
    for path in sorted(CORPUS.glob("*_ok-*.py")):
        after, outcomes = modernize(path.read_text("utf-8"), path)
        for outcome in outcomes:
            if not outcome.reason:
                assert gradients(torch, after, outcome.name) == gradients(torch, path.read_text("utf-8"), outcome.name)


def gradients(torch, source, name):
    scope = {"__name__": "corpus"}
    exec(compile(source, name, "exec"), scope)
    inputs = scope["make_inputs"]()
    torch.manual_seed(0)
    outputs = scope[name].apply(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    total = sum(output.abs().pow(2).sum() for output in outputs if output.requires_grad)
    leaves = [item for item in inputs if isinstance(item, torch.Tensor) and item.requires_grad]
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    return [None if item is None else item.to_dense().tolist() for item in found]
