"""Modules are made from the records: parameters, constraints, state, and their place in a model."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from typing import Any

import pytest
import torch
from compare import assert_gradients, assert_values
from torch import nn

import pullback as pb
from pullback.errors import UsageError
from pullback.functional.listing import FAMILIES
from pullback.nn import CLASSES, counterparts
from pullback.nn.module import Entry

EVERY = pytest.mark.parametrize("cls", CLASSES.values(), ids=list(CLASSES))
LEARNING = [c for c in CLASSES.values() if "num_parameters" in c.arguments.parameters]
CONSTRAINED = [
    pytest.param(c, n, id=f"{c.__name__}.{n}")
    for c in CLASSES.values()
    for n, p in c.record.parameters.items()
    if p.above is not None
]
SCALES = pytest.mark.parametrize("cls", LEARNING, ids=lambda c: c.__name__)


def made(cls: type[Entry], **kwargs: Any) -> Entry:
    if "log" in cls.arguments.parameters:
        kwargs["log"] = repr
    return cls(**kwargs)


def trained(module: nn.Module) -> nn.Module:
    """A module whose parameters are not the initial ones."""
    for parameter in module.parameters():
        parameter.data += 0.125
    return module


@EVERY
def test_runs_trains_copies_and_pickles(cls: type[Entry]) -> None:
    module, x = trained(made(cls)), torch.randn(3, 4, 2, requires_grad=True)
    out = module(x)
    out.sum().backward()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in module.parameters())
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(other) == repr(module)
        if not cls.record.random:
            assert_values([other(x)], [out])


@EVERY
def test_reset_and_state(cls: type[Entry]) -> None:
    fresh, module = made(cls), trained(made(cls))
    other = made(cls)
    other.load_state_dict(module.state_dict())
    assert_values(list(other.parameters()), list(module.parameters()))
    module.reset_parameters()
    assert_values(list(module.parameters()), list(fresh.parameters()))


@SCALES
def test_a_parameter_per_channel(cls: type[Entry]) -> None:
    module, x = cls(3), torch.randn(4, 3, 5) if cls.record.channel_dim == 1 else torch.randn(4, 5, 3)
    for name, parameter in cls.record.parameters.items():
        if parameter.channels:
            setattr_value(module, name, torch.tensor([0.6, 0.8, 1.1]))
    whole, dim = module(x), cls.record.channel_dim
    for c in range(3):
        alone = cls(1)
        for name, parameter in cls.record.parameters.items():
            setattr_value(alone, name, getattr(module, name)[c] if parameter.channels else getattr(module, name))
        assert_values([alone(x.select(dim, c))], [whole.select(dim, c)])


def setattr_value(module: Entry, name: str, value: Any) -> None:
    module.assign(name, module.record.parameters[name], value.detach())


@pytest.mark.parametrize(("cls", "name"), CONSTRAINED)
def test_constraints_hold_and_assign(cls: type[Entry], name: str) -> None:
    module, parameter = cls(), cls.record.parameters[name]
    assert_gradients([getattr(module, name)], [torch.tensor([parameter.initial])])
    getattr(module, f"raw_{name}").data.fill_(-30.0)
    assert (getattr(module, name) >= parameter.above).all()
    setattr(module, name, 2.5)
    assert_values([getattr(module, name)], [torch.tensor([2.5])])
    with pytest.raises(UsageError, match=f"{name} is above"):
        setattr(module, name, -1.0)


@torch.no_grad()
def copied(value: torch.Tensor) -> None:
    value.copy_(torch.full((2,), 2.5))


@pytest.mark.parametrize(
    "change",
    [
        lambda value: nn.init.constant_(value, 2.5),
        lambda value: nn.init.uniform_(value, 2.5, 2.5),
        lambda value: value.data.fill_(2.5),
        lambda value: value.detach()[:].fill_(2.5),
        lambda value: [one.data.fill_(2.5) for one in value.data.unbind()],
        lambda value: torch.add(value.data * 0, 2.5, out=value.data),
        torch.inference_mode()(lambda value: value.fill_(2.5)),
        copied,
    ],
    ids=["constant_", "uniform_", "data", "slice", "elements", "out", "inference mode", "no_grad"],
)
@pytest.mark.parametrize("name", ["PACT", "SpikeErf"])
def test_a_constrained_parameter_is_changed_in_place(name: str, change: Any) -> None:
    module = CLASSES[name](2)
    (learned,) = module.record.parameters
    change(getattr(module, learned))
    assert_gradients([getattr(module, learned)], [torch.full((2,), 2.5)])
    with pytest.raises(UsageError, match=f"{learned} is above 0"):
        getattr(module, learned).data.fill_(-1.0)


def test_a_constrained_value_is_otherwise_a_tensor() -> None:
    module, other = CLASSES["PACT"](2, alpha=[1.0, 2.0]), CLASSES["PACT"](2)
    made = [module.alpha * 1, torch.cat([module.alpha]), module.alpha.clone(), module.alpha.unbind()[0]]
    assert {type(t) for t in made[:3]} == {torch.Tensor}
    assert_gradients([pickle.loads(pickle.dumps(module.alpha.detach()))], [torch.tensor([1.0, 2.0])])
    (module.alpha * torch.tensor([1.0, 3.0])).sum().backward()
    assert_gradients([module.raw_alpha.grad], [torch.tensor([1.0, 3.0]) * torch.sigmoid(module.raw_alpha)])
    other.alpha = module.alpha
    assert_gradients([other.alpha], [module.alpha])
    nn.utils.parametrize.register_parametrization(other, "raw_alpha", Halved())
    other.alpha = 3.0
    assert_gradients([other.alpha], [torch.full((2,), 3.0)])


class Halved(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / 2

    def right_inverse(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


@pytest.mark.parametrize(("cls", "name"), CONSTRAINED)
def test_constraints_hold_where_softplus_is_zero(cls: type[Entry], name: str) -> None:
    module, x = cls(), torch.tensor([-3.0, -1e-3, 0.0, 1e-3, 5.0], requires_grad=True)
    getattr(module, f"raw_{name}").data.fill_(-200.0)
    out = module(x)
    found = torch.autograd.grad(out.sum(), [x, *module.parameters()], materialize_grads=True)
    assert all(torch.isfinite(t).all() for t in (out, *found))


def test_replaced_models_are_traced_by_fx() -> None:
    plain = nn.Sequential(model(), CLASSES["SwiGLU"](), CLASSES["Snake"](2))
    x = torch.randn(3, 4)
    traced = torch.fx.symbolic_trace(pb.nn.replace(plain))
    assert_values([traced(x)], [plain(x)])
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"][-2:] == ["1", "2"]


@pytest.mark.parametrize(("old", "new"), [(o, n) for o, n in counterparts().items()], ids=lambda c: c.__module__)
def test_exchange_with_pytorch(old: type[nn.Module], new: type[Entry]) -> None:
    theirs = trained(old())
    ours, x = new.like(theirs), torch.randn(3, 4)
    assert_values([ours(x)], [theirs(x)])
    back = old()
    back.load_state_dict(ours.state_dict())
    assert_values(list(back.parameters()), list(theirs.parameters()))


def model() -> nn.Sequential:
    shared = nn.SiLU(inplace=True)
    inner = nn.Sequential(nn.Linear(4, 4), nn.GELU("tanh"), shared)
    return nn.Sequential(inner, nn.PReLU(4), nn.Softplus(2.0), shared, nn.ReLU())


def test_replace_all_keeps_the_function() -> None:
    x, before = torch.randn(5, 4), model()
    after = copy.deepcopy(before)
    assert pb.nn.replace(after) is after
    assert_gradients([after(x)], [before(x)])
    kinds = [type(m).__module__ for m in after.modules() if not list(m.children())]
    assert kinds.count("pullback.nn") == 4
    assert after[0][2] is after[3]
    assert list(after.state_dict()) == list(before.state_dict())


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ((nn.ReLU, "SquaredReLU"), "SquaredReLU"),
        (({nn.ReLU: "Swish"},), "Swish"),
        (("4", "SMeLU"), "SMeLU"),
        (({"[4]": "SMeLU"},), "SMeLU"),
        (((nn.ReLU, nn.ELU), "Snake"), "Snake"),
        ((["4", "0.1"], "Snake"), "Snake"),
    ],
    ids=["class", "dict", "path", "pattern", "classes", "paths"],
)
def test_replace_takes_what_a_user_would_guess(arguments: Any, kind: str) -> None:
    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: named(v) for k, v in value.items()}
        return CLASSES.get(value, value) if isinstance(value, str) else value

    assert type(pb.nn.replace(model(), *map(named, arguments))[4]).__name__ == kind


@pytest.mark.parametrize(
    "by",
    [lambda old: CLASSES["Snake"](4), CLASSES["Snake"](4), functools.partial(CLASSES["Snake"], 4)],
    ids=["function", "module", "partial"],
)
def test_replace_takes_what_makes_a_module(by: Any) -> None:
    done = pb.nn.replace(model(), nn.ReLU, by)
    assert repr(done[4]) == "Snake(num_parameters=4)"


def test_replace_keeps_mode_and_dtype_and_may_replace_the_model_itself() -> None:
    done = pb.nn.replace(model().double().eval(), nn.ReLU, CLASSES["Swish"])
    assert not done[4].training
    assert done[4].beta.dtype == torch.float64
    assert type(pb.nn.replace(nn.GELU())) is CLASSES["GELU"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((nn.ELU, CLASSES["Swish"]), "needs a module of the model to replace: ELU"),
        ((nn.ELU,), "is called with a model"),
        ((nn.ReLU, lambda old: 3), "what replaces a module is one"),
        ((nn.ReLU, "Swish"), "not its name nor the function"),
        ((nn.ReLU, pb.functional.silu), "not its name nor the function"),
        ((nn.ReLU, nn.Linear), "a class is made without arguments"),
        ((nn.ReLU, lambda: CLASSES["Swish"]()), "a class is made without arguments"),
        ((nn.Module, CLASSES["Swish"]), "a subclass of Module, and not meant by it"),
        ((nn.Sequential(), CLASSES["Swish"]), "is called with a model"),
        (({},), "none is given"),
    ],
)
def test_replace_says_what_is_wrong(arguments: Any, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        pb.nn.replace(model(), *arguments)


@pytest.mark.parametrize(
    ("run", "match"),
    [
        (lambda: CLASSES["Snake"](3)(torch.zeros(2, 4)), "has 3 channels"),
        (lambda: CLASSES["Snake"](gamma=1), "is made as Snake"),
        (lambda: CLASSES["PACT"](alpha=-1.0), "alpha is above 0"),
        (lambda: CLASSES["PACT"](alpha="a"), "alpha is a number"),
        (lambda: CLASSES["PACT"](alpha=torch.ones(1, requires_grad=True) * 2), "alpha takes numbers, which it copies"),
        (lambda: CLASSES["Snake"](2, alpha=[1.0, 2.0, 3.0]), "alpha is a number, or 2 of them"),
        (lambda: CLASSES["Snake"](0), "num_parameters is a positive whole number"),
        (lambda: CLASSES["Snake"](2.5), "num_parameters is a positive whole number"),
        (lambda: CLASSES["LSQ"](bits=4), "give low and high: -8 and 7 for four bits"),
        (lambda: CLASSES["LSQ"](low=3, high=3), "low is less than high"),
        (lambda: pb.nn.replace(torch.nn.functional.relu), "takes a model first"),
        (lambda: CLASSES["SwiGLU"]()(torch.zeros(3)), "an even number of features"),
        (lambda: pb.functional.silu(torch.zeros(3), inplace=True), "works out of place"),
        (lambda: pb.functional.gelu(torch.zeros(3), approximate="erf"), "approximate is"),
        (lambda: pb.catalogue("activations"), "family is one of the lists"),
    ],
)
def test_errors(run: Any, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        run()


def test_replace_keeps_parameters_as_they_are() -> None:
    one, other = nn.PReLU(4), nn.PReLU(4)
    other.weight = one.weight  # tied
    plain = nn.Sequential(one, nn.Linear(4, 4).bfloat16(), other, nn.PReLU().requires_grad_(False))
    optimizer = torch.optim.SGD(plain[:1].parameters(), lr=1.0)
    after = pb.nn.replace(plain)
    assert after[0].weight is after[2].weight is one.weight
    assert not after[3].weight.requires_grad
    after[0](torch.full((1, 4), -1.0)).sum().backward()
    optimizer.step()
    assert_values([after[0].weight], [torch.full((4,), 1.25)])
    assert pb.nn.replace(nn.Sequential(nn.PReLU(2, device="meta")))[0].weight.is_meta


def test_replace_keeps_hooks_and_their_handles() -> None:
    plain, seen = nn.Sequential(nn.GELU()), list[str]()
    handle = plain[0].register_forward_hook(lambda *args: seen.append("forward"))
    plain[0].register_full_backward_hook(lambda *args: seen.append("backward"))
    plain[0].register_forward_pre_hook(lambda *args: seen.append("before"))
    after = pb.nn.replace(plain)
    after(torch.ones(2, requires_grad=True)).sum().backward()
    assert seen == ["before", "forward", "backward"]
    handle.remove()
    after(torch.ones(2))
    assert seen[3:] == ["before"]


def test_new_parameters_are_where_the_layers_around_them_are() -> None:
    inner = nn.Sequential(nn.Linear(2, 2).double(), nn.ReLU())
    after = pb.nn.replace(nn.Sequential(nn.Linear(2, 2), inner), nn.ReLU, CLASSES["Swish"])
    assert after[1][1].beta.dtype == torch.float64


def test_replacing_again_changes_nothing() -> None:
    once = pb.nn.replace(nn.Sequential(nn.GELU()))
    before = once[0]
    assert pb.nn.replace(once)[0] is before


@pytest.mark.parametrize("old", [c for c in counterparts() if "inplace" in inspect.signature(c).parameters])
def test_in_place_means_in_place(old: type[nn.Module]) -> None:
    x = torch.linspace(-2, 2, 5)
    found = []
    for module in (old(inplace=True), pb.nn.replace(old(inplace=True))):
        leaf = x.clone().requires_grad_()
        given = leaf * 1
        module(given)
        found.append([given, *torch.autograd.grad(given.sum(), leaf)])
        with torch.no_grad():
            given = x.clone()
            assert module(given).data_ptr() == given.data_ptr()
    assert_gradients(found[1], found[0])


class Wrapped(nn.parallel.DistributedDataParallel):
    """A wrapper for several processes, without any."""

    def __init__(self, module: nn.Module) -> None:
        nn.Module.__init__(self)
        self.module = module


def test_new_parameters_come_before_the_wrapper() -> None:
    assert "pullback.nn" in type(pb.nn.replace(Wrapped(model())).module[1]).__module__
    with pytest.raises(UsageError, match="new parameters come before a model is wrapped"):
        pb.nn.replace(Wrapped(model()), nn.ReLU, CLASSES["Swish"])


@EVERY
def test_a_single_number_stays_one(cls: type[Entry]) -> None:
    module, x = made(cls), torch.tensor(0.3, requires_grad=True)
    out = module(x) if len(cls.record.tensors) == 1 else module(x, x)
    out.backward()
    assert out.shape == ()


def test_a_constrained_parameter_takes_a_parameter_and_prints_tensors() -> None:
    layer = CLASSES["PACT"]()
    layer.alpha = nn.Parameter(torch.tensor([3.0]))
    assert_gradients([layer.alpha], [torch.tensor([3.0])])
    assert repr(CLASSES["Snake"](2, alpha=torch.tensor([0.5, 2.0]))) == "Snake(num_parameters=2, alpha=[0.5, 2.0])"


def test_gated_units_split_or_take_two() -> None:
    x = torch.randn(3, 6)
    layer = CLASSES["SwiGLU"]()
    assert_values([layer(x)], [layer(x[:, :3], x[:, 3:])])
    assert_values([layer(x)], [nn.functional.silu(x[:, :3]) * x[:, 3:]])


def test_reversal_follows_its_schedule() -> None:
    layer, x = CLASSES["ReverseGradient"](pb.nn.rising), torch.ones(1, requires_grad=True)
    strengths = []
    for layer.progress in (0.0, 0.5, 1.0):
        strengths.append(-torch.autograd.grad(layer(x), x)[0].item())
    expected = [2 / (1 + torch.exp(torch.tensor(-10.0 * p, dtype=torch.float64))) - 1 for p in (0.0, 0.5, 1.0)]
    assert_values([torch.tensor(strengths)], [torch.stack(expected).float()])


@pytest.mark.parametrize("channels", [1, 3])
def test_lsq_takes_its_step_from_data(channels: int) -> None:
    layer, x = CLASSES["LSQ"](channels, low=-8, high=7, channel_dim=0), torch.randn(3, 50)
    layer.calibrate(x)
    mean = x.abs().mean(1) if channels == 3 else x.abs().mean().reshape(1)
    assert_values([layer.step], [2 * mean / 7**0.5])


def test_the_catalogue_knows_one_entry_and_its_fields() -> None:
    (record,) = pb.catalogue("swish")
    assert (record.formula, record.bits, record.ulp) == ("x * sigmoid(beta * x)", 32.0, None)
    assert (list(record.parameters), record.source.startswith("Ramachandran")) == (["beta"], True)
    assert pb.catalogue("silu")[0].ulp == (0.55, 1.0)
    assert sorted(r.name for f in FAMILIES for r in pb.catalogue(f)) == [r.name for r in pb.catalogue()]


def test_the_catalogue_prints_a_table() -> None:
    text = repr(pb.catalogue())
    assert len(text.splitlines()) == len(pb.functional.__all__) + 1
    assert "silu" in text
    row = next(line for line in text.splitlines() if line.startswith("swish "))
    assert "beta" in row
    assert "32 bit" in row
