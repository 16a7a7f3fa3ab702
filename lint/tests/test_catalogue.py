import ast
import re
import subprocess
import sys

import pytest

from pullback_lint.catalogue import HEADINGS, SEVERITIES, UnknownFaultError, by_name, codes, fault
from pullback_lint.engine import all_rules, lint


def test_every_page_has_all_headings_in_order_and_text_under_each():
    for found in by_name().values():
        assert tuple(found.sections) == HEADINGS, found.code
        assert all(found.sections.values()), found.code
        assert found.summary.endswith("."), found.code


def test_codes_names_and_severities_follow_the_patterns():
    for found in by_name().values():
        assert re.fullmatch(r"PB[1-7]\d\d", found.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", found.name)
        assert found.severity in SEVERITIES


@pytest.mark.parametrize("heading", ["Example", "Instead"])
def test_sample_code_is_a_whole_snippet(heading):
    for found in by_name().values():
        assert re.fullmatch(r"```python\n.*\n```", found.sections[heading], re.DOTALL), found.code
        tree = ast.parse(sample(found, heading))
        bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        assert not any(ast.unparse(body) == "..." for body in bodies), found.code


def test_names_are_unique_and_lead_back_to_their_fault():
    assert len(by_name()) == len(codes())
    assert all(fault(name) is fault(found.code) for name, found in by_name().items())


def test_unknown_fault_says_what_comes_near():
    with pytest.raises(UnknownFaultError, match="no fault `missing-grad-outputs`; near: missing-grad-output"):
        fault("missing-grad-outputs")


def test_one_fault_is_read_without_reading_the_others():
    loaded = modules("from pullback_lint.catalogue import fault; fault('PB201')")
    assert [name for name in loaded if re.search(r"\.PB\d+$", name)] == ["pullback_lint.faults.PB201"]


def modules(program):
    """The modules that a program leaves loaded."""
    command = [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"]
    return subprocess.run(command, input="", capture_output=True, text=True, check=True).stdout.split()


def test_a_text_with_nothing_to_lint_loads_neither_rules_nor_what_reads_syntax_trees():
    loaded = set(modules("from pullback_lint.cli import main; main(['--isolated', '-'])"))
    assert not loaded & {"ast", "json", "tokenize", "tomllib", "dataclasses", "shutil", "pullback_lint.engine"}
    assert len([name for name in loaded if name.startswith("pullback_lint")]) < 20


EVERYWHERE = {"no-setup-context", "no-jvp", "no-vmap", "needs-input-grad-waste", "saved-for-frozen"}
"""Notes that come with code which is short."""


def sample(found, heading):
    """The code under a heading."""
    return found.sections[heading].removeprefix("```python\n").removesuffix("\n```")


def named(source):
    result = lint(source)
    assert not result.error
    return {finding.name for finding in result.findings}


@pytest.mark.parametrize("code", sorted({rule.CODE for rule in all_rules()}))
def test_the_example_of_a_page_shows_this_fault_alone_and_what_it_offers_instead_shows_none(code):
    page = fault(code)
    assert named(sample(page, "Example")) - (EVERYWHERE - {page.name}) == {page.name}
    assert named(sample(page, "Instead")) - (EVERYWHERE - {page.name}) == set()
