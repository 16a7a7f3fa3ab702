"""Every probe has a mutant that only it catches, and says nothing about the right one."""

from __future__ import annotations

import mutants
import pytest
import torch

from pullback.check import battery, check

PROBES = [module.__name__.rpartition(".")[2] for module in battery.found()]
MISSING = sorted(set(PROBES) - set(mutants.MUTANTS))
if MISSING:
    raise LookupError(f"probes without a mutant: {', '.join(MISSING)}")

ROWS = [(probe, *row) for probe, rows in mutants.MUTANTS.items() for row in rows]


def made(cls: object) -> object:
    return cls() if isinstance(cls, type) and issubclass(cls, torch.nn.Module) else cls


@pytest.mark.parametrize(("probe", "name", "cls", "inputs"), ROWS, ids=[f"{p}-{n}" for p, n, _, _ in ROWS])
def test_the_mutant_is_caught_by_its_probe_alone(probe, name, cls, inputs) -> None:
    report = check(made(cls), *inputs())
    probes = {finding.probe for finding in report if finding.name == name}
    assert probes == {probe}, str(report)
    others = {f.name for f in report if f.severity == "error" and f.name != name}
    assert not others, str(report)


@pytest.mark.parametrize("module", battery.found(), ids=PROBES)
def test_without_its_probe_the_mutant_survives(module, monkeypatch) -> None:
    probe = module.__name__.rpartition(".")[2]
    monkeypatch.setattr(module, "probe", lambda case: iter(()))
    for name, cls, inputs in mutants.MUTANTS[probe]:
        assert name not in check(made(cls), *inputs()).names()


def test_the_right_one_passes_every_probe() -> None:
    report = check(mutants.Product, *mutants.pair())
    assert report.ok
    assert [finding.name for finding in report] == ["no-setup-context"]
    assert report.targets[0].skipped == []


@pytest.mark.parametrize("module", battery.found(), ids=PROBES)
def test_a_probe_says_what_it_needs_and_what_it_is_about(module) -> None:
    assert module.NEEDS in battery.STAGES
    assert module.__doc__
    assert module.probe.__doc__
