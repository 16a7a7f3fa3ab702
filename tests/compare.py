"""Reference gradients, and comparisons with the tolerances of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from cases import Case, Inputs, Make

from pullback._tolerances import gradient_tolerance, value_tolerance

Tensors = Sequence[torch.Tensor]


def assert_values(actual: Tensors, expected: Tensors) -> None:
    """Values agree within a few roundings, in shape and dtype too."""
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, **value_tolerance(e.dtype)._asdict(), equal_nan=True)


def assert_gradients(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    """Gradients agree within the table's tolerance, in shape and dtype too; ``None`` is zero."""
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        if a is None and e is None:
            continue
        e = torch.zeros_like(a) if e is None else e
        a = torch.zeros_like(e) if a is None else a
        torch.testing.assert_close(a.detach(), e.detach(), **gradient_tolerance(e.dtype)._asdict(), equal_nan=True)


def leaves(tensors: Tensors, need: Sequence[bool] | None = None) -> list[torch.Tensor]:
    """Fresh copies, of which those in ``need`` require a gradient."""
    need = [True] * len(tensors) if need is None else need
    return [t.detach().clone().requires_grad_(n) for t, n in zip(tensors, need, strict=True)]


def cotangents(outputs: Tensors, seed: int = 1) -> list[torch.Tensor]:
    """Random cotangents for outputs."""
    make = Make(seed=seed)
    drawn = [make.complex(*o.shape) if o.is_complex() else make(*o.shape) for o in outputs]
    return [d.to(o.dtype) for d, o in zip(drawn, outputs, strict=True)]


def declared(inputs: Inputs, tensors: Tensors, gs: Tensors, *, again: bool = False) -> list[torch.Tensor]:
    """The declared gradients, by PyTorch's autograd of the reference formulas; ``again`` to differentiate them too."""
    found: list[torch.Tensor] = []
    for name in dict.fromkeys(inputs.owners):
        mine = [t for t, owner in zip(tensors, inputs.owners, strict=True) if owner == name]
        outputs = inputs.flat(inputs.case.smooth_for(name))(*tensors)
        found += _pulled(outputs, mine, gs, again)
    return found


def _pulled(outputs: Tensors, tensors: Tensors, gs: Tensors, again: bool) -> list[torch.Tensor]:
    pairs = [(o, g) for o, g in zip(outputs, gs, strict=True) if o.requires_grad]
    wanted = [t for t in tensors if t.requires_grad]
    if not pairs or not wanted:
        return [torch.zeros_like(t) for t in tensors]
    outs, grads = zip(*pairs, strict=True)
    supply = iter(torch.autograd.grad(outs, wanted, grads, create_graph=again, allow_unused=True))
    found = [next(supply) if t.requires_grad else None for t in tensors]
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


def gradients(inputs: Inputs, tensors: Tensors, gs: Tensors, *, again: bool = False) -> list[Any]:
    """The gradients by the Function."""
    outputs = inputs.flat(inputs.case.fn)(*tensors)
    wanted = [t for t in tensors if t.requires_grad]
    pairs = [(o, g) for o, g in zip(outputs, gs, strict=True) if o.requires_grad]
    if not pairs:
        return [None for _ in tensors]
    outs, grads = zip(*pairs, strict=True)
    supply = iter(torch.autograd.grad(outs, wanted, grads, create_graph=again, allow_unused=True))
    return [next(supply) if t.requires_grad else None for t in tensors]


def outputs_of(case: Case, dtype: torch.dtype = torch.float64) -> tuple[Inputs, Tensors]:
    """A sample and the differentiable outputs of the plain formula."""
    inputs = case.inputs(dtype)
    return inputs, inputs.flat(case.plain)(*inputs.tensors)


def jacobian(inputs: Inputs, tensors: Tensors) -> list[list[torch.Tensor]]:
    """The declared Jacobian, real: for each output and each tensor a matrix, one row per element of the output."""
    tensors = leaves(tensors)
    outputs = inputs.flat(inputs.case.plain)(*[t.detach() for t in tensors])
    return [_rows(inputs, tensors, outputs, i) for i in range(len(outputs))]


def _rows(inputs: Inputs, tensors: Tensors, outputs: Tensors, which: int) -> list[torch.Tensor]:
    columns: list[list[torch.Tensor]] = [[] for _ in tensors]
    for k in range(outputs[which].numel()):
        gs = [torch.zeros_like(o) for o in outputs]
        gs[which].view(-1)[k] = 1
        for column, gradient in zip(columns, declared(inputs, tensors, gs), strict=True):
            column.append(gradient.reshape(-1))
    return [torch.stack(c) if c else t.new_zeros(0, t.numel()) for c, t in zip(columns, tensors, strict=True)]
