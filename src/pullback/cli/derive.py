"""Print the gradient of a formula as code to paste: a Function, an autograd.Function, or LaTeX."""

from __future__ import annotations

import argparse
import keyword
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pullback.errors import PullbackError, UsageError

if TYPE_CHECKING:
    from pullback.graph.formula import Formula

_EPILOG = """\
examples:
  pullback derive "x * torch.sigmoid(b * x)"
  pullback derive "s = torch.sqrt(x**2 + eps**2); s - eps" --number eps --name smooth_abs
  pullback derive activations.py:swish --to autograd

A formula is read, never executed. For FILE:FUNCTION the text of the function is read; where it is more than a formula
(it calls other functions of yours, it loops), the file is imported and the function traced, which executes both.
"""


def main(argv: list[str]) -> int:
    """Run the command; 0 on success, 2 when the formula cannot be read."""
    options = _parser().parse_args(argv)
    try:
        sys.stdout.write(derived(options))
    except PullbackError as error:
        print(f"pullback derive: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pullback derive",
        description="Print a formula with its gradients as code to paste.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("formula", help="a formula, several statements, a whole def, or FILE:FUNCTION")
    parser.add_argument("--to", choices=["function", "autograd", "latex"], default="function", help="what to print")
    parser.add_argument("--classic", action="store_true", help="with --to autograd: forward(ctx, ...) in one piece")
    parser.add_argument("--name", default="f", help="what to call the function")
    parser.add_argument(
        "--number", action="append", default=[], metavar="NAME", help="an argument that is a Python number"
    )
    for domain, said in (("real", "arguments are real tensors"), ("complex", "arguments may be complex tensors")):
        parser.add_argument(f"--{domain}", dest="domain", action="store_const", const=domain, default="any", help=said)
    return parser


def derived(options: argparse.Namespace) -> str:
    """The code asked for."""
    from pullback.graph import source  # SymPy takes half a second to import; --help does not need it

    formula = _formula(options)
    names = [p.name for p in formula.parameters]
    if unknown := [name for name in options.number if name not in names]:
        raise UsageError(
            "--number", f"an argument of the formula: {', '.join(names)}", repr(unknown[0]), "check the name"
        )
    if options.to == "latex":
        return source.latex_source(formula)
    if options.to == "autograd":
        return source.autograd_source(formula, classic=options.classic)
    return source.function_source(formula)


def _formula(options: argparse.Namespace) -> Formula:
    from pullback.graph.parse import parse

    if not options.name.isidentifier() or keyword.iskeyword(options.name):
        raise UsageError("--name", "the name of a function", repr(options.name), "give a Python name, such as my_f")
    path, _, name = options.formula.rpartition(":")
    if path.endswith(".py"):
        text = _function_text(Path(path), name)
        try:
            return parse(text, name=name, numbers=tuple(options.number), domain=options.domain)
        except UsageError:  # it calls other functions, or is no single formula: PyTorch's tracer sees through that
            return _traced(Path(path), name, set(options.number))
    return parse(options.formula, name=options.name, numbers=tuple(options.number), domain=options.domain)


def _function_text(path: Path, name: str) -> str:
    import ast

    if not path.is_file():
        raise UsageError(str(path), "a Python file", "there is none", "check the path before the colon")
    text = path.read_text(encoding="utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        if node.name == name:
            node.decorator_list = []
            return ast.unparse(node)
    known = ", ".join(function.name for function in functions) or "a function, of which the file has none"
    raise UsageError(f"{path}:{name}", "the name of a function in this file", repr(name), f"name one of: {known}")


def _traced(path: Path, name: str, numbers: set[str]) -> Formula:
    """What a function of a file computes, from running it on made-up arguments."""
    import inspect
    import runpy

    import torch

    from pullback.graph.read import formula_of

    fn = runpy.run_path(str(path))[name]
    made: list[object] = []
    for at, parameter in enumerate(inspect.signature(fn).parameters.values()):
        given = parameter.default if parameter.default is not parameter.empty else 0.5
        scalar = parameter.name in numbers or parameter.annotation in (float, "float") or parameter.default is given
        made.append(given if scalar else torch.rand(3, dtype=torch.float64) + at)
    return formula_of(fn, *made)
