"""Lint one source text: take it apart, ask every rule, drop what comments ignore."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from pullback_lint import comments, rules
from pullback_lint.catalogue import fault
from pullback_lint.finding import Finding, Target
from pullback_lint.model.function import Function
from pullback_lint.model.module import Module
from pullback_lint.problem import Problem
from pullback_lint.relevance import is_relevant


class Result(NamedTuple):
    """What linting one source text gave.

    Attributes:
        findings: Sorted by position.
        targets: Everything that was read.
        lines: The number of lines parsed; 0 for a file that was skipped.
        error: Why it could not be read, or an empty string.
    """

    findings: tuple[Finding, ...] = ()
    targets: tuple[Target, ...] = ()
    lines: int = 0
    error: str = ""


def lint(source: str, path: str = "-", *, place: Path | None = None) -> Result:
    """Find the faults in one source text.

    Args:
        source: Python source.
        path: How the file is called in findings.
        place: Where it lies, so that base classes in files next to it are found.

    Returns:
        The findings; a text that is not Python gives a result with `error`.
    """
    if not is_relevant(source):
        return Result()
    try:
        module = Module(source, place)
    except SyntaxError as error:
        return Result(error=f"{path}:{error.lineno or 1}: not valid Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Result(error=f"{path}: cannot be read: {error}")
    try:
        findings = _findings(module, path)
        targets = tuple(Target(item.name, item.node.lineno, _kind(item)) for item in module.functions)
    except RecursionError:
        return Result(error=f"{path}: nested too deeply")
    return Result(findings, targets, len(module.lines))


def _findings(module: Module, path: str) -> tuple[Finding, ...]:
    ignored = comments.read(module.source)
    nodes = frozenset(map(id, module.nodes))
    found: dict[tuple[str, int, int], Finding] = {}
    for rule, target, problem in _problems(module, ignored):
        if id(problem.node) not in nodes:
            continue
        finding = _finding(module, path, rule, target, problem)
        if not comments.silences(ignored, finding, target):
            found.setdefault((finding.code, finding.line, finding.column), finding)
    return tuple(sorted(found.values(), key=lambda item: (item.line, item.column, item.code)))


def _problems(module: Module, ignored: comments.Comments) -> Iterator[tuple[ModuleType, Function | None, Problem]]:
    for function in module.functions:
        function.is_surrogate = comments.is_surrogate(ignored, function)
        for rule in _having("check_function"):
            for problem in rule.check_function(function):
                yield rule, function, problem
    for rule in _having("check_module"):
        for problem in rule.check_module(module):
            yield rule, None, problem


@functools.cache
def _having(check: str) -> tuple[ModuleType, ...]:
    """The rules that look at Functions, or at modules."""
    return tuple(rule for rule in all_rules() if hasattr(rule, check))


@functools.cache
def all_rules() -> tuple[ModuleType, ...]:
    """Every rule, found by existing in `rules/`."""
    names = sorted(path.stem for path in Path(*rules.__path__).glob("[!_]*.py"))
    return tuple(importlib.import_module(f"{rules.__name__}.{name}") for name in names)


def _finding(module: Module, path: str, rule: ModuleType, target: Function | None, problem: Problem) -> Finding:
    record = fault(rule.CODE)
    line, column, end_line, end_column = _position(module, problem.node)
    name, target_line, kind = _target(module, target, problem)
    return Finding(
        path=path,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        code=record.code,
        name=record.name,
        severity=problem.severity or record.severity,
        target=name,
        target_line=target_line,
        kind=kind,
        argument=problem.argument,
        message=problem.message,
        fix=problem.fix,
        source=module.lines[line - 1] if line <= len(module.lines) else "",
        edits=problem.edits,
        safe=problem.safe,
    )


def _position(module: Module, node: ast.AST) -> tuple[int, int, int, int]:
    """Line and column of both ends, columns counted from 1 in characters; of a definition, only its name's line."""
    line: int = getattr(node, "lineno", 1)
    column: int = getattr(node, "col_offset", 0)
    end_line: int = getattr(node, "end_lineno", None) or line
    end_column: int = getattr(node, "end_col_offset", None) or column
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        start = len(module.lines[line - 1].encode()[:column].decode())
        return line, start + 1, line, len(module.lines[line - 1].rstrip()) + 1
    return line, _characters(module, line, column) + 1, end_line, _characters(module, end_line, end_column) + 1


def _characters(module: Module, line: int, column: int) -> int:
    text = module.lines[line - 1] if line <= len(module.lines) else ""
    return column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))


def _target(module: Module, target: Function | None, problem: Problem) -> tuple[str, int, str]:
    if target is not None:
        return target.name, target.node.lineno, _kind(target)
    line = getattr(problem.node, "lineno", 1)
    for function in module.functions:
        if function.node.lineno <= line <= (function.node.end_lineno or line):
            return function.name, function.node.lineno, _kind(function)
    for operator in module.operators:
        if operator.node.lineno - len(operator.node.decorator_list) <= line <= (operator.node.end_lineno or line):
            return operator.name, operator.node.lineno, "torch.library"
    if isinstance(problem.node, ast.ClassDef | ast.FunctionDef):
        return problem.node.name, problem.node.lineno, "module"
    return "", line, "module"


def _kind(function: Function) -> str:
    return "torch.library" if function.is_operator else "autograd.Function"
