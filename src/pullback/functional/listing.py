"""``pullback.catalogue()``: what there is, as a table."""

from __future__ import annotations

from pullback.errors import UsageError
from pullback.functional.record import RECORDS, Record

FAMILIES = {
    "accurate": "the common activations with all their digits",
    "learnable": "activations that learn",
    "gated": "gated units",
    "surrogate": "steps with the gradient of a smooth function, and straight-through rounding",
    "quantiser": "quantisers whose range is learnt",
    "modifier": "what changes a gradient and no value",
    "safe": "maths with finite gradients",
}
COLUMNS = ("name", "formula", "learns", "keeps", "ULP", "source")
WIDEST = 44


class Catalogue(tuple[Record, ...]):
    """Records, printed as a table."""

    def __repr__(self) -> str:
        rows = [COLUMNS, *map(cells, self)]
        widths = [min(WIDEST, max(len(row[i]) for row in rows)) for i in range(len(COLUMNS))]
        return "\n".join("  ".join(fit(cell, width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def cells(record: Record) -> tuple[str, ...]:
    """One row: name, formula, parameters, bits kept per element of float32, bound of the error, source."""
    bound = "; ".join(f"{u:g}" for u in record.ulp or ())
    return record.name, record.headline, ", ".join(record.parameters), f"{record.bits:g} bit", bound, record.source


def fit(text: str, width: int) -> str:
    """A text in exactly as many columns."""
    return (text if len(text) <= width else text[: width - 1] + "…").ljust(width)


def catalogue(family: str | None = None) -> Catalogue:
    """Every entry of `pullback.functional`: formula, what it learns, what it keeps, how accurate it is, its source.

    Args:
        family: One of the lists only: ``"accurate"``, ``"gated"``, ``"learnable"``, ``"modifier"``, ``"quantiser"``,
            ``"safe"`` or ``"surrogate"``; or the name of one entry.

    Returns:
        A tuple of records that prints as a table; each has ``name``, ``formula``, ``parameters``, ``bits``, ``ulp``,
        ``source`` and more. *keeps* is per element of the input in float32, when all arguments
        need a gradient; *ULP* bounds the error of value and gradient in units in the last place: over all inputs of
        16 bits, and in float32.

    Raises:
        UsageError: If there is no such family or entry.

    Example:
        >>> import pullback as pb
        >>> pb.catalogue("gated")
        name          formula                       learns  keeps   ULP  source
        geglu         gate * Phi(gate) * value              64 bit       Shazeer 2020, arXiv:2002.05202
        reglu         relu(gate) * value                    64 bit       Shazeer 2020, arXiv:2002.05202
        squared_relu  square(relu(x))                       32 bit       So et al. 2021 (Primer), arXiv:2109.08668
        swiglu        gate * sigmoid(gate) * value          64 bit       Shazeer 2020, arXiv:2002.05202
    """
    if family not in (None, *FAMILIES, *RECORDS):
        do = f"give one of {sorted(FAMILIES)}"
        raise UsageError("pullback.catalogue", "family is one of the lists, or an entry", repr(family), do)
    return Catalogue(RECORDS[name] for name in sorted(RECORDS) if family in (None, name, RECORDS[name].family))
