"""Whether two versions of one class do the same: values, gradients, second order, torch.func, vmap, compile.

Runs in a worker process of its own, since both versions are somebody's code; results leave as JSON lines.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pullback.check import battery, compare, discover, load, state, tree
from pullback.check.case import cotangents, pull
from pullback.check.inferred import search
from pullback.check.target import has_setup, target

SECONDS = 60.0  # for one class, on top of what loading takes
START = 120.0
BATCH = 3


class Verdict(NamedTuple):
    """What came out for one class.

    Attributes:
        name: The class.
        same: Whether all that could be compared agrees; None if nothing could be.
        compared: The aspects that were compared.
        reason: Which aspect differs and how, or why nothing could be compared.
        inputs: Where the inputs came from.
    """

    name: str
    same: bool | None
    compared: tuple[str, ...] = ()
    reason: str = ""
    inputs: str = "none"


class Pair(NamedTuple):
    """A file in two versions, and the classes in it that are compared."""

    path: Path
    before: str
    after: str
    names: tuple[str, ...]


def verdicts(pairs: Sequence[Pair]) -> dict[tuple[Path, str], Verdict]:
    """Compare classes in a worker process; one that hangs or crashes is left without a verdict of its own.

    Args:
        pairs: The files.

    Returns:
        A verdict for each path and class.
    """
    found: dict[tuple[Path, str], Verdict] = {}
    while True:
        left = [pair._replace(names=tuple(n for n in pair.names if (pair.path, n) not in found)) for pair in pairs]
        left = [pair for pair in left if pair.names]
        if not left:
            return found
        told, ending = _process(left)
        found.update(told)
        lost = next(((pair.path, name) for pair in left for name in pair.names if (pair.path, name) not in found), None)
        if lost is not None:
            found[lost] = Verdict(lost[1], None, reason=ending)


def _process(pairs: Sequence[Pair]) -> tuple[dict[tuple[Path, str], Verdict], str]:
    """The verdicts that one worker gave, and how it ended."""
    with tempfile.TemporaryDirectory(prefix="pullback-") as folder:
        out, request = Path(folder, "out.jsonl"), Path(folder, "request.json")
        asked = [{**pair._asdict(), "path": str(pair.path.resolve())} for pair in pairs]
        request.write_text(json.dumps({"pairs": asked, "out": str(out)}), encoding="utf-8")
        paths = os.pathsep.join(entry for entry in [*sys.path, os.getcwd()] if entry)
        try:
            subprocess.run(
                [sys.executable, "-m", "pullback.check.alike", str(request)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
                env=os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "Agg"},
                timeout=START + SECONDS * sum(len(pair.names) for pair in pairs), check=False,
            )  # fmt: skip
            ending = "the worker crashed"
        except subprocess.TimeoutExpired:
            ending = "it took too long"
        lines = map(json.loads, out.read_text(encoding="utf-8").splitlines() if out.exists() else [])
        return {
            (pairs[line.pop("pair")].path, line["name"]): Verdict(**{**line, "compared": tuple(line["compared"])})
            for line in lines
        }, ending


def main(request: dict[str, Any]) -> None:
    """Compare the classes of a request; one line per class."""
    torch.set_num_threads(1)
    with open(request["out"], "a", encoding="utf-8") as out:
        for index, pair in enumerate(request["pairs"]):
            path = Path(pair["path"])
            old, new = _module(path, pair["before"], "before"), _module(path, pair["after"], "after")
            for name in pair["names"]:
                out.write(json.dumps({"pair": index, **_guarded(name, old, new)._asdict()}) + "\n")
                out.flush()


def _guarded(name: str, old: types.ModuleType, new: types.ModuleType) -> Verdict:
    with state.restored():
        try:
            return judged(name, old, new)
        except Exception as error:  # an oversight here leaves one class unverified, not all of them
            return Verdict(name, None, reason=f"the comparison failed: {type(error).__name__}: {error}"[:200])


def _module(path: Path, text: str, version: str) -> types.ModuleType:
    """A text loaded as if it lay at a path: definitions and what they need, nothing that does work."""
    name = f"{path}:{version}"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = types.ModuleType(f"pullback_{version}_{path.stem.replace('-', '_').replace('.', '_')}")
    module.__file__ = name
    module.__package__ = load._package(path)
    sys.modules[module.__name__] = module
    sys.path[:0] = [str(_root(path)), str(path.parent)]
    wanted = {found.name for found in discover.candidates(ast.parse(text))} | set(load.HELPERS)
    wanted |= {f"{item}{suffix}" for item in wanted for suffix in load.SUFFIXES}
    with load._Absent():
        for node in ast.parse(discover.sliced(text, wanted)).body:
            try:
                exec(compile(ast.Module([node], []), name, "exec", dont_inherit=True), vars(module))
            except BaseException as error:  # a definition that cannot be had is left out
                vars(module).setdefault("__failed__", []).append(f"line {node.lineno}: {error}")
    return module


def _root(path: Path) -> Path:
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def judged(name: str, old: types.ModuleType, new: types.ModuleType) -> Verdict:
    """Compare one class of two modules."""
    before, after = getattr(old, name, None), getattr(new, name, None)
    if before is None or after is None or hasattr(before, "__pullback_stub__"):
        failed = "; ".join(vars(old).get("__failed__", [])[:1])
        return Verdict(name, None, reason=f"it could not be loaded{': ' + failed if failed else ''}"[:200])
    last, origin = "no inputs were found for it", "none"
    compared: tuple[str, ...] = ()
    for origin, values in _inputs(name, old, before):  # the last origin is told
        outcome = _outcome(before, values)
        if isinstance(outcome, Exception):
            last = f"forward or backward raises {type(outcome).__name__}: {outcome}"[:160]
            continue
        for aspect, differs in ASPECTS.items():
            problem = differs(before, after, values)
            if problem:
                return Verdict(name, False, compared, f"{aspect}: {problem}", origin)
            if problem is not None:
                compared = (*compared, aspect)
        return Verdict(name, True, compared, "", origin)
    return Verdict(name, None, reason=last, inputs=origin)


Values = tuple[Any, ...]


def _inputs(name: str, module: types.ModuleType, cls: Any) -> Iterator[tuple[str, Values]]:
    """Inputs from the module's own makers, else inferred ones."""
    classes = [
        item for item in vars(module).values() if isinstance(item, type) and issubclass(item, torch.autograd.Function)
    ]
    own = [item for item in classes if item.__module__ == module.__name__]
    maker = getattr(module, f"{name}_inputs", None) or (getattr(module, "make_inputs", None) if len(own) == 1 else None)
    if callable(maker):
        values = maker()
        yield "module", tuple(values) if isinstance(values, (tuple, list)) else (values,)
    guesses, _ = search.search(target(cls))
    for guess in guesses:
        yield "inferred", tuple(guess)


