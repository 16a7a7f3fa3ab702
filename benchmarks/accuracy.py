"""How many units in the last place values and gradients are off, over all inputs of 16 bits and a stride of float32.

``python benchmarks/accuracy.py silu`` measures one entry of the catalogue beside PyTorch's own function. Without a
name, all certified entries; with ``--write`` their table goes into docs/accuracy.md. The reference is the formula in
float64, in a stable form; on the worst inputs, and on a few of every magnitude, it is itself compared with mpmath.

``python benchmarks/accuracy.py "x * torch.sigmoid(x)"`` measures a formula: as PyTorch computes it, as torch.compile
does, and as the Function that ``pullback derive`` writes for it. The reference is mpmath, for every input; so there are
fewer of float32.

``--time`` measures what the digits cost instead: forward and backward beside PyTorch and beside the kernel of the same
formula in float32, in turns, as CPU time of one thread. Kernels are waited for.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import pullback as pb
from pullback._tolerances import CERTIFIED
from pullback.functional.record import RECORDS, Record
from pullback.functional.reference import EXACT, double, exact, exact_slope

PAGE = Path(__file__).parents[1] / "docs/accuracy.md"
START, END = "<!-- accuracy: written by benchmarks/accuracy.py -->", "<!-- end of accuracy -->"
COST, COST_END = "<!-- time: written by benchmarks/accuracy.py --time -->", "<!-- end of time -->"
EDGES = (0.5, 0.55, 1.0, 10.0, 100.0, math.inf)
CHUNK = 1 << 20
COSTLY = 3.3  # times what the kernel of the formula in float32 takes
LEVELS = "·-=+#"  # of the map: up to half a unit, one, ten, a hundred, more


@dataclass(frozen=True)
class Format:
    """A floating-point format: significant bits, and the exponent of the smallest normal number."""

    dtype: torch.dtype
    bits: int
    least: int

    def units(self, values: torch.Tensor) -> torch.Tensor:
        """The unit in the last place at each of some float64 values."""
        exponent = torch.frexp(values.abs())[1].clamp(min=self.least + 1) - 1
        return torch.exp2((exponent - self.bits + 1).double())

    def error(self, got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """How many units results are from float64 references; what rounds to infinity may be infinite."""
        off = (got.double() - expected).abs() / self.units(expected)
        right = (got == expected.to(self.dtype)) & ~torch.isfinite(got)
        return torch.nan_to_num(torch.where(right, 0.0, off), nan=math.inf, posinf=math.inf)


FORMATS = {
    "bfloat16": Format(torch.bfloat16, 8, -126),
    "float16": Format(torch.float16, 11, -14),
    "float32": Format(torch.float32, 24, -126),
}


def inputs(dtype: torch.dtype, count: int = 1 << 24) -> Iterator[torch.Tensor]:
    """All finite numbers of 16 bits; in float32 every 2³²/count-th bit pattern, odd and even ones in turn."""
    if dtype != torch.float32:
        bits = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(dtype)
        yield bits[torch.isfinite(bits)]
        return
    stride = (1 << 32) // count
    for start in range(-(1 << 31), 1 << 31, CHUNK * stride):
        pattern = torch.arange(start, min(start + CHUNK * stride, 1 << 31), stride)
        pattern = pattern + (torch.arange(len(pattern)) * 7919) % stride
        x = pattern.to(torch.int32).view(dtype)
        yield x[torch.isfinite(x)]


@dataclass
class Tally:
    """Errors of one function over many inputs."""

    worst: float = 0.0
    at: float = math.nan
    count: int = 0
    infinite: int = 0  # results that are not finite where the true one is
    above: tuple[int, ...] = (0,) * len(EDGES)
    binades: torch.Tensor = field(default_factory=lambda: torch.full((2, 512), -1.0, dtype=torch.float64))

    def add(self, x: torch.Tensor, error: torch.Tensor) -> None:
        """Count the errors of one part of the inputs."""
        i = int(error.argmax())
        if self.count == 0 or float(error[i]) > self.worst:
            self.worst, self.at = float(error[i]), float(x[i])
        self.count += len(x)
        new = (int(((error > low) & (error <= high)).sum()) for low, high in zip((-1.0, *EDGES[:-1]), EDGES))
        self.above = tuple(a + b for a, b in zip(self.above, new))
        place = torch.frexp(x.double())[1].long() + 256 + 512 * (x < 0)
        self.binades.view(-1).scatter_reduce_(0, place, error, "amax")


@dataclass(frozen=True)
class Reference:
    """The true values and slopes: of a record by float64, of a formula in PyTorch's names by mpmath."""

    value: str
    slope: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both, in float64, at some inputs."""
        if not self.slope:
            pairs = [self.exactly(float(v)) for v in x]
            return tuple(torch.tensor(column, dtype=torch.float64) for column in zip(*pairs))  # type: ignore[return-value]
        x = x.double()
        value, slope = (double(f, x=x, **self.options).expand_as(x) for f in (self.value, self.slope))
        return value, slope

    def exactly(self, x: float) -> tuple[float, float]:
        """Both by mpmath, the slope by differences; NaN where there are none."""
        try:
            names = {} if self.slope else TORCH
            value = exact(self.value, x=x, **self.options, **names)
            return float(value), float(exact_slope(self.value, "x", x=x, **self.options, **names))
        except (TypeError, ValueError, ZeroDivisionError):
            return math.nan, math.nan

    def disagreement(self, form: Format, points: Iterable[float]) -> float:
        """By how many units the two references differ at most, at some inputs."""
        x = torch.tensor(list(points), dtype=torch.float64)
        true = Reference(self.value, "", self.options)
        return max(float(form.error(a, b).max()) for a, b in zip(self(x), true(x)))


TORCH = {"torch": SimpleNamespace(**EXACT, nn=SimpleNamespace(functional=SimpleNamespace(**EXACT)))}


@dataclass(frozen=True)
class Subject:
    """Something to measure."""

    name: str
    function: Callable[[torch.Tensor], torch.Tensor]


def tallies(subjects: Sequence[Subject], form: Format, count: int, reference: Reference) -> list[tuple[Tally, Tally]]:
    """The errors of values and of gradients, of each subject."""
    found = [(Tally(), Tally()) for _ in subjects]
    for x in inputs(form.dtype, count):
        expected = reference(x)
        for subject, both in zip(subjects, found):
            for tally, got, true in zip(both, with_slope(subject.function, x), expected):
                known = ~torch.isnan(true)
                tally.infinite += int((~torch.isfinite(got) & torch.isfinite(true.to(form.dtype)))[known].sum())
                tally.add(x[known], form.error(got, true)[known])
    return found


def with_slope(function: Callable[..., Any], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and gradients of a function."""
    leaf = x.detach().requires_grad_()
    y = function(leaf)
    return y.detach(), torch.autograd.grad(y, leaf, torch.ones_like(y))[0]


