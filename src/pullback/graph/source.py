"""Whole pieces of code, ready to paste: a Function, a plain ``torch.autograd.Function``, or LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

from pullback.graph.conjugate import is_complex, prepared
from pullback.graph.derive import gradients
from pullback.graph.fold import fold
from pullback.graph.formula import COTANGENT, OUT, Formula, Parameter, symbol
from pullback.graph.functions import Term
from pullback.graph.latex import latex
from pullback.graph.printer import Printer
from pullback.graph.reductions import summed_to
from pullback.graph.statements import Block, Namer, share

WIDTH = 88
"""The longest line printed, where the author's own text allows it."""


def function_source(formula: Formula) -> str:
    """The function and the rules of its arguments, written with pullback.

    >>> from pullback.graph.parse import parse
    >>> print(function_source(parse("torch.tanh(x)")))  # doctest: +ELLIPSIS
    import pullback as pb
    import torch
    ...
    @f.grad("x")
    def _(g, out):
        return g * (1 - out**2).conj()
    <BLANKLINE>
    """
    parts = [
        "@pb.function",
        fold(f"def {formula.name}({_signature(formula.parameters)}):", WIDTH),
        *_indent(_body(formula, 4)),
        "",
        "",
    ]
    grads = gradients(formula)
    for name, grad in grads.items():
        parts += [*_rule(formula, name, grad), "", ""] if grad != 0 else []
    flat = [name for name, grad in grads.items() if grad == 0]
    if flat:
        parts += [f"{formula.name}.nondiff({', '.join(map(_quoted, flat))})"]
    return _module(parts, ["import pullback as pb"])


def _rule(formula: Formula, name: str, grad: Term) -> list[str]:
    cotangent = "g" if "g" not in _names(formula) else "cotangent"
    printer = Printer(formula, {COTANGENT: cotangent})
    whole = grad.args[0] if grad.func is summed_to else grad  # a rule's result is summed down anyway
    block = share([whole], formula, Namer(formula, [cotangent]), printer, WIDTH - len("    return "))
    needed = [cotangent, *_used(formula, block), *(["out"] if _uses(block, OUT) else [])]
    lines = [f"{printer(k)} = {printer(v)}" for k, v in block.shared] + [f"return {printer(block.results[0])}"]
    refused = [x.name for x in prepared(formula)[1].mixed if x.name in needed]
    folded = [*_of_real_tensors(refused), *(fold(line, WIDTH - 4) for line in lines)]
    return [f'@{formula.name}.grad("{name}")', fold(f"def _({', '.join(needed)}):", WIDTH), *_indent(folded)]


def _of_real_tensors(names: Iterable[str]) -> list[str]:
    """The lines that refuse complex tensors, for which a gradient would be wrong."""
    said = "these gradients are of real tensors: derive --complex"
    found = " or ".join(f"{name}.is_complex()" for name in sorted(names))
    return [f"if {found}:", f'    raise TypeError("{said}")'] if found else []


def autograd_source(formula: Formula, *, classic: bool = False) -> str:
    """The function as a ``torch.autograd.Function`` that needs nothing but PyTorch.

    Args:
        formula: What the function computes.
        classic: Write ``forward(ctx, …)`` rather than ``forward`` and ``setup_context``.
    """
    return _Autograd(formula).source(classic)


