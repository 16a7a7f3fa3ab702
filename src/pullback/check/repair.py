"""Why a gradient is wrong: hypotheses, each tried by replaying backward or the reference with one thing changed.

The table says in which order they are tried. The first that makes the error vanish at every point is the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pullback.check.hypotheses import exchange, factor, incoming, order, parts, sums
from pullback.check.trouble import Cause, Trouble

TABLE: list[Callable[[Trouble], Cause | None]] = [
    incoming.no_gradient,
    incoming.ignored,
    incoming.other_output_dropped,
    sums.wrong_axis,
    incoming.scalarised,
    parts.drawn_again,
    order.inverse,
    factor.factor,
    order.swapped,
    order.conjugate,
    order.transposed,
    order.itself,
    order.halves,
    sums.overwritten,
    sums.unmasked,
    incoming.reordered,
    sums.elementwise,
    factor.gate,
    parts.constant_part,
    exchange.exchanged,
]


def causes(trouble: Trouble) -> Iterator[Cause]:
    """Every hypothesis that holds, the most telling first."""
    for hypothesis in TABLE:
        try:
            cause = hypothesis(trouble)
        except Exception:
            continue
        if cause is not None:
            yield cause


def cause(trouble: Trouble) -> Cause:
    """The cause of a wrong gradient."""
    return next(causes(trouble), None) or unexplained(trouble)


def unexplained(trouble: Trouble) -> Cause:
    """What can be said when no hypothesis holds."""
    return Cause(
        "wrong-derivative",
        f"the gradient of {trouble.name!r} is not the derivative of forward",
        "derive it again from forward",
    )