def of_record(record: Record) -> tuple[Reference, list[Subject]]:
    """An entry, and what PyTorch has for it."""
    formula = str(record.formula)
    options = {n: v for n, v in record.options.items() if n in formula}
    subjects = [
        Subject("pullback", record.function),
        Subject("PyTorch", builtin_of(record)),
        compiled(builtin_of(record)),
    ]
    return Reference(formula, record.slope, options), subjects


def compiled(plain: Callable[..., Any]) -> Subject:
    """What torch.compile makes of it."""

    def call(x: torch.Tensor) -> torch.Tensor:
        return plain(x)  # type: ignore[no-any-return]

    return Subject("torch.compile", torch.compile(call, dynamic=True))


def builtin_of(record: Record) -> Callable[..., Any]:
    """PyTorch's own function of the same name, or the formula as one would write it."""
    if not record.torch:
        return OTHERS[record.name]
    found: Any = torch
    for part in record.torch.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


OTHERS: dict[str, Callable[..., Any]] = {
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "logcosh": lambda x: torch.log(torch.cosh(x)),
}


def of_formula(formula: str) -> tuple[Reference, list[Subject]]:
    """A formula in PyTorch's names, and the Function that pullback derives from it."""
    from pullback.graph.parse import parse
    from pullback.graph.source import function_source

    names: dict[str, Any] = {"torch": torch}
    plain = eval(f"lambda x: {formula}", names)
    exec(function_source(parse(formula, name="derived")), names)
    return Reference(formula), [Subject("derived", names["derived"]), Subject("PyTorch", plain), compiled(plain)]


