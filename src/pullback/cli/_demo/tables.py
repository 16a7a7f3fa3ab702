"""The tables that the demo prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from pullback.cli._demo.cases import Row
from pullback.cli._demo.training import History

TINY = 1e-9
LEGEND = """\
off by: the largest difference from plain PyTorch in float64, with the gradient that is meant
kept, plain: bytes per element kept for backward, here and in plain PyTorch (–: it has no such gradient)"""


def functions(rows: Sequence[Row]) -> Table:
    """Each Function: value and gradients, how far they are from the reference, what is kept, and the path."""
    table = _table("Functions, and what they give")
    for heading in ("function", "at", "value", "gradient"):
        table.add_column(heading, no_wrap=heading == "function")
    for heading in ("off by", "kept", "plain"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("path")
    for row in rows:
        table.add_row(*_cells(row))
    table.caption = LEGEND
    return table


def _table(title: str) -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title, title_justify="left", caption_justify="left")


def _cells(row: Row) -> list[str]:
    return [
        row.name,
        _arguments(row.inputs),
        _short(row.value),
        _arguments(row.gradients),
        f"{row.error:.0e}" if row.error else "0",
        f"{row.kept:g} B",
        "–" if row.plain_kept is None else f"{row.plain_kept:g} B",
        row.path,
    ]


def _arguments(values: dict[str, Any]) -> str:
    """The first argument's numbers; below them, those of the others with their names."""
    first, *others = values.items()
    line = "  ".join(f"{name} {_short(value)}" for name, value in others)
    return _short(first[1]) + ("\n" + line if line else "")


def _short(value: Any) -> str:
    """A number with three digits, or a list of such."""
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:.3g}" if abs(value) > TINY else "0"


def networks(histories: dict[str, History]) -> Table:
    """Both networks beside each other."""
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title="The same network on 450 test images", title_justify="left"
    )
    table.add_column("activations")
    table.add_column("loss", justify="right")
    table.add_column("test accuracy", justify="right")
    for name, history in histories.items():
        table.add_row(name, f"{history.losses[-1]:.4f}", f"{history.accuracies[-1]:.4f}")
    return table


def parameters(history: History) -> Table:
    """How the learnt parameters moved from their start."""
    table = _table("What the activations learnt")
    table.add_column("parameter")
    for heading in ("start", "end", "moved by"):
        table.add_column(heading, justify="right")
    for name, path in history.paths.items():
        table.add_row(name, f"{path[0]:.3f}", f"{path[-1]:.3f}", f"{path[-1] - path[0]:+.3f}")
    return table
