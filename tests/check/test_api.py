"""`check`, `assert_correct`, `gradcheck`: what they take, return and raise; the JSON form."""

from __future__ import annotations

import json

import mutants
import pytest
import torch

import pullback as pb
from pullback.check import formats
from pullback.check.report import Finding, Report, TargetReport
from pullback.errors import GradientMismatchError, UsageError

TARGET_KEYS = {
    "name", "file", "line", "kind", "status", "inputs", "inputs_repr", "reference", "verdict", "findings", "skipped",
    "seconds",
}  # fmt: skip
FINDING_KEYS = {
    "code", "name", "severity", "probe", "stack", "argument", "line", "message", "cause", "fix", "formula", "evidence",
}  # fmt: skip


def test_the_json_form_is_the_promised_one() -> None:
    data = json.loads(formats.as_json(pb.check(mutants.WrongFormula, *mutants.pair())))
    assert data["version"] == 1
    assert data["tool"]["name"] == "pullback"
    assert data["summary"] == {"targets": 1, "ok": 0, "fault": 1, "unchecked": 0}
    (target,) = data["targets"]
    assert set(target) >= TARGET_KEYS
    assert set(target["findings"][0]) == FINDING_KEYS
    assert target["findings"][0]["code"] == "PB204"


@pytest.mark.parametrize("name", sorted(formats.FORMATS))
def test_every_format_names_the_fault(name) -> None:
    text = formats.FORMATS[name](pb.check(mutants.WrongFormula, *mutants.pair()))
    assert "PB204" in text


def test_sarif_and_junit_are_well_formed() -> None:
    from xml.etree import ElementTree as ET

    report = pb.check(mutants.WrongFormula, *mutants.pair())
    run = json.loads(formats.sarif(report))["runs"][0]
    assert {r["ruleId"] for r in run["results"]} == {r["id"] for r in run["tool"]["driver"]["rules"]}
    assert ET.fromstring(formats.junit(report).encode()).get("failures") == "1"


def test_apply_stands_for_its_class() -> None:
    assert pb.check(mutants.Product.apply, *mutants.pair()).targets[0].name == "Product"


def test_the_wrong_entry_is_named_with_got_and_expected() -> None:
    finding = pb.check(mutants.WrongFormula, *mutants.pair()).findings[0]
    assert finding.argument == "x"
    assert round(finding.evidence["got"] / finding.evidence["expected"], 5) == 1.0


def test_assert_correct_raises_with_the_report() -> None:
    pb.assert_correct(mutants.Product, *mutants.pair())
    with pytest.raises(GradientMismatchError, match="PB204 wrong-derivative") as caught:
        pb.assert_correct(mutants.WrongFormula, *mutants.pair())
    error = caught.value
    assert error.who.startswith("WrongFormula (")
    assert error.do == "divide it by 1"
    assert len(str(error).splitlines()) == 3
    assert "1 target: 1 fault" in error.__notes__[0]
    with pytest.raises(GradientMismatchError, match="unchecked"):
        pb.assert_correct(lambda x: x.nothing, mutants.randn(3))


def test_gradcheck_is_a_drop_in() -> None:
    assert pb.gradcheck(mutants.Product.apply, mutants.pair(), fast_mode=True)
    assert not pb.gradcheck(mutants.WrongFormula.apply, mutants.pair(), raise_exception=False)


@pytest.mark.parametrize("nothing", [torch.arange(3), torch.ones(3) > 0, torch.empty(0, 3)])
def test_where_there_is_no_gradient_to_compare_nothing_is_called_right(nothing: torch.Tensor) -> None:
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, grad_output):
            return 3 * grad_output

    report = pb.check(Tripled, nothing)
    assert not report.ok
    assert report.targets[0].status == "unchecked"
    assert report.targets[0].verdict is None
    with pytest.raises(GradientMismatchError, match="no gradient to compare"):
        pb.assert_correct(Tripled, nothing)


def test_no_tracebacks_of_tracers_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    scaled = pb.function(lambda x, a: x * a)
    scaled.grad("x")(lambda g, a: g * a)
    scaled.grad("a")(lambda g, x: g * x)
    assert pb.check(scaled, mutants.randn(4, 5), mutants.randn(5)).ok
    assert capfd.readouterr().err == ""


def test_an_intention_is_checked_exactly() -> None:
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * grad_output

    x = mutants.randn(5)
    assert pb.check(Round, x).ok
    assert pb.check(Round, x).targets[0].verdict == "intent"
    assert pb.check(Round, x, intended=lambda x: 2 * x).ok
    assert "surrogate-scale-wrong" in pb.check(Round, x, intended=lambda x: 1 * x).names()


def test_a_reference_serves_an_opaque_forward() -> None:
    class Opaque(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(x.detach().numpy() ** 3)

        @staticmethod
        def backward(ctx, grad_output):
            return 3 * ctx.saved_tensors[0] ** 2 * grad_output

    x = mutants.randn(5)
    assert pb.check(Opaque, x).targets[0].reference == "finite-differences"
    assert pb.check(Opaque, x, reference=lambda x: x**3).targets[0].reference == "given"
    names = pb.check(Opaque, x, reference=lambda x: x**2).names()
    assert {"wrong-derivative", "wrong-forward-value"} <= set(names)


def test_a_function_of_pullback_is_a_target() -> None:
    @pb.function
    def double(x):
        return 2 * x

    @double.grad("x")
    def _(g):
        return 3 * g

    report = pb.check(double, mutants.randn(4))
    assert report.targets[0].kind == "pullback.Function"
    assert "wrong-derivative" in report.names()


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(UsageError, match="must be callable"):
        pb.check(3)


class Doubled(torch.autograd.Function):
    """Wrong in its second argument."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, 2 * g * x


class Normalised(torch.nn.Module):
    """Holds a parameter in float32, and statistics that each call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.w = torch.nn.BatchNorm1d(4), torch.nn.Parameter(torch.full((3, 4), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Doubled.apply(self.norm(x), self.w)


def test_every_function_inside_a_module_or_a_callable_is_checked_and_nothing_of_it_changes() -> None:
    module, x = Normalised(), torch.randn(3, 4)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    report = pb.check(module, x)
    assert [(t.name, t.status) for t in report.targets] == [("Normalised", "ok"), ("Doubled", "fault")]
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert module.w.grad is None
    inside = pb.check(lambda x: Doubled.apply(x, module.w), x)
    assert [(t.name, t.status) for t in inside.targets] == [("<lambda>", "ok"), ("Doubled", "fault")]


@pytest.mark.parametrize("captured", [False, True])
def test_single_precision_is_no_fault(captured: bool) -> None:
    layer = torch.nn.Linear(3, 4)
    report = pb.check((lambda x: layer(x)) if captured else layer, torch.randn(2, 3))
    assert report.ok
    assert not [f for f in report.findings if f.severity != "note"]


def test_the_text_has_the_gravest_finding_first() -> None:
    levels = ["note", "error", "warning"]
    found = [Finding("wrong-derivative", f"a {level}", level=level) for level in levels]
    text = formats.text(Report([TargetReport("F", "autograd.Function", findings=found)]))
    places = [text.index(f"a {level}") for level in ("error", "warning", "note")]
    assert places == sorted(places)