def magnitudes(form: Format) -> list[float]:
    """A few numbers of every magnitude, of both signs."""
    numbers = [1.37 * 2.0**k for k in range(-24, 12)]
    return [float(torch.tensor(s * n, dtype=form.dtype)) for n in numbers for s in (1, -1)]


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    entry: str
    subject: str
    form: str
    values: Tally
    slopes: Tally
    reference: float

    def both(self) -> list[tuple[str, Tally]]:
        """The two tallies with their names."""
        return [("value", self.values), ("gradient", self.slopes)]

    def cells(self) -> list[str]:
        """The line as texts."""
        return [
            self.entry,
            self.subject,
            self.form,
            shown(self.values),
            shown(self.slopes),
            f"{100 * share(self.slopes):.2g} %",
            str(self.values.infinite + self.slopes.infinite),
        ]


def shown(tally: Tally) -> str:
    """The worst error, and where."""
    return f"{tally.worst:.4g} at {tally.at:.4g}" if math.isfinite(tally.worst) else f"∞ at {tally.at:.4g}"


def share(tally: Tally) -> float:
    """The share of inputs that are off by more than a unit."""
    return sum(tally.above[EDGES.index(1.0) + 1 :]) / max(tally.count, 1)


def seconds(functions: Mapping[str, Callable[..., Any]], size: int = 1 << 18, rounds: int = 30) -> dict[str, float]:
    """The least CPU time per element of forward and backward in float32, in turns."""
    x = torch.randn(size, generator=torch.Generator().manual_seed(0)).requires_grad_()
    g, least = torch.ones(size), dict.fromkeys(functions, math.inf)
    for at in range(rounds + 3):
        for name, function in functions.items():
            start = time.thread_time()
            torch.autograd.grad(function(x), x, g)
            least[name] = min(least[name], time.thread_time() - start) if at > 2 else math.inf
    return {name: value / size for name, value in least.items()}


def costs(record: Record) -> dict[str, float]:
    """What an entry takes, beside the kernel of the plain formula and PyTorch."""
    plain = builtin_of(record)
    kernel = pb.fuse(lambda x: plain(x))
    return seconds({"pullback": record.function, "kernel": kernel, "PyTorch": plain})


