"""Train a small network with activations of our own on real data, and draw what happens."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from pullback.cli._demo.training import History

EPOCHS, QUICK = 40, 3
ENOUGH = 0.95  # the test accuracy that the full training has to reach
WIDTH = 120  # of what is printed elsewhere than in a terminal

DESCRIPTION = """\
Compare small Functions with their references; then train a network with two activations that learn (a clamp with
learnable thresholds, and a quantizer with a learnable step) on scikit-learn's digits, beside the same network with
ReLU. The picture shows the functions, their gradients, the paths of their parameters, and the losses.
"""


def main(argv: list[str]) -> int:
    """Run the demo.

    Returns:
        0; 1 if something that it needs is not installed, a Function differs from its reference, or the full training
        does not reach its accuracy.
    """
    options = _parser().parse_args(argv)
    missing = [name for name in ("matplotlib", "sklearn") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"pullback demo needs {' and '.join(missing)}: pip install 'pullback[demo]'", file=sys.stderr)
        return 1
    epochs = QUICK if options.quick and options.epochs is None else options.epochs or EPOCHS
    with _one_thread():
        return _run(epochs, options.output, options.seed)


@contextmanager
def _one_thread() -> Iterator[None]:
    """So small a network is trained faster by one thread than by several that wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pullback demo", description=DESCRIPTION)
    parser.add_argument("--epochs", type=_positive, help=f"how often to go through the data; {EPOCHS} if not given")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} epochs only")
    parser.add_argument("--output", type=Path, default=Path("demo.png"), help="the picture; demo.png if not given")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order of the data; 0 if not given")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _run(epochs: int, output: Path, seed: int) -> int:
    from rich.console import Console

    from pullback.cli._demo import cases, picture, tables

    start = time.perf_counter()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    rows = [cases.compare(case) for case in cases.CASES]
    console.print(tables.functions(rows))
    histories = _train(console, epochs, seed)
    ours, relu = histories.values()
    console.print(tables.networks(histories))
    console.print(tables.parameters(ours))
    picture.save(output, ours, relu)
    console.print(f"wrote {output.resolve()}", soft_wrap=True)
    console.print(f"took {time.perf_counter() - start:.1f} s")
    wrong = [f"{row.name} differs from its reference" for row in rows if not row.right]
    if epochs >= EPOCHS and ours.accuracies[-1] < ENOUGH:
        wrong.append(f"the test accuracy is below {ENOUGH}")
    print("".join(f"pullback demo: {problem}\n" for problem in wrong), file=sys.stderr, end="")
    return 1 if wrong else 0


def _train(console: Console, epochs: int, seed: int) -> dict[str, History]:
    """Both networks' histories, with a progress bar for each."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from pullback.cli._demo import training

    digits = training.load_digits()
    made = {"clamp and quantizer": training.ours(seed), "ReLU": training.relu(seed)}
    texts = TextColumn("{task.description:20}"), TextColumn("{task.fields[state]}")
    histories = {}
    console.print(f"Training on {len(digits.train_x)} images of digits")
    with Progress(texts[0], BarColumn(30), TimeElapsedColumn(), texts[1], console=console) as progress:
        for name, net in made.items():
            task = progress.add_task(name, total=epochs, state="")
            tick = functools.partial(progress.update, task, advance=1)
            histories[name] = training.train(net, digits, epochs, seed, tick)
    return histories
