"""Checks the targets of one file in a process of its own; results leave as JSON lines, never as pickles."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pullback.check import battery, discover, infer, load, state
from pullback.check.report import Finding, TargetReport
from pullback.check.target import Target, is_function, target


def main(request: dict[str, Any]) -> None:
    """Check the jobs of a request, one after the other.

    Each job says with ``path`` or ``module`` where to look, with ``skip`` which targets not to run (they have hung or
    crashed before), with ``only`` which to run, with ``probes`` which experiments. ``cases`` is the cases file, ``out``
    where the lines go.
    """
    torch.set_num_threads(1)
    _limit_memory(request.get("memory"))
    with open(request["out"], "a", encoding="utf-8") as out:
        for job in request["jobs"]:

            def say(index: int = job["index"], **line: Any) -> None:
                out.write(json.dumps({"job": index, **line}, default=str) + "\n")
                out.flush()

            say(begin=True)
            try:
                with state.restored(), battery.chosen(job.get("probes") or None):
                    _job(job, request.get("cases"), say)
            except BaseException as error:  # a file that cannot be loaded at all loses itself, not the others
                say(failed=f"{type(error).__name__}: {str(error)[:300]}")
            say(end=True)


def _job(job: dict[str, Any], cases_file: str | None, say: Callable[..., None]) -> None:
    cases = _cases(cases_file)
    source, module, notes = _loaded(job)
    for name, subject, found in subjects(source, module):
        if name in job.get("skip", ()) or (job.get("only") and name not in job["only"]):
            continue
        say(start=name, line=found.line if found else None)
        try:
            report = _report(name, subject, found, source, module, cases)
        except Exception as error:  # an oversight of the checker loses one target, not the file
            report = _unchecked(name, found, source, f"the check failed: {type(error).__name__}: {str(error)[:200]}")
        report.notes = [*notes, *report.notes]
        if source is not None:
            _excuse(report, source)
            _ignore(report, source, found)
        say(report=report.to_dict())


def _excuse(report: TargetReport, source: discover.Source) -> None:
    """What could not be loaded here is not the author's fault: names that the file defines, modules stood in for."""
    defined = {n for node in ast.parse(source.text).body for n in discover.names(node)}
    for finding in list(report.findings):
        name = next(iter(re.findall(r"name '(\w+)' is not", finding.message)), "")
        if "_Nothing" in finding.message or (finding.name == "undefined-name" and name in defined):
            report.findings.remove(finding)
            report.unchecked = f"it needs {name or 'a module'} that could not be loaded here"
    if "_Nothing" in (report.unchecked or ""):
        report.unchecked = "it needs a module that could not be loaded here"


def _limit_memory(megabytes: int | None) -> None:
    if megabytes:
        try:
            import resource
        except ImportError:  # not on this system
            return
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def _loaded(request: dict[str, Any]) -> tuple[discover.Source | None, types.ModuleType, list[str]]:
    if request.get("module"):
        module = importlib.import_module(request["module"])
        file = getattr(module, "__file__", None)
        return (discover.source(Path(file)) if file and file.endswith(".py") else None), module, []
    source = discover.source(Path(request["path"]))
    module, notes = load.load(source)
    return source, module, notes


Subject = tuple[str, Any, discover.Found | None]


def subjects(source: discover.Source | None, module: types.ModuleType) -> Iterator[Subject]:
    """The targets in a module, in the order of the file; nested and broken ones with None for the object."""
    if source is None:
        for name, value in vars(module).items():
            if is_function(value):
                yield name, value, None
        return
    for found in source.candidates:
        value = load.nested(module, source, found) if found.nested else getattr(module, found.name, None)
        if value is None or is_subject(value):
            yield found.name, value, found


def is_subject(value: Any) -> bool:
    """Whether something found by its looks really is a target."""
    from pullback import _torch

    if isinstance(value, type):
        return is_function(value) or (issubclass(value, torch.nn.Module) and "backward" in vars(value))
    return _torch.is_custom_op(value) or hasattr(value, "__pullback__")


def _report(
    name: str,
    subject: Any,
    found: discover.Found | None,
    source: discover.Source | None,
    module: types.ModuleType,
    cases: dict[str, Any],
) -> TargetReport:
    if subject is None:
        why = (
            "it is defined inside a function whose names it needs"
            if found and found.nested
            else "it could not be loaded"
        )
        failed = "; ".join(vars(module).get("__failed__", [])[:2])
        report = _unchecked(
            name, found, source, f"{why}{': ' + failed if failed and not (found and found.nested) else ''}"
        )
        report.findings += _not_in_torch(found, vars(module).get("__failed__", []))
        return report
    alone = source is None or len([f for f in source.candidates if not f.nested]) == 1
    case = _case(name, module, cases, alone)
    if isinstance(subject, type) and issubclass(subject, torch.nn.Module):
        return _module_report(name, subject, found, source, case)
    made = target(subject, case.get("call"))
    if source is not None and _says(source, found, "surrogate"):
        made = replace(made, notes=(*made.notes, "surrogate"))
    if getattr(subject, "__pullback_stub__", False) or _abstract(made):
        return _unchecked(name, found, source, "it has no forward of its own")
    return _checked(made, case)


