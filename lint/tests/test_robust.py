import ast
import copy
import random
import re
from pathlib import Path

import pytest

from pullback_lint.engine import is_relevant, lint

FIXTURES = Path(__file__).parent / "fixtures"
SOURCES = [path.read_text() for path in sorted(FIXTURES.glob("*/fires.py"))]

HEAD = "import torch\nclass F(torch.autograd.Function):\n"
ODD = [
    "",
    "\ufeff" + HEAD + "    pass\n",
    "class F(Function):\n",
    HEAD + "    def forward(): return\n    def backward(): return\n",
    HEAD + "    def forward(*a, **k): return [*a]\n    def backward(*a): return (*a, *a)\n",
    HEAD.replace("(torch", "(F, torch") + "    def backward(ctx, g): return g\n",
    "import torch\nclass A(B): pass\nclass B(A, torch.autograd.Function):\n    def backward(ctx, g): return g\n",
    HEAD + "    forward = backward = lambda *a: a\n",
    "def backward(self): return " + "(" * 80 + "x" + ")" * 80 + "\n",
    HEAD + "    def backward(ctx, g):\n        match g:\n            case [a, *b]: return a\n"
    "            case {'k': c, **d}: return c\n",
    HEAD + "    async def backward(ctx, g):\n        async for x in g: yield x\n"
    "        async with g as (ctx.a, b[0]): await b\n",
    "def backward(x): " + "-" * 5000 + "x\n",
    "x = '\\x00'\ndef backward(): \x00",
]


@pytest.mark.parametrize("source", ODD, ids=range(len(ODD)))
def test_odd_sources_do_not_stop_the_linter(source):
    lint(source)


def test_syntax_errors_are_told_with_their_line():
    assert lint("import torch\ndef backward(x y): 0\n", "a.py").error.startswith("a.py:2: not valid Python")


@pytest.mark.parametrize("seed", range(30))
def test_mutated_sources_do_not_stop_the_linter(seed):
    """Deleted, doubled and exchanged statements and expressions: nonsense that is still Python."""
    rng = random.Random(seed)
    tree = ast.parse(rng.choice(SOURCES) + rng.choice(SOURCES))
    for _ in range(6):
        mutate(rng, tree)
    source = ast.unparse(ast.fix_missing_locations(tree))
    result = lint(source)
    assert not result.error or "not valid Python" in result.error


@pytest.mark.parametrize("seed", range(20))
def test_torn_texts_do_not_stop_the_linter(seed):
    rng = random.Random(seed)
    text = rng.choice(SOURCES)
    for _ in range(3):
        start = rng.randrange(len(text))
        text = text[:start] + rng.choice(["", "(", "\n", "*", "é", text[:30]]) + text[start + rng.randrange(5) :]
    lint(text)


@pytest.mark.parametrize("parameters", ["ctx, *args", "*, a", "ctx"])
def test_forwards_that_name_no_input_do_not_stop_the_linter(parameters):
    for text in SOURCES:
        lint(re.sub(r"def forward\([^)]*\)", f"def forward({parameters})", text))


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


def test_files_without_the_words_are_skipped():
    assert not is_relevant("import torch\n\nclass Net(torch.nn.Module):\n    '''A Function of x.'''\n")
    assert is_relevant("class F(Function): pass")


def test_the_standard_library_is_quiet():
    """A sample of what Python brings: nothing there is a differentiable function."""
    for path in sorted(Path(ast.__file__).parent.glob("[a-d]*.py")):
        result = lint(path.read_text("utf-8", errors="replace"), path.name)
        assert not result.findings