class _Autograd:
    """One ``torch.autograd.Function`` in print."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.names = _names(formula)
        self.printer = Printer(formula, {OUT: "output", COTANGENT: "grad_output"})
        self.grads = gradients(formula)
        whole = {n: g.args[0] if g.func is summed_to else g for n, g in self.grads.items()}
        self.live = {name: grad for name, grad in whole.items() if grad != 0}
        self.block = self.shared()
        self.kinds = prepared(formula)[1]
        self.saved = [*self.used("tensor", "mask"), *(["output"] if _uses(self.block, OUT) else [])]
        self.settings = self.used("number")
        self.several = len(formula.tensors) > 1 or any(p.kind == "mask" for p in formula.parameters)

    def shared(self) -> Block:
        room = WIDTH - len("            grad_ = ") - max(map(len, self.names), default=0)
        taken = [f"grad_{name}" for name in self.names] + ["cls", "grad_output", "output"]
        return share(list(self.live.values()), self.formula, Namer(self.formula, taken), self.printer, room)

    def used(self, *kinds: str) -> list[str]:
        return [p.name for p in self.formula.parameters if p.kind in kinds and _uses(self.block, p.symbol)]

    def source(self, classic: bool) -> str:
        cls = _class_name(self.formula.name)
        head = [
            f"class {cls}(torch.autograd.Function):",
            f'    """``{self.formula.name}`` with its gradient written out."""',
            "",
        ]
        vmap = [] if classic else ["    generate_vmap_rule = True", ""]
        forward = self.classic_forward() if classic else self.forward()
        return _module([*head, *vmap, *_indent(forward), "", *_indent(self.backward())], [])

    def forward(self) -> list[str]:
        context = self.context()
        kept = {"output", *self.names}
        used = [n if any(_word(n, line) for line in context) else "_" for n in self.names if n in kept]
        unpack = f"({used[0]},) = inputs" if len(used) == 1 else fold(f"{', '.join(used)} = inputs", WIDTH - 8)
        inner = ([] if set(used) == {"_"} else [unpack]) + context or ["pass"]
        return [
            "@staticmethod",
            fold(f"def forward({', '.join(self.names)}):", WIDTH - 4),
            *_indent(_body(self.formula, 8)),
            "",
            "@staticmethod",
            "def setup_context(ctx, inputs, output):",
            *_indent(inner),
        ]

    def classic_forward(self) -> list[str]:
        context = self.context()
        kept = [*_body(self.formula, 8, "output = "), *context, "return output"]
        lines = kept if context else _body(self.formula, 8)
        head = fold(f"def forward(ctx, {', '.join(self.names)}):", WIDTH - 4)
        return ["@staticmethod", head, *_indent(lines)]

    def context(self) -> list[str]:
        """The lines that keep what backward needs."""
        saved = fold(f"ctx.save_for_backward({', '.join(self.saved)})", WIDTH - 8)
        lines = [saved] if self.saved else []
        lines += [f"ctx.{name} = {name}" for name in self.settings]
        lines += [f"ctx.{name}_is_complex = {name}.is_complex()" for name in self.live if self.turned_real(name)]
        return lines + [
            f"ctx.{name}_shape = {name}.shape" for name in self.live if self.several and name not in self.saved
        ]

    def backward(self) -> list[str]:
        lines = []
        if self.saved:
            lines += [
                f"({self.saved[0]},) = ctx.saved_tensors"
                if len(self.saved) == 1
                else f"{', '.join(self.saved)} = ctx.saved_tensors"
            ]
        lines += [f"{name} = ctx.{name}" for name in self.settings]
        lines += _of_real_tensors(self.cotangent_or(x.name) for x in self.kinds.mixed)
        if len(self.formula.parameters) == 1 and self.live:
            lines += [f"{self.printer(k)} = {self.printer(v)}" for k, v in self.block.shared]
            lines += [f"return {self.printer(self.block.results[0])}"]
        else:
            lines += self.by_argument()
        folded = [fold(line, WIDTH - 8) for line in lines]
        return ["@staticmethod", "def backward(ctx, grad_output):", *_indent(folded)]

    def cotangent_or(self, name: str) -> str:
        """An argument, or where it was not kept something that is complex as well."""
        return name if name in self.saved else "grad_output"

    def by_argument(self) -> list[str]:
        lines = _nothing([f"grad_{name}" for name in self.live], WIDTH - 8)
        uses = self.uses()
        lines += [self.statement(k, v) for k, v in self.block.shared if len(uses[k]) != 1]
        for name, result in zip(self.live, self.block.results, strict=True):
            own = [self.statement(k, v) for k, v in self.block.shared if uses[k] == {name}]
            lines += [
                f"if ctx.needs_input_grad[{self.names.index(name)}]:",
                *_indent(map(_fold_deep, [*own, *self.reduced(name, result)])),
            ]
        returned = [f"grad_{name}" if name in self.live else "None" for name in self.names]
        return [*lines, f"return {', '.join(returned)}"]

    def uses(self) -> dict[Term, set[str]]:
        """Which arguments' gradients each named part serves."""
        uses: dict[Term, set[str]] = {k: set() for k, _ in self.block.shared}
        for name, result in zip(self.live, self.block.results, strict=True):
            pending = list(result.free_symbols)
            while pending:
                part = pending.pop()
                if part in uses and name not in uses[part]:
                    uses[part].add(name)
                    pending += dict(self.block.shared)[part].free_symbols
        return uses

    def turned_real(self, name: str) -> bool:
        """Whether an argument may be real while its gradient is not."""
        complex_numbers = self.formula.domain == "complex" or is_complex(self.formula.out)
        return complex_numbers and self.several and symbol(name) in self.kinds.free

    def statement(self, name: Term, value: Term) -> str:
        return f"{self.printer(name)} = {self.printer(value)}"

    def reduced(self, name: str, result: Term) -> list[str]:
        """The statements that set one gradient, summed over broadcast dimensions."""
        turned = self.turned_real(name)
        if not self.several or (not turned and _is_summed(self.grads[name], symbol(name))):
            return [f"grad_{name} = {self.printer(result)}"]
        shape = f"{name}.shape" if name in self.saved else f"ctx.{name}_shape"
        if turned:
            return [
                f"grad_{name} = {self.printer(result)}",
                f"grad_{name} = grad_{name}.sum_to_size({shape})",
                f"grad_{name} = grad_{name} if ctx.{name}_is_complex else grad_{name}.real",
            ]
        line = f"grad_{name} = {self.printer.at(result, 7)}.sum_to_size({shape})"
        if len(line) + 12 <= WIDTH:
            return [line]
        return [f"grad_{name} = {self.printer(result)}", f"grad_{name} = grad_{name}.sum_to_size({shape})"]