def _not_in_torch(found: discover.Found | None, failed: list[str]) -> Iterator[Finding]:
    """A class that cannot even be defined, because its base or a decorator is not in PyTorch."""
    for line, what in (said.removeprefix("line ").split(": ", 1) for said in failed):
        if found is not None and int(line) == found.line and re.match(r"module 'torch[\w.]*' has no attribute", what):
            cause = f"PyTorch {torch.__version__.partition('+')[0]} has no such thing: the class cannot be defined"
            yield Finding("unknown-torch-attribute", what, cause=cause, fix="use the right name", line=found.line)


def _abstract(made: Target) -> bool:
    cls = made.function
    return cls is not None and cls.forward is torch.autograd.Function.forward


def _checked(made: Target, case: dict[str, Any]) -> TargetReport:
    options = {key: case[key] for key in ("intended", "reference") if key in case}
    given = case.get("inputs")
    if given is not None:
        values = given() if callable(given) else given
        values = tuple(values) if isinstance(values, (tuple, list)) else (values,)
        report = battery.examine(made, values, inputs=case["from"], **options)
        if report.status != "unchecked" or case["from"] == "cases":
            return report
    return infer.examine(made, **options)


def _module_report(
    name: str, cls: type, found: discover.Found | None, source: discover.Source | None, case: dict[str, Any]
) -> TargetReport:
    subject = case.get("call")
    try:
        subject = subject or cls()
    except Exception as error:
        return _unchecked(name, found, source, f"the module could not be made: {error}")
    return replace(_checked(target(subject), case), name=name, kind="module", line=found.line if found else None,
                   file=str(source.path) if source else None)  # fmt: skip


def _unchecked(name: str, found: discover.Found | None, source: discover.Source | None, reason: str) -> TargetReport:
    report = TargetReport(name, "autograd.Function", str(source.path) if source else None, inputs="none")
    report.line, report.unchecked = found.line if found else None, reason
    return report


def _cases(path: str | None) -> dict[str, Any]:
    """The cases file: a dict ``CASES``, or functions named after the targets."""
    if path is None:
        return {}
    module = load._module(Path(path))
    found: dict[str, Any] = {name: dict(value) for name, value in vars(module).get("CASES", {}).items()}
    for name, value in vars(module).items():
        for suffix in load.SUFFIXES:
            if name.endswith(suffix) and callable(value):
                found.setdefault(name.removesuffix(suffix), {})[suffix[1:]] = value
    return found


def _case(name: str, module: types.ModuleType, cases: dict[str, Any], alone: bool) -> dict[str, Any]:
    """What is known about a target: from the cases file, else from its own module."""
    known = cases.get(f"{module.__name__}:{name}") or cases.get(name)
    if known is not None:
        return {"from": "cases", **known}
    found: dict[str, Any] = {"from": "module"}
    for key in ("inputs", "intended", "reference", "call"):
        shared = "make_inputs" if key == "inputs" else key
        value = getattr(module, f"{name}_{key}", None) or (getattr(module, shared, None) if alone else None)
        if callable(value) and _is_own(value, module):
            found[key] = value
    return found


def _is_own(value: Callable[..., Any], module: types.ModuleType) -> bool:
    return inspect.isfunction(value) and value.__globals__ is vars(module)


def _says(source: discover.Source, found: discover.Found | None, word: str) -> bool:
    lines = range(found.line - 1, found.end + 1) if found else ()
    return any(source.comments.get(line, "").startswith(word) for line in lines)


def _ignore(report: TargetReport, source: discover.Source, found: discover.Found | None) -> None:
    """Drop what a comment ``# pullback: ignore[PB401]`` in the target asks to be dropped."""
    lines = range(found.line - 1, found.end + 1) if found else ()
    words = [source.comments[line] for line in lines if line in source.comments]
    codes = {
        code.strip() for word in words for code in re.findall(r"ignore\[([^\]]*)\]", word) for code in code.split(",")
    }
    everything = any(re.match(r"ignore(?!\[)", word) for word in words)
    report.findings = [f for f in report.findings if not everything and not {f.code, f.name} & codes]


def _end_with(parent: int) -> None:
    """End as soon as the process that started this one has ended: killed, it cannot say so."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    sys.stdin.close()
    with open(os.devnull) as nothing:
        sys.stdin = nothing
        main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
