"""What a parameter is likely to be, by its name alone: one row per kind of name, likeliest first."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback.check import tree

PARAMETER = re.compile(
    r"^(weights?|w\d?|bias(es)?|b|gain|gamma|slope|scale|v_?th\w*|thr\w*|threshold|offset|temperature|kernel|step(_?size)?)$"
)
TENSORS = (
    "tensor", "last", "channel", "scalar", "one", "rows", "column", "first", "weight", "weight_t", "out", "kernel",
    "kernel1d", "half", "square", "batched", "index", "flat_index", "column_index",
    "mask", "positive", "nonneg", "unit", "spd", "nspd", "tril",
    "binary", "constant", "list", "complex", "complex_last", "ignored", "pairs", "points", "kernel_each",
    "coordinates", "four", "two_rows", "bytes",
)  # fmt: skip
FIXED = (
    "index",
    "flat_index",
    "column_index",
    "mask",
    "ignored",
    "pairs",
    "coordinates",
    "nonneg",
    "constant",
    "bytes",
)  # take no gradient
FLOATING = tuple(k for k in TENSORS if k not in FIXED)


@dataclass(frozen=True)
class Sized:
    """A tensor with as many numbers as other parameters say."""

    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Shaped:
    """A tensor with a number of dimensions, or a size of its last one, of its own; one of them some times as long."""

    rank: int = 0
    last: int = 0
    times: int = 1
    along: int = -1


def blend(*things: Any, **options: Any) -> torch.Tensor:
    """A smooth function of any number of tensors, for parameters that are functions."""
    given = [torch.tanh(t) for t in tree.tensors(things) if tree.is_differentiable(t)]
    if not things:  # what is called without anything has something of its own, such as a weight
        return torch.linspace(-1, 1, 16).sin().reshape(4, 4)
    return torch.as_tensor(sum(given))


def distance(a: Any, b: Any, *rest: Any, **options: Any) -> torch.Tensor:
    """The distance of every row of one from every row of the other, for parameters that measure it."""
    apart: torch.Tensor = a.unsqueeze(-2) - b.unsqueeze(-3)
    return apart.square().sum(-1).clamp_min(1e-30).sqrt()


def squared_distance(a: Any, b: Any, *rest: Any, **options: Any) -> torch.Tensor:
    """Its square."""
    return distance(a, b).square()


ITERATIONS = r"^(\w*_)?(max_?|n_?|num_?)?(iters?|iterations?|steps)$"
NAMES: list[tuple[str, Sequence[Any]]] = [
    (r"^(eps|epsilon)\w*$", (1e-5, "scalar")),
    (r"^(dim|axis)$", (-1, 0, 1)),
    (r"^(dims|axes)$", ((-1,), (0,))),
    (r"^(p|prob|keep\w*|drop\w*|rate|momentum|decay|smoothing)$", (0.5, "tensor")),
    (r"^(\w*_?bits?|bit_?(width|num\w*)|bitw\w*)$", (4, "tensor", 4.0)),
    (ITERATIONS, (50, 100, 5)),  # enough of them to converge
    (r"^(kernel(_?size)?|ksize|window\w*)$", (3, 2, "kernel", "tensor")),  # wider than a stride: windows overlap
    ((r"^(k|n|m|num\w*|n_\w+|\w+_size|size|block\w*|count|levels?|heads?|step|times?|iters?|max_iter\w*|n?iter|order|"
      r"degree|depth|world_size|rank|timesteps?|\w+_dim|nbr\w*|n[a-z]{1,6}s)$"), (2, 3, "tensor", "n0", "n-1", 4, 1)),
    (r"^strides?$", (2, 1)),
    (r"^(group_size|groups?)$", (1, 2)),
    (r"^(running|moving)_(mean|avg|var\w*|std)$", ("channel", "last", "constant")),
    (r"^dilation$", (2, 1)),
    (r"^(cos|sin)\w*$", ("half", "constant", "tensor")),
    (r"^(padding|pad|offset_index|ignore_index)$", (0, 1)),
    (r"^(src|dst|root)(_?rank)?$", (0,)),
    (r"^(factor_int|upscale\w*|downscale\w*)$", (2, 3)),
    (r"^(reduction)$", ("mean", "sum", "none")),
    (r"^(mode|method|kind|approx\w*|norm)$", ("mean", "sum", "bilinear", "tanh", "none", "constant", "tensor", 2)),
    ((r"^(training|inplace|train|is_\w+|use_\w+|with_\w+|keepdim|signed|unsigned|symmetric|sym\w*|debug|verbose|flag|"
      r"dense|biased|unbiased|narrow\w*|return_\w+|deterministic|normalize\w*|align_corners|causal|enable\w*|"
      r"preserve_\w+|compute_\w+|has_\w+|do_\w+|should_\w+|stochastic|per_\w+|set_\w+|\w+_?wise|batch_first|transposed?|bidirectional)$"),
     (True, False)),
    (r"^(shape|output_size|out_size|normalized_shape|sizes?)$", ("shape", 2, (2,))),
    (r"^\w*mask\w*$", ("mask", "tensor", "nonneg")),
    ((r"^(idx|ind|inds|index|indices|ids|(\w+_)?perm\w*|(\w+_)?(ind|idx)_\w+|labels?|lengths?|segment\w*|batch\w*|positions?|tokens?|\w+_(idx|index|ids|labels?))$"),
     ("index", "tensor", "flat_index", 2)),
    (r"^(targets?|y|y_true|gt|truth)$", ("tensor", "index", "nonneg")),
    (r"^(band|bandwidth)$", (0, 2)),
    (r"^(lo|low|lower\w*|\w+_(lo|low|lower)|min\w*|a_min|minimum|\w*_min|q_?min|vmin|clip_?min|qn)$",
     (-1.0, "scalar", "tensor", -8)),
    (r"^(hi|high|upper\w*|max\w*|a_max|maximum|\w*_max|q_?max|vmax|clip_?max|qp|bound|limit|clip\w*)$",
     (1.0, "scalar", "tensor", 7)),
    (r"^(offset|shift|center|centre|mean|loc)$", ("tensor", "scalar", "last", 0.5)),
    ((r"^(alpha|beta|gamma|lambd?a?_?|lmbda|lamda|coeffs?|coefs?|c|slope|tau|temp\w*|factor|strength|sigma|gain|width|"
      r"v_?th|thr\w*|threshold|scal\w*|weight_decay|delta|margin|rho|theta|power|exponent|grad_scale|scale_grad|"
      r"half_width|damp\w*|const\w*|ratio|length_?scale|negative_slope|leak|zeta|kappa|nu|mu|hyper\w*|sharp\w*|grad\w*|lr|t|dt|h|g|"
      r"length|l)$"),
     (0.7, "scalar", "tensor", "last", 1)),
    (r"^(zero_point|zp)$", (0, 0.0, "scalar", "tensor")),
    (r"^(dtype|out_dtype)$", (torch.float32, None)),
    (r"^(device)$", ("cpu", None)),
    (r"^\w*(sq\w*_dist|dist\w*_sq)\w*$", (squared_distance, "positive")),
    (r"^(dist\w*|metric)_(fn|func\w*)$", (distance, blend)),
    ((r"^(fn|func|function|f|act\w*|callable|run_function|forward_fn|op|nonlin\w*|g_?fn|closure|loss_fn|criterion|"
      r"surrogate\w*|spike_\w+|\w*_(fn|func|function))$"), (blend, "module", "tensor")),
    (r"^(module|model|layer|net\w*|block|cell|self|\w*_?mod(ule)?|\w+_(net|layer|block|model))$", ("module", blend)),
    (r"^(quat\w*|quaternions?)$", (Shaped(last=4), "tensor")),
    (r"^(points?\w*|pts|xyz\w*|verts|vertices|rotvecs?|axis_angle)$", ("tensor", Shaped(last=3))),
    (r"^(group|process_group|generator|rng|stream|handle|hook|name|state|comm|cfg|config|args|ctx_?\w*|options?)$",
     (None, "tensor", 1)),
    (r"^(positive|variance|var|std|det|r|radius|distance|dist)$", ("positive", "tensor", 0.5)),
    (r"^(prob\w*|\w+_probs?)$", ("unit", "tensor", 0.5)),
    (r"^(cov\w*|spd|gram|prec|precision(_?mat\w*)?|inv_?cov\w*|laplacian)$", ("spd", "tensor", "positive")),
    (r"^(chol\w*|tril\w*|\w*cholesky\w*|l_mat)$", ("tril", "tensor")),
    (r"^(spikes?|spk\w*|z_spk)$", ("binary", "tensor")),
    (r"^(w_?)?(rec(urrent)?_?w\w*|\w*_?hh|rec(urrent)?)$", ("square", "tensor")),
]  # fmt: skip


def by_name(name: str) -> list[Any]:
    """What a parameter of a name may be; nothing if the name says nothing."""
    return next((list(kinds) for pattern, kinds in NAMES if re.match(pattern, name.lower())), [])


WORDS = [  # what a docstring says of a parameter
    (r"symmetric|positive.?(semi)?.?definite|\bSPD\b|\bPSD\b|covariance", "spd"),
    (r"lower.?triang|cholesky", "tril"),
    (r"probabilit|in \[0, ?1\]|between 0 and 1", "unit"),
    (r"\b0'?s (and|or) 1'?s\b|\bzeros and ones\b|\b0 or 1\b", "binary"),
    (r"\bmask\b|boolean", "mask"),
    (r"LongTensor|indices|class labels|int64", "index"),
    (r"positive", "positive"),
    (r"complex", "complex"),
]


def by_words(name: str, text: str) -> list[str]:
    """What a docstring's lines on a parameter say that it is."""
    lines = re.findall(rf"^\s*(?::param\s+)?\W*{re.escape(name)}\W.*$", text, re.MULTILINE)
    return [kind for pattern, kind in WORDS if any(re.search(pattern, line, re.IGNORECASE) for line in lines)]


