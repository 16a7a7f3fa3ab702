"""The smallest case that still fails: fewer elements, plainer numbers; and the script that shows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from pullback.check import compare, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, filled
from pullback.check.reference import Reference
from pullback.check.samples import Sample

SECONDS = 0.1  # for the whole search
LONGEST = 8  # numbers in a row up to which a script stays readable
ELEMENTS = 24
DIGITS = (1, 2, 3)


@dataclass(frozen=True)
class Small:
    """Arguments and incoming gradients at which a gradient is wrong, and what it is and should be."""

    arguments: Arguments
    incoming: list[torch.Tensor | None]
    got: torch.Tensor | None
    expected: torch.Tensor


def smallest(case: Case, truth: Reference, leaf: int, sample: Sample) -> Small | None:
    """The smallest failing case that is found in a moment, from one that fails."""
    deadline = time.perf_counter() + SECONDS
    best = _failing(case, truth, leaf, sample.arguments, sample)
    shrinking = best is not None
    while shrinking and best is not None and time.perf_counter() < deadline:
        shrinking = False
        for arguments in _smaller(best.arguments):
            found = _failing(case, truth, leaf, arguments, None)
            if found is not None:
                best, shrinking = found, True
                break
            if time.perf_counter() > deadline:
                break
    return _plainer(case, truth, leaf, best) if best is not None else None


def _failing(case: Case, truth: Reference, leaf: int, arguments: Arguments, sample: Sample | None) -> Small | None:
    """The case, if its gradient is wrong."""
    incoming = sample.incoming if sample is not None else _plain
    outcome = case.run(arguments, incoming)
    if not outcome.ok or not all(bool(torch.isfinite(o).all()) for o in outcome.outputs if tree.is_differentiable(o)):
        return None
    weights = incoming if isinstance(incoming, list) else _plain(outcome.outputs)
    weights = [g if o.requires_grad else None for g, o in zip(weights, outcome.outputs, strict=True)]
    try:
        grads = truth.gradients(arguments, filled(outcome.outputs, weights))
        got = truth.seen(arguments, outcome.grads)[leaf]
    except Exception:  # outside of the reference's domain
        return None
    expected = grads[leaf]
    if expected is None or not bool(torch.isfinite(expected).all()) or compare.same(got, expected, truth.level):
        return None
    return Small(arguments, weights, got, expected)


def _plain(outputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """Incoming gradients that are easy to read: 1, -2, 3, … so that no two are the same."""
    return [_counted(out) if tree.is_differentiable(out) else None for out in outputs]


def _counted(out: torch.Tensor) -> torch.Tensor:
    count = torch.arange(1, out.numel() + 1, dtype=torch.float64)
    return (count * (-1.0) ** (count + 1)).reshape(out.shape).to(out.dtype)


def _smaller(arguments: Arguments) -> Iterator[Arguments]:
    """Every size cut to one, to two or to half, wherever it occurs at once."""
    tensors = tree.tensors(arguments.values)
    for size in sorted({n for t in tensors for n in t.shape if n > 1}, reverse=True):
        for shorter in dict.fromkeys(k for k in (1, 2, size // 2) if 0 < k < size):
            yield _cut(arguments, size, shorter, range(len(arguments.leaves)))
    for index, leaf in enumerate(arguments.leaves):
        if isinstance(leaf, torch.Tensor):
            for size in sorted({n for n in leaf.shape if n > 1}, reverse=True):
                yield _cut(arguments, size, 1, (index,))


def _cut(arguments: Arguments, size: int, shorter: int, where: Any) -> Arguments:
    flat = arguments.leaves
    for index in where:
        x = flat[index]
        if isinstance(x, torch.Tensor):
            for dim, n in enumerate(x.shape):
                x = x.narrow(dim, 0, shorter) if n == size else x
            flat[index] = x.contiguous()
    return arguments.with_leaves(flat)


def _plainer(case: Case, truth: Reference, leaf: int, small: Small) -> Small:
    """The same with rounded numbers, as few digits as still fail."""
    for digits in DIGITS:
        rounded = [_rounded(x, digits) for x in small.arguments.differentiable]
        found = _failing(case, truth, leaf, small.arguments.with_differentiable(rounded), None)
        if found is not None:
            return found
    return small


def _rounded(x: torch.Tensor, digits: int) -> torch.Tensor:
    """Few digits, and nothing at zero, where kinks are."""
    if x.is_complex():
        return x
    short = torch.round(x, decimals=digits)
    return torch.where(short == 0, torch.where(x < 0, -0.5, 0.5).to(x.dtype), short)


def script(case: Case, small: Small, name: str) -> str | None:
    """What to paste to see it; None where the arguments cannot be written down in a few lines."""
    flat, target = small.arguments.leaves, case.target
    if sum(t.numel() for t in tree.tensors(flat)) > ELEMENTS or not all(_writable(x) for x in flat):
        return None
    if case.target.call is not None or target.kind not in ("autograd.Function", "pullback.Function", "callable"):
        return None
    texts = [_text(x, index in small.arguments.diff) for index, x in enumerate(flat)]
    values = tree.rebuild(small.arguments.values, iter(map(_Verbatim, texts)))
    names = [_fresh(target.parameter(i)) for i in range(len(values))]
    lines = ["import torch", f"# from … import {target.name}"]
    lines += [f"{n} = {v!r}" for n, v in zip(names, values, strict=True)]
    shown = f"{target.name}{'.apply' if target.function is not None else ''}"
    position = small.arguments.diff[small.arguments.diff_names.index(name)]
    wanted = names[small.arguments.position(position)]
    weights = [g for g in small.incoming if g is not None]
    if len(weights) != len(small.incoming) or not isinstance(small.arguments.values[small.arguments.position(position)],
                                                              torch.Tensor):  # fmt: skip
        return None
    grads = _text(weights[0], False) if len(weights) == 1 else f"[{', '.join(_text(g, False) for g in weights)}]"
    lines += [f"out = {shown}({', '.join(names)})",
              f"print(torch.autograd.grad(out, {wanted}, {grads}, allow_unused=True)[0])  # got {_list(small.got)}",
              f"# right: {_list(small.expected)}"]  # fmt: skip
    return "\n".join(lines)


class _Verbatim:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _fresh(name: str) -> str:
    return name.replace("[", "_").replace("]", "")


def _writable(leaf: object) -> bool:
    return leaf is None or isinstance(leaf, (torch.Tensor, bool, int, float, str))


def _text(leaf: Any, wanted: bool) -> str:
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)
    kind = "" if leaf.dtype in (torch.int64, torch.bool) else f", dtype={leaf.dtype}"
    empty = f".reshape({tuple(leaf.shape)})" if not leaf.numel() else ""
    return f"torch.tensor({_list(leaf)}{kind}{', requires_grad=True' if wanted else ''}){empty}"


def _list(tensor: torch.Tensor | None) -> str:
    if tensor is None:
        return "None"
    rounded = tensor.detach() if not tensor.is_floating_point() else tensor.detach().double()
    return str(tree.transform(_short, rounded.tolist()))


def _short(number: Any) -> Any:
    return float(f"{number:.7g}") if isinstance(number, float) else number


def evidence(case: Case, truth: Reference, leaf: int, sample: Sample) -> dict[str, Any]:
    """What a finding carries of the smallest case: the shapes and the script."""
    try:
        small = smallest(case, truth, leaf, sample)
        if small is None:
            return {}
        shapes = {n: list(x.shape) for n, x in zip(case.arguments.names, small.arguments.leaves, strict=True)
                  if isinstance(x, torch.Tensor)}  # fmt: skip
        text = script(case, small, case.arguments.diff_names[leaf])
    except Exception:  # the target does not like small cases
        return {}
    return {"smallest": shapes} | ({"script": text} if text else {})