class Result(NamedTuple):
    """What one call gave: outputs, gradients, second derivatives (or that asking for them raises)."""

    outputs: list[torch.Tensor]
    grads: list[torch.Tensor | None]
    second: list[torch.Tensor | None] | str


def _fresh(values: Values) -> tuple[Values, list[torch.Tensor]]:
    """The same arguments as new leaves, and those that require a gradient."""
    passed = tree.transform(
        lambda leaf: (
            leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf
        ),
        values,
    )
    return passed, [leaf for leaf in tree.tensors(passed) if leaf.requires_grad]


def _outcome(cls: Any, values: Values, call: Callable[..., Any] | None = None) -> Result | Exception:
    state.seed()
    passed, leaves = _fresh(values)
    try:
        # an operation before the call, so that changes in place are allowed
        whole = (call or cls.apply)(*tree.transform(_moved, passed))
        outputs = tree.tensors(whole)
        incoming = [None if item is None else item.requires_grad_() for item in cotangents(outputs)]
        grads = pull(outputs, leaves, incoming) if leaves else []
    except Exception as error:
        return error
    return Result([item.detach() for item in outputs], grads, _second(cls, values, call))


def _moved(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) and leaf.requires_grad else leaf


def _second(cls: Any, values: Values, call: Callable[..., Any] | None) -> list[torch.Tensor | None] | str:
    state.seed()
    passed, leaves = _fresh(values)
    try:
        outputs = tree.tensors((call or cls.apply)(*tree.transform(_moved, passed)))
        incoming = [None if item is None else item.requires_grad_() for item in cotangents(outputs)]
        grads = pull(outputs, leaves, incoming, create_graph=True)
        total = [(grad * grad.conj()).real.sum() for grad in grads if grad is not None and grad.requires_grad]
        if not total:
            return "no graph"
        wanted = [*leaves, *(item for item in incoming if item is not None)]
        return list(torch.autograd.grad(torch.stack(total).sum(), wanted, allow_unused=True))
    except Exception:
        return "raises"


def _differ(one: Sequence[torch.Tensor | None], two: Sequence[torch.Tensor | None], level: str) -> bool:
    return len(one) != len(two) or not all(_same(a, b, level) for a, b in zip(one, two, strict=True))


def _same(one: torch.Tensor | None, two: torch.Tensor | None, level: str) -> bool:
    if one is None or two is None:
        return one is two
    return one.dtype == two.dtype and compare.same(two, one, level)


