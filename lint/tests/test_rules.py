import re
from pathlib import Path

import pytest

from pullback_lint.catalogue import fault
from pullback_lint.engine import all_rules, lint

FIXTURES = Path(__file__).parent / "fixtures"
RULES = {rule.__name__.rpartition(".")[2]: rule for rule in all_rules()}


def found(path, code):
    """The lines on which a rule fires, in order."""
    result = lint(path.read_text(), path.name, place=path)
    assert not result.error
    return list(dict.fromkeys(finding.line for finding in result.findings if finding.code == code))


def expected(path, code):
    """The lines whose trailing comment names a code."""
    return [number for number, line in enumerate(path.read_text().splitlines(), 1) if re.search(rf"# {code}\b", line)]


@pytest.mark.parametrize("name", RULES)
def test_rule_fires_where_its_fixture_says(name):
    path = FIXTURES / name / "fires.py"
    assert expected(path, RULES[name].CODE), "a fixture without expected findings shows nothing"
    assert found(path, RULES[name].CODE) == expected(path, RULES[name].CODE)


@pytest.mark.parametrize("name", RULES)
def test_rule_is_quiet_on_its_exceptions(name):
    assert found(FIXTURES / name / "quiet.py", RULES[name].CODE) == []


@pytest.mark.parametrize("name", RULES)
def test_rule_is_named_for_its_fault_and_documented(name):
    rule = RULES[name]
    assert fault(rule.CODE).name == name.replace("_", "-")
    assert (rule.__doc__ or "").rstrip().endswith(".")
    assert hasattr(rule, "check_function") or hasattr(rule, "check_module")


def test_every_fixture_belongs_to_a_rule():
    assert {path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(RULES)


def test_messages_are_one_line_without_a_full_stop():
    for path in sorted(FIXTURES.glob("*/fires.py")):
        for finding in lint(path.read_text(), path.name, place=path).findings:
            assert "\n" not in finding.message + finding.fix, finding.name
            assert not finding.message.endswith("."), finding.name
