"""Operations with several results, tensors of indices, and operations whose pull is left to PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from pullback.graph.functions import Term
from pullback.graph.moved import INDEX, NOTHING, Several, moved
from pullback.graph.reductions import REDUCTIONS
from pullback.graph.structure import narrow, select

_F = "torch.nn.functional."
_variance, _deviation, _mean = (REDUCTIONS[name][1] for name in ("var", "std", "mean"))

# by PyTorch's own derivative ------------------------------------------------------------------------------------------


def _literal(value: Any) -> str:
    """An option as Python writes it."""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, sp.Integer):
        return str(int(value))
    return (
        f'"{value}"' if isinstance(value, str) else repr(float(value)) if isinstance(value, sp.Number) else str(value)
    )


def _is_operand(value: Any) -> bool:
    return isinstance(value, sp.Basic) and bool(value.free_symbols)


def by_pytorch(call: str, values: Sequence[Any], options: dict[str, Any], result: str = "") -> Term:
    """A call whose gradient is ``torch.func.vjp``'s, for what has no short formula.

    Args:
        call: ``torch.name`` for a function, ``.name`` for a method of the first value.
        values: Terms and plain values, by position.
        options: The same, by name.
        result: What is taken of the result: ``[0]`` or ``.values``.
    """
    operands = [v for v in (*values, *options.values()) if _is_operand(v)]
    places = iter(f"{{{at}}}" for at in range(len(operands)))
    texts = [next(places) if _is_operand(v) else _literal(v) for v in values]
    texts += [f"{k}={next(places) if _is_operand(v) else _literal(v)}" for k, v in options.items()]
    whole = f"{texts[0]}{call}({', '.join(texts[1:])})" if call[0] == "." else f"{call}({', '.join(texts)})"
    whole += result
    pulls = [
        f"torch.func.vjp(lambda argument: {whole.replace(hole, 'argument')}, {hole})[1]({{g}})[0]"
        for hole in (f"{{{at}}}" for at in range(len(operands)))
    ]
    return moved(whole, pulls, operands)


def _left(call: str) -> Callable[..., Term]:
    """A row of an operation that is left to PyTorch."""
    return lambda *values, **options: by_pytorch(call, values, options)


def _two(call: str) -> Callable[..., Term]:
    """Values and indices along a dimension."""

    def build(x: Term, *values: Any, **options: Any) -> Any:
        if not values and not options and call == "torch.median":
            return by_pytorch(call, [x], {})
        whole = by_pytorch(call, [x, *values], options)
        return Several((by_pytorch(call, [x, *values], options, ".values"), _indices(whole)))

    return build


def _indices(whole: Term) -> Term:
    return moved(f"{whole.template}.indices", [NOTHING] * len(whole.operands), whole.operands)


def _chosen_by(call: str, names: Sequence[str]) -> Callable[..., Any]:
    """Values that are picked along a dimension: what goes back is scattered to where they came from."""

    def build(x: Term, *values: Any, **options: Any) -> Any:
        given = {**dict(zip(names, values, strict=False)), **options}
        dim = _literal(given.get("dim", -1))
        text = f"{call}({{0}}, {', '.join(f'{k}={_literal(v)}' for k, v in given.items())})".replace(", )", ")")
        pull = f"torch.zeros_like({{like0}}).scatter({dim}, {text}.indices, {{g}})"
        return Several((moved(f"{text}.values", [pull], [x], compares=True), moved(f"{text}.indices", [NOTHING], [x])))

    return build


# pieces and indices ---------------------------------------------------------------------------------------------------


def _split(x: Term, size: Any, dim: Any = 0) -> Several:
    if isinstance(size, tuple):
        ends = [int(sum(size[: at + 1])) for at in range(len(size))]
        return Several(tuple(narrow(x, int(dim), e - int(s), e, None) for s, e in zip(size, ends, strict=True)))
    return Several(lambda at: narrow(x, int(dim), at * int(size), (at + 1) * int(size), None))


def _chunk(x: Term, chunks: Any, dim: Any = 0) -> Several:
    size = f"-(-{{like0}}.shape[{dim}] // {chunks})"

    def piece(at: int) -> Term:
        scattered = f"slice_scatter({{g}}, {dim}, start={at} * ({size}), end={at + 1} * ({size}))"
        if at == 0:
            scattered = f"slice_scatter({{g}}, {dim}, start=0, end={size})"
        pull = f"torch.zeros_like({{like0}}).{scattered}"
        return moved(f"torch.chunk({{0}}, {chunks}, dim={dim})[{at}]", [pull], [x])

    return Several(piece, int(chunks))


def _unbind(x: Term, dim: Any = 0) -> Several:
    return Several(lambda at: select(x, dim, at))


def _gather(x: Term, dim: Any, index: Term) -> Term:
    pull = f"torch.zeros_like({{like0}}).scatter_add({dim}, {{1}}, {{g}})"
    return moved(f"torch.gather({{0}}, {dim}, {{1}})", [pull, INDEX], [x, index])


def _index_select(x: Term, dim: Any, index: Term) -> Term:
    pull = f"torch.zeros_like({{like0}}).index_add({dim}, {{1}}, {{g}})"
    return moved(f"torch.index_select({{0}}, {dim}, {{1}})", [pull, INDEX], [x, index])


def _scatter_add(x: Term, dim: Any, index: Term, src: Term) -> Term:
    pulls = ["{g}", INDEX, f"{{g}}.gather({dim}, {{1}})"]
    return moved(f"torch.scatter_add({{0}}, {dim}, {{1}}, {{2}})", pulls, [x, index, src])


def _index_add(x: Term, dim: Any, index: Term, source: Term) -> Term:
    pulls = ["{g}", INDEX, f"{{g}}.index_select({dim}, {{1}})"]
    return moved(f"torch.index_add({{0}}, {dim}, {{1}}, {{2}})", pulls, [x, index, source])


def _embedding(index: Term, weight: Term) -> Term:
    pull = "torch.zeros_like({like1}).index_put(({0},), {g}, accumulate=True)"
    return moved(f"{_F}embedding({{0}}, {{1}})", [INDEX, pull], [index, weight])


def _integral(template: str, operand: str = NOTHING) -> Callable[..., Term]:
    """Whole numbers, through which nothing goes back."""

    def build(x: Term, *values: Any, **options: Any) -> Term:
        texts = [_literal(v) for v in values] + [f"{k}={_literal(v)}" for k, v in options.items()]
        return moved(template.format(", ".join(["{0}", *texts])), [operand], [x])

    return build


def _log_volume(a: Term) -> Several:
    pull = "{g}.unsqueeze(-1).unsqueeze(-1) * torch.linalg.inv({0}).mT"
    call = "torch.linalg.slogdet({0})"
    return Several((moved(f"{call}.sign", [NOTHING], [a]), moved(f"{call}.logabsdet", [pull], [a])))


def _pair(first: Callable[..., Term]) -> Callable[..., Several]:
    def build(x: Term, dim: Any = None, keepdim: bool = False, correction: Any = 1) -> Several:
        return Several((first(x, dim, keepdim=keepdim, correction=correction), _mean(x, dim, keepdim)))

    return build


def _matrix_norm(x: Term, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Term:  # noqa: A002
    if ord != "fro":
        return by_pytorch("torch.linalg.matrix_norm", [x, ord, dim, keepdim], {})
    return REDUCTIONS["vector_norm"][1](x, 2, dim, keepdim)


_LEFT: dict[str, str] = {
    _F: "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d avg_pool2d avg_pool3d "
    "max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d lp_pool1d lp_pool2d interpolate pad "
    "unfold fold pixel_shuffle pixel_unshuffle grid_sample affine_grid scaled_dot_product_attention group_norm "
    "instance_norm batch_norm local_response_norm cross_entropy nll_loss triplet_margin_loss cosine_embedding_loss "
    "hinge_embedding_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss bilinear glu prelu",
    "torch.": "cdist cumprod logcumsumexp kron tensordot tile rot90 renorm quantile nanquantile nanmean nansum trapz "
    "trapezoid cumulative_trapezoid diag diag_embed diagflat repeat_interleave take take_along_dim movedim moveaxis "
    "vander cov corrcoef mvlgamma cholesky_solve view_as_real view_as_complex",
    "torch.linalg.": "cholesky eigvalsh svdvals matrix_exp pinv matrix_power tensorsolve tensorinv",
    "torch.fft.": "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn hfft ihfft fftshift ifftshift",
    ".": "repeat unflatten expand_as view_as reshape_as",
}
"""What is left to PyTorch, by the module that has it; ``.`` has the methods."""

PIECES: dict[str, tuple[str, Callable[..., Any]]] = {
    **{
        name: ((module + name).removeprefix("."), _left(module + name))
        for module, names in _LEFT.items()
        for name in names.split()
    },
    **{name: (f"torch.{name}", _two(f"torch.{name}")) for name in ("median", "kthvalue", "mode", "cummax", "cummin")},
    "sort": ("torch.sort", _chosen_by("torch.sort", ("dim", "descending"))),
    "topk": ("torch.topk", _chosen_by("torch.topk", ("k", "dim", "largest", "sorted"))),
    "split": ("torch.split", _split),
    "chunk": ("torch.chunk", _chunk),
    "unbind": ("torch.unbind", _unbind),
    "gather": ("torch.gather", _gather),
    "index_select": ("torch.index_select", _index_select),
    "scatter_add": ("torch.scatter_add", _scatter_add),
    "index_add": ("torch.index_add", _index_add),
    "embedding": (_F + "embedding", _embedding),
    "one_hot": (_F + "one_hot", _integral(_F + "one_hot({})", INDEX)),
    "argmax": ("torch.argmax", _integral("torch.argmax({})")),
    "argmin": ("torch.argmin", _integral("torch.argmin({})")),
    "argsort": ("torch.argsort", _integral("torch.argsort({})")),
    "long": ("long", _integral("{}.long()")),
    "slogdet": ("torch.linalg.slogdet", _log_volume),
    "var_mean": ("torch.var_mean", _pair(_variance)),
    "std_mean": ("torch.std_mean", _pair(_deviation)),
    "matrix_norm": ("torch.linalg.matrix_norm", _matrix_norm),
}
"""How formulas call them, how that is spelled in full, and what it means."""
