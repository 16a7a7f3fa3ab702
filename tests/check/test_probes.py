"""Every probe has a mutant that only it catches, and says nothing about the right one."""

from __future__ import annotations

import mutants
import pytest
import torch

from pullback.check import battery, check
from pullback.check.probes import stacks as probe_of_stacks
from pullback.check.stacks import STACKS
from pullback.errors import UsageError

PROBES = [module.__name__.rpartition(".")[2] for module in battery.found()]
MISSING = sorted(set(PROBES) - set(mutants.MUTANTS))
if MISSING:
    raise LookupError(f"probes without a mutant: {', '.join(MISSING)}")

BY_CHOICE = [name for name, module in zip(PROBES, battery.found(), strict=True) if getattr(module, "BY_CHOICE", False)]
ROWS = [(probe, *row) for probe, rows in mutants.MUTANTS.items() for row in rows]


@pytest.fixture(autouse=True)
def few_stacks(monkeypatch) -> None:
    """One stack of each outcome: all of them take half a minute."""
    few = [STACKS[name] for name in ("eager", "func.grad", "compile of func.grad")]
    monkeypatch.setattr(probe_of_stacks, "rows", lambda: few)


def probes_for(probe: str) -> list[str] | None:
    """None for those that always run; else also the one that must be asked for."""
    return None if probe not in BY_CHOICE else [p for p in PROBES if p == probe or p not in BY_CHOICE]


def made(cls: object) -> object:
    return cls() if isinstance(cls, type) and issubclass(cls, torch.nn.Module) else cls


@pytest.mark.parametrize(("probe", "name", "cls", "inputs"), ROWS, ids=[f"{p}-{n}" for p, n, _, _ in ROWS])
def test_the_mutant_is_caught_by_its_probe_alone(probe, name, cls, inputs) -> None:
    report = check(made(cls), *inputs(), probes=probes_for(probe))
    probes = {finding.probe for finding in report if finding.name == name}
    assert probes == {probe}, str(report)
    others = {f.name for f in report if f.severity == "error" and f.name != name}
    assert not others, str(report)


@pytest.mark.parametrize("module", battery.found(), ids=PROBES)
def test_without_its_probe_the_mutant_survives(module, monkeypatch) -> None:
    probe = module.__name__.rpartition(".")[2]
    monkeypatch.setattr(module, "probe", lambda case: iter(()))
    for name, cls, inputs in mutants.MUTANTS[probe]:
        assert name not in check(made(cls), *inputs(), probes=probes_for(probe)).names()


def test_the_right_one_passes_every_probe() -> None:
    report = check(mutants.Product, *mutants.pair())
    assert report.ok
    assert [finding.name for finding in report] == ["needless-function", "no-setup-context"]
    assert report.targets[0].skipped == []


@pytest.mark.parametrize("module", battery.found(), ids=PROBES)
def test_a_probe_says_what_it_needs_and_what_it_is_about(module) -> None:
    assert module.NEEDS in battery.STAGES
    assert module.__doc__
    assert module.probe.__doc__


def test_a_probe_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="takes names of probes"):
        check(mutants.Product, *mutants.pair(), probes=["value"])


def test_probes_that_compile_run_when_asked_for() -> None:
    report = check(mutants.Product, *mutants.pair(), probes=["values", *BY_CHOICE])
    assert report.ok
    assert report.targets[0].skipped == []
    assert [finding.name for finding in report] == ["stack-drops-rule"]  # by "compile of func.grad"