def latex_source(formula: Formula) -> str:
    """The output and the gradient of each argument as LaTeX."""
    readable = {OUT: sp.Symbol("y"), COTANGENT: sp.Symbol("g")}
    left = {name: rf"\frac{{\partial L}}{{\partial {latex(symbol(name))}}}" for name in formula.tensors}
    grads = [f"{left[name]} &= {latex(term.xreplace(readable))}" for name, term in gradients(formula).items()]
    lines = [f"y &= {latex(formula.out)}", *grads]
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}", ""])


def _nothing(names: Sequence[str], room: int) -> list[str]:
    """Statements that set names to None, as few as fit."""
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + len(f" = {name}") <= room:
            lines[-1] = lines[-1].replace(" = None", f" = {name} = None")
        else:
            lines.append(f"{name} = None")
    return lines


def _is_summed(grad: Term, x: Term) -> bool:
    """Whether it is a sum of which a part has been summed to an argument's shape: the others fit into that."""
    parts = sp.Add.make_args(grad)
    return len(parts) > 1 and any(part.func is summed_to and part.args[1] == x for part in parts)


# text --------------------------------------------------------------------------------------------------------------


def _module(parts: Sequence[str], imports: list[str]) -> str:
    text = "\n".join(parts).rstrip() + "\n"
    head = ["import math", ""] if "math." in text.replace("torch.math", "") else []
    head += [*imports, *(["import torch"] if "torch." in text else []), "", ""]
    return "\n".join([*head, text])


def _names(formula: Formula) -> list[str]:
    return [p.name for p in formula.parameters]


def _signature(parameters: Iterable[Parameter]) -> str:
    words: list[str] = []
    for p in parameters:
        words += ["*"] if p.keyword_only and "*" not in words else []
        words += [f"{p.name}={p.default}" if p.default else p.name]
    return ", ".join(words)


def _used(formula: Formula, block: Block) -> list[str]:
    return [p.name for p in formula.parameters if _uses(block, p.symbol)]


def _uses(block: Block, name: Term) -> bool:
    return any(name in term.free_symbols for term in (*block.results, *(v for _, v in block.shared)))


def _body(formula: Formula, indent: int, result: str = "return ") -> list[str]:
    """The author's statements, long ones folded."""
    lines = list(formula.body) or _written(formula)
    lines[-1] = lines[-1].replace("return ", result, 1)
    return [fold(line, WIDTH - indent) for line in lines]


def _written(formula: Formula) -> list[str]:
    """The statements of a function that was read off a graph."""
    printer = Printer(formula)
    block = share([formula.out], formula, Namer(formula), printer, WIDTH)
    return [f"{printer(k)} = {printer(v)}" for k, v in block.shared] + [f"return {printer(block.results[0])}"]


def _fold_deep(line: str) -> str:
    return fold(line, WIDTH - 12)


def _indent(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" if line else "" for text in lines for line in text.split("\n")]


def _quoted(name: str) -> str:
    return f'"{name}"'


def _word(name: str, text: str) -> bool:
    return name in text.replace("(", " ").replace(")", " ").replace(",", " ").replace(".", " ").split()


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) if len(name) > 1 else "Formula"
