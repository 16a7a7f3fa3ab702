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
        ("# scale it", "x = 2 * x", "`x` is assigned anew"),
        ("# scale it", "prepare(ctx)", "hands its context"),
        (
            "    @staticmethod\n    def forward",
            "    @staticmethod\n    @custom\n    def forward",
            "decorated with `custom`",
        ),
        ("    @staticmethod\n    def forward", "    def forward", "not a static method"),
    ],
)
def test_a_change_of_meaning_is_refused_with_the_reason(old, new, reason):
    source = CLASSIC.replace(old, new)
    after, (outcome,) = modernize(source)
    assert reason in outcome.reason
    assert (after == source) == bool(reason)


HEAD = """import torch


class F(torch.autograd.Function):
    @staticmethod
"""
BACK = """
    @staticmethod
    def backward(ctx, g):
        return g, None
"""


def rewritten(forward):
    """The lines that forward and setup_context have after the rewrite, and the reason for refusing one."""
    source = HEAD + "".join(f"    {line}\n" for line in forward.split("\n")) + BACK
    after, (outcome,) = modernize(source)
    ast.parse(after)
    head = after.replace("    generate_vmap_rule = True\n\n", "").removeprefix(HEAD).removesuffix(BACK)
    return "\n".join(line.removeprefix("    ") for line in head.rstrip().split("\n")), outcome.reason


MOVES = """# an intermediate that the context alone needs is computed there
def forward(ctx, x, a):
    low = x >= 0
    # both
    mask = low * (x < a)
    ctx.save_for_backward(mask)
    return x.clamp(0, 1)
# becomes
def forward(x, a):
    return x.clamp(0, 1)

@staticmethod
def setup_context(ctx, inputs, output):
    x, a = inputs
    low = x >= 0
    # both
    mask = low * (x < a)
    ctx.save_for_backward(mask)


# plain data that both need is computed in both
def forward(ctx, x, bits):
    if bits == 1:
        q = -1
    else:
        q = -(2 ** bits)
    ctx.q = q
    return x.clamp(q, 0)
# becomes
def forward(x, bits):
    if bits == 1:
        q = -1
    else:
        q = -(2 ** bits)
    return x.clamp(q, 0)

@staticmethod
def setup_context(ctx, inputs, output):
    _, bits = inputs
    if bits == 1:
        q = -1
    else:
        q = -(2 ** bits)
    ctx.q = q


# what forward reads back from the context stands there instead
def forward(ctx, x, bits):
    ctx.top = 2**bits - 1
    return x.clamp(0, ctx.top)
# becomes
def forward(x, bits):
    return x.clamp(0, (2 ** bits - 1))

@staticmethod
def setup_context(ctx, inputs, output):
    _, bits = inputs
    ctx.top = 2**bits - 1


# a tuple of one, and an input called output
def forward(ctx, output, n):
    y = output * n
    ctx.save_for_backward(y, output)
    return (y,)
# becomes
def forward(output, n):
    y = output * n
    return (y,)

@staticmethod
def setup_context(ctx, inputs, output):
    (y,) = output
    output, _ = inputs
    ctx.save_for_backward(y, output)


# outputs of unknown number
def forward(ctx, x, n):
    y = x * n
    ctx.save_for_backward(y)
    return y, *x.unbind()
# becomes
def forward(x, n):
    y = x * n
    return y, *x.unbind()

@staticmethod
def setup_context(ctx, inputs, output):
    y, *_ = output
    ctx.save_for_backward(y)


# a part that serves the context and reads it
def forward(ctx, x, n):
    ctx.n = n
    slope = ctx.n * x
    ctx.save_for_backward(slope)
    return x.exp()
# becomes
def forward(x, n):
    return x.exp()

@staticmethod
def setup_context(ctx, inputs, output):
    x, n = inputs
    ctx.n = n
    slope = ctx.n * x
    ctx.save_for_backward(slope)


# a condition on the context that raises
def forward(ctx, x, n):
    if any(ctx.needs_input_grad[1:]):
        raise ValueError
    return x * n
# becomes
def forward(x, n):
    return x * n

@staticmethod
def setup_context(ctx, inputs, output):
    if any(ctx.needs_input_grad[1:]):
        raise ValueError
"""


@pytest.mark.parametrize("case", MOVES.split("\n\n\n"), ids=lambda case: case.partition("\n")[0])
def test_what_moves(case):
    forward, expected = case.partition("\n")[2].rstrip().split("\n# becomes\n")
    assert rewritten(forward) == (expected, "")


def test_gradients_of_defaults_are_added():
    """With setup_context, PyTorch counts inputs with defaults even if no call passes them."""
    source = HEAD + "    def forward(ctx, x, n=2):\n        return x * n\n" + BACK.replace("g, None", "g")
    after, (outcome,) = modernize(source)
    assert not outcome.reason
    assert "return g, None" in after
    assert "would need 2" in modernize(source.replace("return g", "h = (g,)\n        return h"))[1][0].reason


def test_a_class_method_stays_one():
    source = (
        HEAD.replace("static", "class") + "    def forward(cls, ctx, x):\n        ctx.n = cls.n\n        return 2 * x\n"
    )
    after, (outcome,) = modernize(source + BACK)
    assert not outcome.reason
    assert "    @classmethod\n    def setup_context(cls, ctx, inputs, output):\n        ctx.n = cls.n\n" in after


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("ctx.mask = x > 0\n    x.clamp_(0)\n    ctx.mark_dirty(x)\n    return x", "which forward changes in place"),
        ("m = x > 0\n    ctx.mask = m\n    x.clamp_(0)\n    return x.clone()", "keeps `m`"),
        ("y = x * n\n    ctx.save_for_backward(y)\n    y = 2 * y\n    ctx.n = n\n    return y", "assigned anew"),
        ("m = torch.rand_like(x)\n    ctx.m = m\n    return x", "keeps `m`"),
        ("m = helper(x)\n    ctx.m = m\n    return x * n", "keeps `m`"),
        ("s = x.mean()\n    ctx.s = s\n    return x / s", "keeps `s`"),
        ("def f(): ...\n    y = f()\n    ctx.f = f\n    return y", "keeps `f`"),
        (
            "if n is None:\n        return 2 * x\n    ctx.n = n.shape\n    ctx.m = n.tolist()\n    return x * n",
            "some paths",
        ),
        ("ctx.n = n; y = x * n\n    return y", "several statements"),
        ("ctx.n = n", "nothing would be left"),
        ("ctx.save_for_backward(x)\n    return x", "saved and returned as it came"),
        ("y = x\n    ctx.save_for_backward(x)\n    return y", "saved and returned as it came"),
        ("ctx.n = n\n    n = 2\n    return x * ctx.n", "together with the computation"),
    ],
)
def test_what_cannot_move_without_a_change_of_meaning(body, reason):
    assert reason in rewritten(f"def forward(ctx, x, n):\n    {body}")[1]


def test_a_base_stays_with_a_class_that_derives_from_it():
    source = HEAD + "    def forward(ctx, x, n):\n        ctx.n = n\n        return x * n\n" + BACK
    derived = "\n\nclass G(F):\n    @staticmethod\n    def forward(ctx, x, n):\n        h(ctx)\n        return x / n\n"
    after, outcomes = modernize(source + derived)
    assert after == source + derived
    assert [outcome.reason.partition(" ")[0] for outcome in outcomes] == ["`G`,", "forward"]
    assert not any(outcome.reason for outcome in modernize(source + derived.replace("h(ctx)", "ctx.n = n"))[1])


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
