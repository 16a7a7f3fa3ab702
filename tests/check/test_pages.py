"""What a page of the catalogue shows is found by the checker, where reading alone does not find it."""

from __future__ import annotations

import ast
import linecache
import sys
import types
from typing import Any

import pytest

from pullback_lint.catalogue import codes, fault
from pullback_lint.engine import all_rules

PROBES = {
    "PB102": "contract",
    "PB115": "values needless",
    "PB136": "contract",
    "PB205": "values",
    "PB220": "values",
    "PB221": "values",
    "PB222": "values",
    "PB223": "linearity",
    "PB224": "values",
    "PB318": "layout",
    "PB409": "forward_mode",
    "PB410": "second",
    "PB412": "vmap",
    "PB505": "compile",
    "PB506": "compile",
    "PB507": "export",
    "PB508": "checkpointing",
    "PB512": "rng",
    "PB513": "copying",
    "PB608": "extremes",
    "PB610": "values halves",
    "PB611": "values",
}
"""The probe that finds the fault of a page, and what it needs; no other is run."""

SLOW = {"PB505", "PB506"}
"""Pages whose right code is not run as well: compilation takes seconds."""


def found(page: str, source: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of what the check on the last line of a snippet finds; nothing if there is no such line."""
    tree, file = ast.parse(source), f"<{page}>"
    module = types.ModuleType(f"page_{page}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(linecache.cache, file, (len(source), None, source.splitlines(keepends=True), file))
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, file, "exec"), vars(module))
        return set()
    exec(compile(ast.Module(tree.body[:-1], []), file, "exec"), vars(module))
    call: Any = last.value
    call.keywords = [item for item in call.keywords if item.arg != "probes"]
    call.keywords.append(
        ast.keyword("probes", ast.List([ast.Constant(name) for name in PROBES[page].split()], ast.Load()))
    )
    expression = ast.fix_missing_locations(ast.Expression(call))
    return {finding.name for finding in eval(compile(expression, file, "eval"), vars(module)).findings}


@pytest.mark.parametrize("page", PROBES)
def test_the_example_has_the_fault_and_what_the_page_offers_instead_has_not(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = (
        fault(page).sections[heading].removeprefix("```python\n").removesuffix("\n```")
        for heading in ("Example", "Instead")
    )
    assert fault(page).name in found(page, wrong, monkeypatch)
    if page not in SLOW:
        assert fault(page).name not in found(page, right, monkeypatch)


def test_every_page_is_shown_by_a_rule_or_a_probe() -> None:
    assert PROBES.keys() == set(codes()) - {rule.CODE for rule in all_rules()}
