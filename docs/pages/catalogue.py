"""The page of the catalogue, from its records.

Run as a script it draws every entry, value and gradient, into a folder, which needs matplotlib. Pictures are not
committed; on the page every entry has a line of text instead.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import torch

from pullback._tolerances import CERTIFIED
from pullback.functional.listing import FAMILIES
from pullback.functional.record import RECORDS, Record
from pullback.nn import CLASSES

PAGE = Path(__file__).parents[1] / "catalogue.md"
START, END = "<!-- entries: written by docs/pages/catalogue.py -->", "<!-- end of entries -->"
LEVELS = "▁▂▃▄▅▆▇█"
HEADER = ["function", "module", "formula", "learns", "keeps", "value", "gradient", "source"]


def curve(record: Record, points: int = 201) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs, values and gradients over the domain, other arguments at 1 and parameters at their initial values.

    Of a function of a vector: of (x, 1), the first of its values.
    """
    low, high = record.domain
    x = torch.linspace(low, high, points, dtype=torch.float64, requires_grad=True)
    if "dim" in record.options and callable(record.formula):
        y = record.function(torch.stack([x, torch.ones_like(x)], 1), dim=1).reshape(points, -1)[:, 0]
        (slope,) = torch.autograd.grad(y.sum(), x)
        return x.detach(), y.detach(), slope
    others = {n: torch.ones_like(x) for n in record.tensors[1:]}
    parameters = {n: torch.tensor(p.initial, dtype=torch.float64) for n, p in record.parameters.items()}
    quiet = {"log": len} if "log" in record.options else {}
    y = record.function(**{record.tensors[0]: x, **others, **parameters, **quiet})
    (slope,) = torch.autograd.grad(y.sum(), x, materialize_grads=True)
    return x.detach(), y.detach(), slope


def line(values: torch.Tensor) -> str:
    """A curve in one line of text."""
    span = float(values.max() - values.min())
    scaled = (values - values.min()) / span if span else torch.full_like(values, 0.5)
    return "".join(LEVELS[min(int(8 * float(v)), 7)] for v in scaled)


def plain(signature: inspect.Signature) -> str:
    """The arguments with their defaults, without types."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty)).replace(repr(print), "print")


def row(record: Record) -> list[str]:
    """One row of the table."""
    drawn = [f"`{line(v)}`" for v in curve(record, 17)[1:]]
    learns = ", ".join(f"{n} = {p.initial:g}" for n, p in record.parameters.items() if isinstance(p.initial, float))
    module = record.module and f"`{record.module}{plain(CLASSES[record.module].arguments)}`"
    names = [f"`{record.name}{plain(inspect.signature(record.function))}`", module, f"`{record.headline}`"]
    cells = [*names, learns or ", ".join(record.parameters), f"{record.bits:g} bit", *drawn, record.source]
    return [cell.replace("|", "\\|") for cell in cells]


def section(family: str) -> str:
    """One family: a heading and a table."""
    records = [r for _, r in sorted(RECORDS.items()) if r.family == family]
    rows = [HEADER, ["---"] * len(HEADER), *map(row, records)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    eager = "".join(f"\n- `{r.name}`: {r.unfused}" for r in records if r.unfused)
    return f"## {family}: {FAMILIES[family]}\n\n{table}" + (f"\n\nNot fused:\n{eager}" if eager else "")


def page() -> str:
    """The page as it is, with its generated part anew."""
    before, _, rest = PAGE.read_text().partition(START)
    return f"{before}{START}\n\n{entries()}\n\n{END}{rest.partition(END)[2]}"


def entries() -> str:
    """The generated part of the page."""
    bars = f"{CERTIFIED[torch.bfloat16]:g} ULP in bfloat16 and float16, {CERTIFIED[torch.float32]:g} ULP in float32"
    head = f"Values and gradients of the first list are off by at most {bars}: see [accuracy](accuracy.md)."
    return "\n\n".join([head, *map(section, FAMILIES)])


def draw(folder: Path) -> None:
    """A picture of each entry."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    for record in RECORDS.values():
        figure = Figure(figsize=(4.6, 3.4), dpi=110, layout="constrained")
        axes = figure.subplots()
        x, y, slope = curve(record)
        axes.plot(x, y, color="#0072B2", label="value")
        axes.plot(x, slope, color="#D55E00", linestyle="--", label="gradient")
        axes.set_title(record.name)
        axes.legend()
        figure.savefig(folder / f"{record.name}.png")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