DOMAINS = [  # what a source says of any of its matrices or numbers
    (
        r"symmetri|positive.?(semi.?)?definite|cholesky|\bp?sp?d\b|covarian|hermitian|\bgram\b|(?-i:SPD[A-Z])|eig|sqrtm",
        "spd",
    ),
    (r"\btri[lu]\b|triang|cholesky", "tril"),
    (r"natural|negative.?definite", "nspd"),
    (r"probabilit|simplex|log_prob|distribution|in \[0, ?1\]", "unit"),
    (r"\bpositive\b|non.?negative|floor\([^\n]*\.(long|int)\(\)", "positive"),  # positions between those of a table
]


def domains(subject: object) -> list[str]:
    """The domains that the source of a target speaks of, in code, comments or docstrings."""
    return domains_of(_text(subject))


def domains_of(text: str) -> list[str]:
    """The domains that a text speaks of."""
    return [kind for pattern, kind in DOMAINS if re.search(pattern, text, re.IGNORECASE)]


def guards(subject: object) -> bool:
    """Whether the source of a target keeps a number off the end of a domain by a small one."""
    return bool(re.search(r"\bcl(am|i)p\w*\(.*(\de-\d|eps)", _text(subject), re.IGNORECASE))


def iterates(subject: object) -> bool:
    """Whether the source of a target has a loop that may converge: one that indexes by its counter walks along."""
    text = _text(subject)
    counters = re.findall(r"^\s*for (\w+) in range", text, re.MULTILINE)
    walks = [re.search(rf"\[[^\]]*\b{counter}\b", text) for counter in counters]
    return not all(walks) or bool(re.search(r"^\s*while ", text, re.MULTILINE))


def _text(subject: object) -> str:
    try:
        return inspect.getsource(subject)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def is_parameter(name: str) -> bool:
    """Whether an argument's name is that of something that is trained."""
    return bool(PARAMETER.match(name))


def is_count(name: str) -> bool:
    """Whether an argument's name is that of a number of iterations."""
    return bool(re.match(ITERATIONS, name.lower()))


def is_tensor(kind: Any) -> bool:
    """Whether a kind stands for a tensor."""
    return isinstance(kind, (Sized, Shaped)) or (isinstance(kind, str) and kind in TENSORS)
