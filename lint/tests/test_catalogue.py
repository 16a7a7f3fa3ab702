import ast
import re
import subprocess
import sys

import pytest

from pullback_lint.catalogue import HEADINGS, SEVERITIES, UnknownFaultError, by_name, codes, fault
from pullback_lint.engine import lint


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
def test_sample_code_is_python(heading):
    for found in by_name().values():
        sample = found.sections[heading]
        assert sample.startswith("```python\n"), found.code
        assert sample.endswith("\n```"), found.code
        ast.parse(as_statements(sample.removeprefix("```python\n").removesuffix("```")), found.code)


def as_statements(sample):
    """Close what a shortened sample leaves open: a decorator, or a body that begins with an indented line."""
    lines = sample.rstrip().split("\n")
    if lines[0].startswith(" "):
        lines.insert(0, "if True:")
    return "\n".join(lines) + ("\ndef _(): ..." if lines[-1].startswith("@") else "")


def test_names_are_unique_and_lead_back_to_their_fault():
    assert len(by_name()) == len(codes())
    assert all(fault(name) is fault(found.code) for name, found in by_name().items())


def test_unknown_fault_says_what_comes_near():
    with pytest.raises(UnknownFaultError, match="no fault `missing-grad-outputs`; near: missing-grad-output"):
        fault("missing-grad-outputs")


def test_one_fault_is_read_without_reading_the_others():
    program = "import sys; from pullback_lint.catalogue import fault; fault('PB201'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if re.search(r"\.PB\d+$", name)] == ["pullback_lint.faults.PB201"]


def test_what_a_page_offers_instead_is_quiet():
    for found in by_name().values():
        sample = found.sections["Instead"].removeprefix("```python\n").removesuffix("```")
        findings = lint(
            f"import torch\nfrom torch.autograd import Function\nimport pullback as pb\n\n\n{sample}"
        ).findings
        assert found.name not in {finding.name for finding in findings}, found.code
