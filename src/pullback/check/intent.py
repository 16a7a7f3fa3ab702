"""Gradients that differ on purpose: surrogates, straight-through estimators, gradient modifiers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

import torch

from pullback._torch import TorchFunctionMode
from pullback.check import compare, context, state
from pullback.check.case import Case
from pullback.check.inferred import names
from pullback.check.samples import Sample
from pullback.define.decorate import function_of
from pullback.define.derivative import Derived

HINT = re.compile(
    r"(?<![a-z])ste(?![a-z])|straight.?through|surrogate|pass.?through|lower.?bound|upper.?bound|fake.?quant|spik|"
    r"revers|grad\w*.?(scal|clip|mod|hook|multipl)|(scal|clip|stop|detach|fak)\w*.?grad|binari[sz]|round|quant|guided",
    re.IGNORECASE,
)


def is_declared(case: Case, name: str) -> bool:
    """Whether a pullback Function says that the gradient of an argument is meant to differ."""
    made = function_of(case.target.subject)
    rule = None if made is None else made.declared(name.partition("[")[0])
    return rule is not None and (rule.surrogate or (isinstance(rule, Derived) and rule.smooth))


def is_flat(samples: Sequence[Sample], leaf: int) -> bool:
    """Whether the output is locally constant in a leaf at every point."""
    return all(compare.is_zero(sample.expected[leaf]) for sample in samples)


def is_identity(samples: Sequence[Sample], leaf: int) -> bool:
    """Whether forward hands a leaf through: its right gradient is the incoming one."""
    for sample in samples:
        expected = sample.expected[leaf]
        incoming = [g for g in sample.incoming if g is not None]
        if expected is None or not any(_equal(expected, g) for g in incoming):
            return False
        x = sample.arguments.differentiable[leaf]
        if not any(_equal(out, x) for out in sample.outputs):
            return False
    return bool(samples)


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.numel() == b.numel() and compare.same(a.reshape(-1), b.reshape(-1).to(a.dtype))


def differs_where_flat(samples: Sequence[Sample], leaf: int, level: str) -> bool:
    """Whether the target's gradient is right wherever the right one is not zero."""
    for sample in samples:
        got, expected = sample.got[leaf], sample.expected[leaf]
        if got is None or expected is None or got.shape != expected.shape:
            return False
        if bool((compare.wrong(got, expected, level) & (expected != 0)).any()):
            return False
    return True


def hinted(case: Case) -> bool:
    """Whether the author says in name, docstring or comment that the gradient is meant to differ."""
    if "surrogate" in case.target.notes:
        return True
    subject = case.target.subject
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", case.target.name) + " " + (inspect.getdoc(subject) or "")
    if (subject.__doc__ or "") == (torch.autograd.Function.__doc__ or ""):
        words = case.target.name
    return bool(HINT.search(words) or HINT.search(case.target.name) or _source_says(subject) or _leaks(case))


SAYS = re.compile(
    r"surrogate|super.?spike|straight.?through|heaviside|(sign|gradient) estimator|pseudo.?(gradient|derivative)|"
    r"substitut\w+ (the )?(gradient|derivative)|lineari[sz]e|binari[sz]|\bspik(es?|ing)\b|"
    r"(?-i:\bSTE\b)|(?<!mark_)non.?differentiable",
    re.IGNORECASE,
)


def _source_says(subject: object) -> bool:
    try:
        return bool(SAYS.search(inspect.getsource(subject)))  # type: ignore[arg-type]
    except (OSError, TypeError):
        return False


LEAK = re.compile(r"grad\w*\[.*[<>].*\] *\*?= *-?(?!0*\.?0* *$)\.?\d[\w.-]* *$", re.MULTILINE)


def _leaks(case: Case) -> bool:
    """Whether backward writes a small number into the gradient where a condition holds: no formula does that."""
    try:
        return case.target.backward is not None and bool(LEAK.search(inspect.getsource(case.target.backward)))
    except (OSError, TypeError):
        return False


def is_marked(case: Case) -> bool:
    """Whether a comment for this checker says so: then even what no rule explains is taken as meant."""
    return "surrogate" in case.target.notes


def says_surrogate(case: Case) -> bool:
    """Whether the word is in the code."""
    return _source_says(case.target.subject)


CONVENTION = re.compile(
    r"\b(SO3|SE3|RxSO3|Sim3|so3|se3|rxso3|sim3)(_|\b)|"
    r"(?i:\blie (group|algebra)|tangent (space|vector)|manifold|riemannian|natural_?(grad|to))|"
    r"(?si:^class \w*adjoint.*\b(dt|step_size)\b)|"  # of the differential equation that forward takes a step of
    r"(?s:^class \w*(?<!Up)(?<!Down)Sample\(.*(\.normal_|rand\w*)\()"  # of the distribution that forward draws from
)


def is_by_convention(case: Case) -> bool:
    """Whether the gradient may be that of a manifold, an equation or a distribution: a convention of the author's."""
    try:
        text = inspect.getsource(case.target.subject)
    except (OSError, TypeError):
        text = case.target.name
    return bool(CONVENTION.search(text))


def is_of_zeros_and_ones(case: Case, name: str) -> bool:
    """Whether the author says that an argument takes no other values: then forward has no derivative there."""
    try:
        return "binary" in names.by_words(name, inspect.getsource(case.target.subject))
    except (OSError, TypeError):
        return False


ROUNDING = {
    torch.round, torch.floor, torch.ceil, torch.trunc, torch.sign, torch.Tensor.round, torch.Tensor.floor,
    torch.Tensor.ceil, torch.Tensor.trunc, torch.Tensor.sign, torch.fix, torch.Tensor.fix,
}  # fmt: skip


INPLACE = {torch.Tensor.round_, torch.Tensor.floor_, torch.Tensor.ceil_, torch.Tensor.trunc_, torch.Tensor.sign_}


class StraightThrough(TorchFunctionMode):
    """Lets gradients pass through rounding while a forward runs: the usual meaning of a quantiser's gradient."""

    met = False

    def __torch_function__(self, func: object, types: object, args: tuple = (), kwargs: dict | None = None) -> object:  # type: ignore[type-arg]
        result = func(*args, **(kwargs or {}))  # type: ignore[operator]
        self.met |= func in INPLACE
        if func in ROUNDING and isinstance(args[0], torch.Tensor) and args[0].requires_grad:
            self.met = True
            return args[0] + (result - args[0]).detach()
        return result


def rounds(case: Case) -> bool:
    """Whether forward rounds something on the way from its arguments: then it is a quantiser, whatever it is called."""
    if case.target.plain is None:
        return False
    try:
        state.seed()
        _, passed = case.arguments.fresh()
        with StraightThrough() as through:
            case.target.plain(context.Context((True,) * len(passed)), *passed)
    except Exception:  # the author's code does not run like this
        return False
    return bool(through.met)