def cost_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """What the digits cost as Markdown."""
    rows = [["entry", "ns", "÷ kernel in float32", "÷ PyTorch"], ["---", "---:", "---:", "---:"]]
    for name, taken in found.items():
        own = taken["pullback"]
        rows.append([name, f"{1e9 * own:.1f}", f"{own / taken['kernel']:.2f}", f"{own / taken['PyTorch']:.2f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


HEADER = ["entry", "computed by", "format", "value, ULP", "gradient, ULP", "> 1 ULP", "not finite"]


def measure(name: str, count: int) -> Iterator[Line]:
    """The lines of one entry or formula."""
    record = RECORDS.get(name)
    reference, subjects = of_record(record) if record else of_formula(name)
    for form_name, form in FORMATS.items():
        for subject, (values, slopes) in zip(subjects, tallies(subjects, form, count, reference)):
            points = [values.at, slopes.at, *magnitudes(form)] if subject is subjects[0] and record else []
            differ = reference.disagreement(form, points) if points else 0.0
            yield Line(name, subject.name, form_name, values, slopes, differ)


def details(line: Line) -> str:
    """How many inputs are off by how much, and the worst of each binade."""
    head = f"{line.entry} by {line.subject} in {line.form}: inputs by error in ULP"
    counts = "".join(f"≤ {edge:g}".rjust(11) for edge in EDGES)
    rows = [f"  {name:10}" + "".join(str(n).rjust(11) for n in tally.above) for name, tally in line.both()]
    maps = [
        f"  {name:10}{sign} {binade_map(tally.binades[i])}"
        for name, tally in line.both()
        for i, sign in enumerate("+-")
    ]
    return "\n".join([head, " " * 12 + counts, *rows, *maps])


def binade_map(worst: torch.Tensor) -> str:
    """One character per binade, from the least to the greatest; the legend is in `LEVELS`."""
    limits = torch.tensor([0.5001, 1.0, 10.0, 100.0], dtype=torch.float64)
    return "".join(LEVELS[int((w > limits).sum())] for w in worst if w >= 0)


def number_line(worst: torch.Tensor, width: int) -> str:
    """Both maps in one line, from the least to the greatest number, ``width`` binades to a character."""
    positive, negative = worst.view(2, -1, width).amax(2)
    return f"{binade_map(negative.flip(0))}0{binade_map(positive)}"


def spread(lines: list[Line]) -> str:
    """Where the errors are, and for how many inputs in 100: a line for each value and gradient."""
    columns = "".join(f"≤ {edge:g}".rjust(8) for edge in EDGES[:-1]) + "more".rjust(8)
    rows = []
    for line in lines:
        for what, tally in line.both():
            shares = (f"{100 * n / max(tally.count, 1):8.3g}" for n in tally.above)
            places = number_line(tally.binades, 1 if line.form == "float16" else 4)
            rows.append(f"{line.form:9}{what:9}{line.subject:14}{places:133}{''.join(shares)}")
    return "\n".join([f"{'':165}{columns}", *rows])


def spreads(lines: list[Line]) -> str:
    """Where the errors are, entry by entry."""
    names = dict.fromkeys(line.entry for line in lines)
    return "\n\n".join(f"{n}\n\n```text\n{spread([line for line in lines if line.entry == n])}\n```" for n in names)


def table(lines: list[Line]) -> str:
    """All lines as Markdown."""
    rows = [HEADER, ["---", "---", "---", *["---:"] * 4], *(line.cells() for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cost_page(found: Mapping[str, Mapping[str, float]]) -> str:
    """What the page says of time."""
    return (
        f"Measured by `python benchmarks/accuracy.py --time --write`: nanoseconds per element of float32 for forward\n"
        f"and backward, by kernels on one thread, beside the kernel of the same formula that computes in float32 (the\n"
        f"bar is {COSTLY:g}) and beside PyTorch, in turns. Float64 has half as many numbers in a vector, and twice\n"
        f"the terms in a polynomial: without AVX-512 some entries miss the bar.\n\n{cost_table(found)}\n"
    )


def page(lines: list[Line], count: int) -> str:
    """The generated part of docs/accuracy.md."""
    bars = f"{CERTIFIED[torch.bfloat16]:g} in bfloat16 and float16, {CERTIFIED[torch.float32]:g} in float32"
    differ = max(line.reference for line in lines)
    return (
        f"Measured by `python benchmarks/accuracy.py --write` with PyTorch {torch.__version__}, on CPU: all finite\n"
        f"inputs of bfloat16 and float16, and {count} of float32, evenly by bit pattern. The bars: {bars}.\n"
        f"The references differ from mpmath by at most {differ:.2g} ULP.\n\n{table(lines)}\n\n"
        "Where the errors are: the numbers from the least to the greatest, four binades to a character (in float16\n"
        "one), and the share of the inputs, in %, that is off by so many ULP.\n\n"
        f"{spreads(lines)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="entries or formulas in x; all certified entries if none")
    parser.add_argument("--count", type=int, help="how many inputs of float32: 2²⁴, for a formula 2¹³")
    parser.add_argument("--time", action="store_true", help="what entries cost, instead")
    parser.add_argument("--write", action="store_true", help="write docs/accuracy.md")
    arguments = parser.parse_args()
    os.environ.setdefault("PULLBACK_FUSE", "1")
    names = arguments.names or [name for name in sorted(RECORDS) if RECORDS[name].certified]
    if arguments.time:
        report_costs(names, arguments.write)
        return
    lines = []
    for name in names:
        for line in measure(name, arguments.count or 1 << (24 if name in RECORDS else 13)):
            print(details(line), flush=True)
            lines.append(line)
    print(table(lines))
    if arguments.write:
        put(page(lines, arguments.count or 1 << 24), START, END)


def report_costs(names: Iterable[str], write: bool) -> None:
    """Measure what entries cost, print it, and write it."""
    torch.set_num_threads(1)
    cost = {}
    for name in names:
        cost[name] = costs(RECORDS[name])
        print(name, {n: f"{1e9 * s:.2f} ns" for n, s in cost[name].items()}, flush=True)
    print(cost_table(cost))
    if write:
        put(cost_page(cost), COST, COST_END)


def put(text: str, start: str, end: str) -> None:
    """Write one of the generated parts of docs/accuracy.md."""
    before, rest = PAGE.read_text().split(start)
    PAGE.write_text(f"{before}{start}\n\n{text}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
