"""What a surrogate gradient looks like: area, peak, support, and the known one that it is nearest to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pullback.check import reference, state, tree
from pullback.check.case import Case, pull

REACH, POINTS = 10.0, 4001
NEGLIGIBLE = 1e-3  # of the peak: what lies beyond is outside of the support
NEAR = 0.03  # of the peak: how far a shape may be off and still be called by its name
SHAPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {  # each is 1 at 0 and 1/2 at ±1
    "fast sigmoid": lambda u: 1 / (1 + (2**0.5 - 1) * u.abs()) ** 2,
    "derivative of a sigmoid": lambda u: torch.cosh(0.881373587019543 * u) ** -2,
    "arctan": lambda u: 1 / (1 + u * u),
    "Gaussian": lambda u: 2 ** -(u * u),
    "triangle": lambda u: (1 - u.abs() / 2).clamp_min(0),
    "two-sided exponential": lambda u: 2 ** -u.abs(),
    "rectangle": lambda u: (u.abs() <= 1).to(u.dtype),
}


def described(case: Case, leaf: int) -> dict[str, Any]:
    """The gradient as a function of one element: numbers and a name; nothing where it is not such a function."""
    try:
        if not reference.is_pointwise(case, leaf):
            return {}
        grid = torch.linspace(-REACH, REACH, POINTS, dtype=torch.float64)
        return _measured(grid, _profile(case, leaf, grid))
    except Exception:  # the author's code does not take so many elements
        return {}


def text(facts: dict[str, Any]) -> str:
    """The same in words."""
    if not facts:
        return ""
    if "constant" in facts:
        return f"{facts['constant']:.4g} everywhere: straight through"
    low, high = facts["support"]
    named = f", nearest known: {facts['nearest']}" if "nearest" in facts else ""
    peak = f"peak {facts['peak']:.3g} at {facts['at']:.3g}"
    return f"area {facts['area']:.3g}, {peak}, support [{low:.3g}, {high:.3g}]{named}"


def _profile(case: Case, leaf: int, grid: torch.Tensor) -> torch.Tensor:
    """The gradient for an incoming gradient of one, along the grid."""
    x = case.arguments.differentiable[leaf]
    flat = [_spread(value, x.shape, grid) for value in case.arguments.leaves]
    flat[case.arguments.diff[leaf]] = grid
    state.seed()
    leaves, passed = case.arguments.with_leaves(flat).fresh()
    outputs = tree.tensors(case.target.apply(*passed))
    found = pull(outputs, leaves, [torch.ones_like(out) if out.requires_grad else None for out in outputs])[leaf]
    return torch.zeros_like(grid) if found is None else found.detach()


def _spread(value: Any, shape: torch.Size, grid: torch.Tensor) -> Any:
    """An argument of the shape of the one that is looked at, as its first element everywhere."""
    if isinstance(value, torch.Tensor) and value.shape == shape and value.numel():
        return value.reshape(-1)[:1].expand(grid.shape).clone()
    return value


def _measured(grid: torch.Tensor, profile: torch.Tensor) -> dict[str, Any]:
    if not bool(torch.isfinite(profile).all()) or not bool(profile.any()):
        return {}
    if bool((profile == profile[0]).all()):
        return {"constant": float(profile[0])}
    level = profile.abs() == profile.abs().max()
    top = int(level.nonzero().reshape(-1).median())  # the middle of a plateau
    peak, at = float(profile[top]), float(grid[top])
    inside = grid[(profile.abs() > NEGLIGIBLE * abs(peak))]
    facts: dict[str, Any] = {
        "area": float(torch.trapezoid(profile, grid)),
        "peak": peak,
        "at": at,
        "support": [float(inside[0]), float(inside[-1])],
    }
    nearest = _nearest(grid - at, profile / peak)
    return facts | ({"nearest": nearest} if nearest else {})


def _nearest(offset: torch.Tensor, shape: torch.Tensor) -> str | None:
    """The name of the known shape of the same width that differs least, if any is near."""
    half = offset[shape >= 0.5]
    width = float((half[-1] - half[0]) / 2)
    if width <= 0:
        return None
    # a jump between two points of the grid cannot be compared there
    smooth = torch.ones_like(shape, dtype=torch.bool)
    smooth[1:-1] = (shape[2:] - shape[:-2]).abs() < 0.25
    errors = {name: float((fn(offset / width) - shape)[smooth].abs().max()) for name, fn in SHAPES.items()}
    best = min(errors, key=lambda name: errors[name])
    return best if errors[best] < NEAR else None
