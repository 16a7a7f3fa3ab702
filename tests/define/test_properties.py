"""Whatever the shapes, layouts, dtypes, names and defaults: the gradient is the declared one."""

from __future__ import annotations

import keyword
from typing import Any

import hypothesis
import hypothesis.strategies as st
import torch
from compare import assert_gradients

import pullback as pb

few = hypothesis.settings(max_examples=40)

# ---- shapes and layouts


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two shapes that broadcast."""
    full = draw(st.lists(st.integers(0, 3), max_size=3))
    shapes = [[n if draw(st.booleans()) else 1 for n in full][draw(st.integers(0, len(full))) :] for _ in range(2)]
    return shapes[0], shapes[1]


LAYOUTS = ("contiguous", "transposed", "strided", "expanded", "offset")


def laid_out(values: torch.Tensor, layout: str) -> torch.Tensor:
    """The same numbers in another layout."""
    if layout == "transposed" and values.dim() > 1:
        return values.mT.contiguous().mT
    if layout == "strided":
        return torch.stack([values, values], -1)[..., 0]
    if layout == "expanded" and values.dim() and values.shape[0]:
        return values[:1].expand_as(values)
    if layout == "offset":
        return torch.cat([values.new_zeros(1), values.reshape(-1)])[1:].reshape(values.shape)
    return values.clone()


@pb.function
def scaled(x, w):
    mask = x > 0
    return pb.keep(x * w + x * mask, mask=mask)


@scaled.grad("x")
def _(g, w, mask):
    return g * w + g * mask


@scaled.grad("w")
def _(g, x):
    return g * x


def formula(x, w):
    return x * w + torch.relu(x)


@few
@hypothesis.given(
    shapes=broadcastable(),
    layouts=st.tuples(*[st.sampled_from(LAYOUTS)] * 3),
    dtypes=st.tuples(*[st.sampled_from([torch.float32, torch.float64])] * 2),
    needed=st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_shapes_layouts_and_dtypes(shapes: Any, layouts: Any, dtypes: Any, needed: Any) -> None:
    pairs = zip(shapes, dtypes, layouts, strict=False)
    base = [laid_out(torch.randn(shape).to(dtype), layout) for shape, dtype, layout in pairs]
    found, expected = (
        pulled(fn, [t.detach().requires_grad_(n) for t, n in zip(base, needed, strict=True)], layouts[2])
        for fn in (scaled, formula)
    )
    assert [g is None for g in found] == [g is None for g in expected]
    for f, e in zip(found, expected, strict=True):
        assert f is None or (f.shape, f.dtype) == (e.shape, e.dtype)
        narrow = torch.float32 if torch.float32 in dtypes else torch.float64
        assert_gradients([None if f is None else f.to(narrow)], [None if e is None else e.to(narrow)])


def pulled(fn: Any, tensors: list[torch.Tensor], layout: str) -> list[torch.Tensor | None]:
    out = fn(*tensors)
    values = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).reshape(out.shape).to(out.dtype)
    out.backward(laid_out(values, layout))
    return [t.grad for t in tensors]


# ---- names

GENERATED = [
    "ctx", "g", "_", "__", "self", "cls", "fn", "r", "k", "b", "t", "s", "d", "e", "out_", "o0", "g0", "h0",
    "v0", "x_x", "len", "isinstance", "tuple", "type", "list", "Exception", "RuntimeError", "KeyError", "torch",
    "forward", "backward", "_g", "_r", "_ctx", "_get", "_function", "_general", "_entry", "_x_x", "_v0", "_o0",
    "_like_", "_value_", "_bits", "__pullback__x", "needed0", "rule0", "call0", "zero", "fit", "Like", "Kept",
    "Tensor", "function", "saved_tensors", "needs_input_grad", "call", "kept", "state", "args", "kwargs",
    "values", "default_", "_default_", "ifx", "forx", "class_",
]  # fmt: skip
names = st.one_of(
    st.sampled_from(GENERATED),
    st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(lambda n: not keyword.iskeyword(n) and n != "out"),
)


def build(name: str, args: tuple[str, str], kept: str, cotangent: str, *, several: bool) -> Any:
    """``name(a, b) = a * b + c``, with a kept value, with rules in those names."""
    a, b = args
    result = f"({a} * {b}, {a} + 0)" if several else f"{a} * {b}"
    of_first = f"{cotangent}[0]" if several else cotangent
    source = f"def {name}({a}, {b}):\n return pb_keep({result}, {kept}={a} > 0)\n"
    space: dict[str, Any] = {"pb_keep": pb.keep}
    exec(source, space)
    f = pb.function(space[name])
    more = f" + {cotangent}[1]" if several else ""
    rules = {
        a: f"lambda {cotangent}, {b}, {kept}: {of_first} * {b} * ({kept} | ~{kept}){more}",
        b: f"lambda {cotangent}, {a}: {of_first} * {a}",
    }
    for arg, rule in rules.items():
        f.grad(arg)(eval(rule))
    return f


@few
@hypothesis.given(
    words=st.lists(names, min_size=5, max_size=5, unique=True),
    several=st.booleans(),
)
def test_any_names(words: list[str], several: bool) -> None:
    name, a, b, kept, cotangent = words
    f = build(name, (a, b), kept, cotangent, several=several)
    for needed in ((True, True), (True, True), (False, True)):
        x, y = (torch.tensor([2.0, 3.0], requires_grad=n) for n in needed)
        out = f(x, **{b: y})
        sum(o.sum() for o in (out if several else (out,))).backward()
        assert y.grad.tolist() == [2.0, 3.0]
        assert x.grad is None or x.grad.tolist() == ([3.0, 4.0] if several else [2.0, 3.0])
    with torch.no_grad():
        f(x, y)


# ---- defaults and kinds of parameters

plain_values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.text(max_size=3), st.just(...),
    st.just(()), st.just([1, 2]), st.just({"a": 1}), st.just(torch.float32), st.just(torch.Size([1])),
)  # fmt: skip


@few
@hypothesis.given(default=plain_values, kind=st.sampled_from(["n=", "*, n=", "/, n="]), given=st.booleans())
def test_defaults(default: Any, kind: str, given: bool) -> None:
    space: dict[str, Any] = {"default": default, "seen": []}
    exec(f"def f(x, {kind}default):\n seen.append(n)\n return x * 2", space)
    f = pb.function(space["f"])
    f.grad("x")(lambda g, n: (space["seen"].append(n), 2 * g)[1])
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        (f(x, n=default) if given else f(x)).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
    assert len(space["seen"]) == 4
    assert all(value is default or value == default for value in space["seen"])


@few
@hypothesis.given(values=st.lists(st.one_of(st.integers(0, 3), st.floats(0.5, 2), st.booleans()), max_size=6))
def test_hyperparameters_of_changing_type_and_value(values: list[Any]) -> None:
    f = pb.function(lambda x, n: x * n)
    f.grad("x")(lambda g, n: g * n)
    for n in values:
        x = torch.ones(1, dtype=torch.float64, requires_grad=True)
        f(x, n).backward()
        assert x.grad.item() == float(n)


# ---- containers


def trees(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        ),
        max_leaves=5,
    )


@few
@hypothesis.given(tree=trees(st.one_of(st.just("tensor"), st.none(), st.integers(0, 3))))
def test_any_containers(tree: Any) -> None:
    pytree = torch.utils._pytree
    tensors: list[torch.Tensor] = []

    def fill(leaf: Any) -> Any:
        if leaf != "tensor":
            return leaf
        tensors.append(torch.full((2,), 1.0 + len(tensors), requires_grad=True))
        return tensors[-1]

    given = pytree.tree_map(fill, tree)
    f = pb.function(lambda x, tree: (x, pytree.tree_map_only(torch.Tensor, lambda t: t * t, tree)))
    f.grad("x")(lambda g: g[0])
    f.grad("tree")(
        lambda g, tree: pytree.tree_map(lambda t, c: 2 * t * c if isinstance(t, torch.Tensor) else None, tree, g[1])
    )
    _, out = f(torch.ones(2, requires_grad=True), given)
    assert pytree.tree_structure(out) == pytree.tree_structure(given)
    found = [o for o in pytree.tree_leaves(out) if isinstance(o, torch.Tensor)]
    if found:
        sum(o.sum() for o in found).backward()
    assert [t.grad.tolist() for t in tensors] == [(2 * t).tolist() for t in tensors]
