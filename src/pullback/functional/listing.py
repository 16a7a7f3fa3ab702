"""``pullback.catalogue()``: what there is, as a table."""

from __future__ import annotations

import torch

from pullback._tolerances import CERTIFIED
from pullback.errors import UsageError
from pullback.functional.record import RECORDS, Record
from pullback.functional.sample import kept_bits

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
    bound = f"{CERTIFIED[torch.bfloat16]:g}; {CERTIFIED[torch.float32]:g}" if record.certified else ""
    learns = ", ".join(record.parameters)
    return record.name, record.headline, learns, f"{kept_bits(record):g} bit", bound, record.source


def fit(text: str, width: int) -> str:
    """A text in exactly as many columns."""
    return (text if len(text) <= width else text[: width - 1] + "…").ljust(width)


def catalogue(family: str | None = None) -> Catalogue:
    """Every entry of `pullback.functional`: formula, what it learns, what it keeps, how accurate it is, its source.

    Args:
        family: One of the lists only: ``"accurate"``, ``"gated"``, ``"learnable"``, ``"modifier"``, ``"quantiser"``,
            ``"safe"`` or ``"surrogate"``.

    Returns:
        A tuple of records that prints as a table. *keeps* is per element of the input in float32, when all arguments
        need a gradient; *ULP* bounds the error of value and gradient in units in the last place: over all inputs of
        16 bits, and in float32.

    Raises:
        UsageError: If there is no such family.

    Example:
        >>> import pullback as pb
        >>> pb.catalogue("gated")
        name          formula                       learns  keeps   ULP  source
        geglu         gate * Phi(gate) * value              64 bit       Shazeer 2020, arXiv:2002.05202
        reglu         relu(gate) * value                    64 bit       Shazeer 2020, arXiv:2002.05202
        squared_relu  square(relu(x))                       32 bit       So et al. 2021 (Primer), arXiv:2109.08668
        swiglu        gate * sigmoid(gate) * value          64 bit       Shazeer 2020, arXiv:2002.05202
    """
    families = sorted({record.family for record in RECORDS.values()})
    if family is not None and family not in families:
        raise UsageError("pullback.catalogue", "family is one of the lists", repr(family), f"give one of {families}")
    return Catalogue(RECORDS[name] for name in sorted(RECORDS) if family in (None, RECORDS[name].family))