def _values(old: Any, new: Any, values: Values) -> str | None:
    one, two = _outcome(old, values), _outcome(new, values)
    if isinstance(two, Exception) or isinstance(one, Exception):
        return f"raises {type(two).__name__}: {two}"[:160]
    if _differ(one.outputs, two.outputs, "exact"):
        again = _outcome(old, values)
        steady = isinstance(again, Result) and not _differ(one.outputs, again.outputs, "exact")
        return "the outputs differ" if steady else None
    return "the gradients differ" if _differ(one.grads, two.grads, "exact") else ""


def _second_order(old: Any, new: Any, values: Values) -> str | None:
    one, two = _outcome(old, values), _outcome(new, values)
    if isinstance(two, Exception) or isinstance(one, Exception):
        return None
    if isinstance(one.second, str) or isinstance(two.second, str):
        return "" if one.second == two.second else "one raises or has no graph, the other has one"
    return "second derivatives differ" if _differ(one.second, two.second, "exact") else ""


def _functional(old: Any, new: Any, values: Values) -> str | None:
    """`torch.func.vjp` of the new version against autograd of the old one."""
    one = _outcome(old, values)
    places = [index for index, item in enumerate(values) if isinstance(item, torch.Tensor) and item.requires_grad]
    if isinstance(one, Exception) or len(places) != len(one.grads) or not has_setup(new):
        return None
    state.seed()

    def call(*leaves: torch.Tensor) -> Any:
        given = list(values)
        for place, leaf in zip(places, leaves, strict=True):
            given[place] = leaf
        return tuple(item for item in tree.tensors(new.apply(*given)) if item.is_floating_point() or item.is_complex())

    try:
        outputs, back = torch.func.vjp(call, *[values[place].detach() for place in places])[:2]
        grads = back(tuple(item for item in cotangents(outputs) if item is not None))
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"[:160]
    expected = [torch.zeros_like(values[p]) if g is None else g for p, g in zip(places, one.grads, strict=True)]
    return "gradients under torch.func differ" if _differ(expected, list(grads), "exact") else ""


def _batched(old: Any, new: Any, values: Values) -> str | None:
    """Vmap of the new version against a loop over the old one; where neither batches, nothing is compared."""
    if not (new.generate_vmap_rule or new.vmap is not torch.autograd.Function.vmap):
        return None
    places = [index for index, item in enumerate(values) if isinstance(item, torch.Tensor) and item.requires_grad]
    if not places:
        return None
    stacks = {place: torch.stack([values[place].detach() * (1 + 0.1 * n) for n in range(BATCH)]) for place in places}

    def at(n: int) -> list[Any]:
        return [stacks[index][n] if index in stacks else item for index, item in enumerate(values)]

    state.seed()
    try:
        loop = [tree.tensors(old.apply(*at(n))) for n in range(BATCH)]
    except Exception:
        return None
    state.seed()
    dims = tuple(0 if index in stacks else None for index in range(len(values)))
    try:
        whole = torch.func.vmap(lambda *given: tuple(tree.tensors(new.apply(*given))), in_dims=dims)(
            *[stacks.get(index, item) for index, item in enumerate(values)]
        )
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"[:160]
    expected = [torch.stack(column) for column in zip(*loop, strict=True)]
    return "a batch differs from a loop" if _differ(expected, list(whole), "exact") else ""


def _compiled(old: Any, new: Any, values: Values) -> str | None:
    """The new version under torch.compile against the old one without; where the old one fails too, nothing."""
    one = _outcome(old, values)
    if isinstance(one, Exception):
        return None
    two = _outcome(new, values, _compile(new))
    if isinstance(two, Exception):
        worse = not isinstance(_outcome(old, values, _compile(old)), Exception)
        return f"raises {type(two).__name__}: {two}"[:160] if worse else None
    if _differ(one.outputs, two.outputs, "single") or _differ(one.grads, two.grads, "single"):
        three = _outcome(old, values, _compile(old))
        worse = not isinstance(three, Exception) and not _differ(one.grads, three.grads, "single")
        return "compiled gradients differ" if worse else None
    return ""


def _compile(cls: Any) -> Callable[..., Any]:
    torch.compiler.reset()
    return torch.compile(lambda *given: cls.apply(*given), backend="aot_eager")


def _findings(old: Any, new: Any, values: Values) -> str | None:
    """The checker's findings about the new version that it has not about the old one."""
    found = []
    for cls in (old, new):
        report = battery.examine(target(cls), _fresh(values)[0])
        found.append({item.name for item in report.findings if item.severity != "note"})
    worse = found[1] - found[0]
    return f"the checker finds {', '.join(sorted(worse))}" if worse else ""


ASPECTS: dict[str, Callable[[Any, Any, Values], str | None]] = {
    "values": _values,
    "second order": _second_order,
    "torch.func": _functional,
    "vmap": _batched,
    "compile": _compiled,
    "checker": _findings,
}
"""Each says how two versions differ: empty if not, None if it cannot be compared."""


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
