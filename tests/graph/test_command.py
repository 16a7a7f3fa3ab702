"""``pullback derive``: what it prints, what it refuses, and how fast."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from formulas import ALONG, CASES, STRUCTURED
from formulas_more import COMPLEX, PIECES

from pullback.cli.derive import main
from pullback.errors import UsageError
from pullback.graph.parse import parse
from pullback.graph.source import autograd_source, function_source, latex_source

SWISH = """\
import pullback as pb
import torch


@pb.function
def f(x, b):
    return x * torch.sigmoid(b * x)


@f.grad("x")
def _(g, x, b):
    sigmoid = torch.sigmoid(x * b)
    return g * (sigmoid * (1 + x * b * (1 - sigmoid))).conj()


@f.grad("b")
def _(g, x, b):
    sigmoid = torch.sigmoid(x * b)
    return g * (sigmoid * (1 - sigmoid) * x * x).conj()
"""


def test_prints_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x * torch.sigmoid(b * x)"]) == 0
    assert capsys.readouterr().out == SWISH


def test_prints_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["torch.relu(x) * w", "--to", "latex"]) == 0
    out = capsys.readouterr().out
    assert r"\frac{\partial L}{\partial w} &= \begin{cases}" in out
    assert out.startswith(r"\begin{aligned}")


_PROGRAMMERS = re.compile(
    r"torch|lambda|operand|math\.|\*\*|==|Moved|Summed|Softmax|LogSum|Amax|Amin|\b(Mean|Prod|None|True|False|spread|nonzero"
    r"|shaped|summed|count|modulus|conj|absolute|where|like|shape)\b"
)
_WRITTEN = dict(
    list({**ALONG, **STRUCTURED, **PIECES, **COMPLEX, **CASES}.items())[::3]
)  # a sample: deriving takes time


def test_latex_is_mathematics() -> None:
    """No name of ours, no Python, and nothing left open, in any formula of the tables."""
    for name, case in _WRITTEN.items():
        text = latex_source(parse(case.text, numbers=case.numbers, domain=case.domain))
        assert not _PROGRAMMERS.search(text), (name, text)
        assert text.count("{") == text.count("}"), (name, text)
        assert text.count(r"\left") == text.count(r"\right"), (name, text)
        assert not re.search(r"(?<!\})_\{[^{}]*\}_", text), (name, text)  # two subscripts are no LaTeX


@pytest.mark.parametrize(
    ("text", "gradient"),
    [
        ("torch.softmax(x, -1)", r"y \left(g - \sum_{-1}{\left(g y \right)}\right)"),
        ("(x * x).mean()", r"\frac{2 g x}{n}"),
        ("(h @ w) * h", r"\sum_{\to h}{\left(g \left(h w\right) \right)}"),
        ("torch.cumsum(x, dim=0)", r"\operatorname{flip}\left(\operatorname{cumsum}"),
    ],
)
def test_latex_of_what_is_not_pointwise(text: str, gradient: str) -> None:
    assert gradient in latex_source(parse(text, domain="real"))


@pytest.mark.parametrize(
    "text", ["s = sigmoid(b*x); x*s", "s = sigmoid(b*x)\nx*s", "def f(b, x):\n    s = sigmoid(b * x)\n    return x * s"]
)
def test_reads_statements(text: str) -> None:
    assert parse(text).out == parse("sigmoid(b * x) * x").out
    assert parse(text).body == ("s = torch.sigmoid(b * x)", "return x * s")


def test_reads_a_function_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(
        "raise SystemExit\n\ndef bump(x, width: float = 1.0):\n    return torch.exp(-(x / width) ** 2)\n"
    )
    assert main([f"{tmp_path}/a.py:bump"]) == 0
    out = capsys.readouterr().out
    assert "def bump(x, width=1.0):" in out
    assert '@bump.grad("x")\ndef _(g, x, width, out):\n    return -2 * g * (x * out).conj() / width**2\n' in out


def test_traces_a_function_that_calls_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = "import torch\n\ndef gate(x):\n    return torch.sigmoid(x)\n\n"
    text = gate + "def swish(x, b: float = 1.0):\n    return x * gate(b * x)\n"
    (tmp_path / "a.py").write_text(text)
    assert main([f"{tmp_path}/a.py:swish", "--to", "autograd"]) == 0
    space: dict[str, type[torch.autograd.Function]] = {}
    exec(capsys.readouterr().out, space)
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(space["Swish"].apply, (x, 0.7))


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("x * torch.sigmod(x)", "line 1, column 5", "did you mean sigmoid"),
        ("y = x\nx if y else 2", "line 2, column 1", "torch.where(condition, a, b)"),
        ("x +* 2", "line 1, column 4", "not Python"),
        ("__import__('os').system('true')", "line 1, column 1", "known torch functions"),
        ("0 < x < 1", "line 1, column 1", "join two with &"),
        ("def f(x):\n    return x * scale", "line 2, column 16", "a parameter or an earlier name"),
        ("torch.clamp(x, 1, 2, 3)", "line 1, column 1", "arguments that torch.clamp takes"),
        ("x.grad", "line 1, column 1", "math.pi"),
        ("for a in x: a", "line 1, column 1", "torch.where"),
        ("(x > 1) & (y > 2)", "line 1, column 1", "one tensor of numbers"),
        ("x, y", "line 1, column 1", "one tensor of numbers"),
        ("x.unbind()", "line 1, column 1", "these are several"),
        ("2 * torch.sort(x)", "line 1, column 1", "these are several"),
        ("x * torch.rand_like(x)", "line 1, column 5", "known torch functions"),
        ("2 * ctx", "line 1, column 5", "another name"),
        ("3.0", "line 1, column 1", "at least one tensor argument"),
        ("", "line 1, column 1", "no formula"),
    ],
)
def test_refuses_with_the_place(text: str, place: str, said: str) -> None:
    with pytest.raises(UsageError, match=place) as caught:
        parse(text)
    assert said in str(caught.value)


def test_refusal_is_status_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x * torch.sigmod(x)"]) == 2
    assert "^^^^^^^^^^^^" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["swish", "learned_clamp", "huber", "dead_sqrt", "masked", "lennard_jones"])
def test_printed_functions_run(name: str) -> None:
    """What is printed for pullback gives the gradients of what is printed for plain PyTorch."""
    formula = parse(CASES[name].text, name="formula", numbers=CASES[name].numbers)
    space: dict[str, object] = {}
    exec(function_source(formula) + autograd_source(formula), space)
    function, plain = space["formula"], space["Formula"].apply
    assert callable(function.describe)
    shapes = [(3, 4), (4,), (3, 1), ()]
    made = [
        0.7 if p.kind == "number" else 1 + torch.rand(shapes[i % 4], dtype=torch.float64)
        for i, p in enumerate(formula.parameters)
    ]
    tensors = [m.requires_grad_() for m in made if isinstance(m, torch.Tensor)]
    results = [torch.autograd.grad(f(*made).square().sum(), tensors) for f in (function, plain)]
    torch.testing.assert_close(*results)


STARVED = """
import sys, time
from pullback.cli.derive import main
assert main(["x * torch.sigmoid(b * x)"]) == 0
assert "torch" not in sys.modules
assert main(["torch.exp(-x**2 / (2 * s**2))"]) == 0
began = time.process_time()
assert main(["a * torch.tanh(b * x + c)"]) == 0
print(began, time.process_time() - began)
"""


def test_needs_no_torch_and_little_time() -> None:
    """A formula is derived without importing PyTorch: within 2.5 s in a fresh process, 0.5 s in a warm one."""
    done = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, check=True)
    cold, warm = map(float, done.stdout.splitlines()[-1].split())
    assert cold < 2.5  # the processor's time, so that a loaded machine is no failure
    assert warm < 0.5


@pytest.mark.parametrize("wrong", [["--name", "my f"], ["--name", "def"], ["--number", "b"]])
def test_options_that_name_nothing_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x * x", *wrong]) == 2
    assert repr(wrong[1]) in capsys.readouterr().err


@pytest.mark.parametrize("text", ["torch.clamp(x, -1, c)", "x.clamp(min=-1, max=c)"])
def test_bounds_of_two_kinds_are_made_one(text: str) -> None:
    """PyTorch clamps between two numbers or two tensors."""
    names: dict[str, object] = {}
    exec(function_source(parse(text)), names)
    x, c = torch.randn(9, dtype=torch.float64, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    found = torch.autograd.grad(names["f"](x, c).sum(), (x, c))  # type: ignore[operator]
    expected = torch.autograd.grad(torch.clamp(x, torch.tensor(-1.0), c).sum(), (x, c))
    torch.testing.assert_close(found, expected)
