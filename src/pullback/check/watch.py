"""Checks every autograd.Function that running code meets, with its real inputs, and changes nothing about the run."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pullback import _describe, _torch
from pullback.check import battery, state, tree
from pullback.check.arguments import arguments
from pullback.check.case import Case
from pullback.check.report import Report, TargetReport, target_from_dict
from pullback.check.target import Target, is_function, portable, target
from pullback.define.call import Call
from pullback.define.decorate import function_of

CALLS = 3  # of every new combination of shapes and dtypes are kept for checking
COMBINATIONS = 4  # per class


class Met:
    """A class or Function that was met, and the calls kept of it."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls
        self.calls: dict[str, list[tuple[Any, ...]]] = {}
        self.seen = 0
        self.backwards = 0

    def keep(self, arguments: tuple[Any, ...]) -> None:
        """Copy the arguments of a call, unless enough of their like are kept."""
        self.seen += 1
        if self.seen > 50 and self.seen % 100:
            return
        key = _describe.value(arguments)
        kept = self.calls.get(key)
        if kept is None and len(self.calls) >= COMBINATIONS:
            return
        if kept is None:
            kept = self.calls[key] = []
        if len(kept) < CALLS:
            kept.append(tree.transform(_copied, arguments))


def _copied(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    with torch.no_grad():
        return leaf.detach().clone().requires_grad_(leaf.requires_grad)


class Watcher:
    """Wraps ``forward`` and ``backward`` of every subclass, those that exist and those that come later."""

    def __init__(self) -> None:
        self.met: dict[Any, Met] = {}
        self.replaced: list[tuple[type, str, Any]] = []
        self.originals: dict[int, Any] = {}
        self.depth = 0
        self.frames, self.compiled = 0, False
        self.off = False

    def start(self) -> None:
        """Begin to watch."""
        self.frames = _torch.compiled_frames()
        for cls in list(_subclasses(torch.autograd.Function)):
            self.wrap(cls)
        watcher, before = self, torch.autograd.Function.__dict__.get("__init_subclass__")

        def later(cls: type[torch.autograd.Function], /, **options: Any) -> None:
            super(torch.autograd.Function, cls).__init_subclass__(**options)
            watcher.wrap(cls)

        self._set(torch.autograd.Function, "__init_subclass__", classmethod(later), before)

    def stop(self) -> None:
        """Put everything back."""
        self.off = True
        self.compiled = _torch.compiled_frames() > self.frames
        for cls, name, before in reversed(self.replaced):
            if before is None:
                with contextlib.suppress(AttributeError):
                    delattr(cls, name)
            else:
                setattr(cls, name, before)
        self.replaced.clear()

    def _set(self, cls: type, name: str, value: Any, before: Any) -> None:
        self.replaced.append((cls, name, before))
        setattr(cls, name, value)

    def wrap(self, cls: type) -> None:
        """Watch one class; ``apply`` stays as it is, since programs keep it in variables."""
        for name, wrapper in (("forward", self._forward), ("backward", self._backward)):
            method = inspect.getattr_static(cls, name, None)
            if method is None or method is inspect.getattr_static(torch.autograd.Function, name):
                continue
            if isinstance(method, (staticmethod, classmethod)) or inspect.isfunction(method):
                self._set(cls, name, wrapper(cls, self.originals.get(id(method), method)), cls.__dict__.get(name))
                self.originals[id(cls.__dict__[name])] = self.originals.get(id(method), method)

    def _forward(self, cls: type, method: Any) -> Any:
        plain = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
        skip = (0 if _has_setup(cls) else 1) + isinstance(method, classmethod)

        @functools.wraps(plain)
        def forward(*args: Any, **options: Any) -> Any:
            if torch.compiler.is_compiling():  # whose traces take no note of anything beside the result
                return plain(*args, **options)
            if self.depth == 0:  # a forward called by another one is part of that one
                self._note(cls, args[skip:], options)
            self.depth += 1
            try:
                return plain(*args, **options)
            finally:
                self.depth -= 1

        return type(method)(forward) if isinstance(method, (staticmethod, classmethod)) else forward

    def _backward(self, cls: type, method: Any) -> Any:
        plain = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
        subject = _subject(cls)

        @functools.wraps(plain)
        def backward(*args: Any) -> Any:
            if not torch.compiler.is_compiling() and not self.off and subject in self.met:
                self.met[subject].backwards += 1
            return plain(*args)

        return type(method)(backward) if isinstance(method, (staticmethod, classmethod)) else backward

    def _note(self, cls: type, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if self.off or options:
            return
        if arguments and isinstance(arguments[0], Call):  # the general form of a Function
            call, *tensors = arguments
            subject, arguments = call.function.face, tuple(call.args.join(tensors).values())
        else:
            subject = _subject(cls)
        if _can_be_called_again(subject):
            self.met.setdefault(subject, Met(subject)).keep(arguments)


def _subject(cls: type) -> Any:
    """What a class stands for: the Function that it was made for, or itself."""
    made = vars(cls).get("__pullback__")
    return cls if made is None else made.face


def _can_be_called_again(subject: Any) -> bool:
    """Whether the values of a call, in order, are the arguments of another; pullback's own classes are nobody's."""
    made = function_of(subject)
    if made is None:
        return is_function(subject) and not subject.__module__.startswith("pullback.define.")
    return all(p.kind.name.startswith("POSITIONAL") for p in made.arguments.signature.parameters.values())


def _has_setup(cls: type) -> bool:
    return "setup_context" in {name for base in cls.__mro__[:-1] if base is not torch.autograd.Function
                               for name in vars(base) if not base.__module__.startswith("torch.autograd")}  # fmt: skip


def _subclasses(cls: type) -> Iterator[type]:
    children: list[type] = cls.__subclasses__()
    for child in children:
        yield child
        yield from _subclasses(child)


@contextlib.contextmanager
def watch() -> Iterator[Report]:
    """Check every autograd.Function met inside the block, with its real inputs; the report is filled at the end.

    The program's results are the same with and without. Calls inside compiled regions are not seen, and said so.

    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         return 3 * grad_output
    >>> with watch() as report:
    ...     Twice.apply(torch.randn(3, requires_grad=True)).sum().backward()
    >>> [finding.name for finding in report.findings if finding.severity == "error"]
    ['wrong-derivative']
    """
    report, watcher = Report(), Watcher()
    watcher.start()
    try:
        yield report
    finally:
        watcher.stop()
        report.targets += judged(watcher)


def inside(subject: Target, values: tuple[Any, ...]) -> list[TargetReport]:
    """The reports on every Function that one call of a callable or a module meets, with what it passes there."""
    watcher = Watcher()
    watcher.start()
    try:
        with state.restored():
            given = arguments(subject, values)
            Case(subject, given, given).run()
    finally:
        watcher.stop()
    return [report for report in _reports(watcher) if report.name != subject.name]


def judged(watcher: Watcher) -> list[TargetReport]:
    """The reports on everything that was met, or on nothing."""
    reports = _reports(watcher)
    if not reports:
        empty = TargetReport("watch", "callable", inputs="none")
        where = " outside of compiled regions" if watcher.compiled else ""
        empty.unchecked = f"no autograd.Function was called{where}"
        return [empty]
    if watcher.compiled:
        reports[0].notes.append("calls inside compiled regions were not seen")
    return reports


def _reports(watcher: Watcher) -> list[TargetReport]:
    with state.restored():
        return [_judged(met) for met in watcher.met.values() if not _is_torchs(met.cls)]


def _is_torchs(cls: Any) -> bool:
    return bool(cls.__module__.split(".")[0] == "torch")


def _judged(met: Met) -> TargetReport:
    """One report on a class: the calls are checked in turn, each finding once."""
    made = target(met.cls)
    best: TargetReport | None = None
    for values in itertools.islice(itertools.chain.from_iterable(met.calls.values()), 2 * COMBINATIONS):
        if not any(tree.is_differentiable(t) for t in tree.tensors(values)):
            continue
        report = battery.examine(made, values, inputs="given")
        best = report if best is None else _joined(best, report)
    if best is None:
        best = TargetReport(made.name, made.kind, made.file, made.line)
        best.unchecked = "no call had an input that can take a gradient"
    best.notes.append(f"{met.seen} calls, {met.backwards} backward passes seen")
    if best.file:
        best.file = portable(best.file)
    return best


def merged(parts: Sequence[dict[str, Any]]) -> Report:
    """One report from those of several processes, in their JSON form: each target once, with the findings of all."""
    whole: dict[tuple[str, str | None], TargetReport] = {}
    for part in parts:
        for one in map(target_from_dict, part["targets"]):
            key = (one.name, one.file)
            notes = [*whole[key].notes, *one.notes] if key in whole else one.notes
            whole[key] = _joined(whole[key], one) if key in whole else one
            whole[key].notes = notes
    return Report(list(whole.values()))


def _joined(one: TargetReport, two: TargetReport) -> TargetReport:
    known = {(f.name, f.argument) for f in one.findings}
    one.findings += [f for f in two.findings if (f.name, f.argument) not in known]
    one.seconds += two.seconds
    one.unchecked = one.unchecked and two.unchecked
    return one
