"""More formulas, in the ways that users of PyTorch write them: pieces, indices, scans, and complex numbers."""

from __future__ import annotations

from formulas import POSITIVE, UNIT, Case


def _case(text: str, kinds: dict[str, str] | None = None, **shapes: tuple[int, ...]) -> Case:
    return Case(text, shapes=shapes, kinds=kinds or {})


PIECES = {
    "halves": _case("u, v = x.chunk(2, dim=-1); u * torch.sigmoid(v)", x=(2, 6)),
    "cell": _case(
        "i, f, o, c = gates.chunk(4, -1); s = f.sigmoid() * h + i.sigmoid() * c.tanh(); o.sigmoid() * s.tanh()",
        gates=(2, 8),
        h=(2, 2),
    ),
    "rotated": _case(
        "a, b = x[..., ::2], x[..., 1::2]; torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)",
        x=(3, 4),
        c=(2,),
        s=(2,),
    ),
    "quaternion": _case(
        "w, x, y, z = q.unbind(-1); torch.stack([1 - 2 * (y * y + z * z), x * y - z * w], -1)", q=(3, 4)
    ),
    "standardised": _case("v, m = torch.var_mean(x, dim=-1, keepdim=True); (x - m) / v.sqrt()", x=(3, 5)),
    "by_deviation": _case("x / x.std(dim=0, keepdim=True)", x=(4, 3)),
    "swapped_halves": _case("torch.cat(x.chunk(2, -1), 0) * w", x=(2, 6), w=(3,)),
    "where_positive": _case("x[x + y > 0] * w + y.sum()", x=(5,), y=(5,), w=()),
    "walrus": _case("(u := x[..., :3]) * torch.sigmoid(x[..., 3:]) + u", x=(2, 6)),
    "used_up": _case("x = x * 2; x += y; x ** 2", x=(4,), y=(4,)),
    "temperature": Case("torch.logsumexp(x / tau, dim=-1)", {"tau": POSITIVE}, shapes={"x": (3, 4), "tau": ()}),
    "contrast": Case(
        "logits = (z @ z.T) / tau; torch.logsumexp(logits, dim=1) - logits.diagonal()",
        {"tau": POSITIVE},
        shapes={"z": (4, 3), "tau": ()},
    ),
    "largest_two": _case("x.topk(2, dim=-1).values.sum(-1)", x=(3, 5)),
    "in_order": _case("torch.sort(x, dim=-1)[0] * w", x=(3, 4), w=(4,)),
    "first_of_max": _case("torch.exp(x - x.max(-1, keepdim=True)[0]) * y", x=(3, 4), y=(4,)),
    "median": _case("(x - x.median()).abs().mean()", x=(5,)),
    "picked": _case("torch.gather(x, 1, i).squeeze(1) * w", {"i": "index"}, x=(3, 4), i=(3, 1), w=(3,)),
    "likelihood": _case(
        "-F.log_softmax(x, -1).gather(-1, t.unsqueeze(-1)).squeeze(-1)", {"t": "index"}, x=(3, 4), t=(3,)
    ),
    "rows": _case("x[i] * w", {"i": "index"}, x=(4, 3), i=(5,), w=(3,)),
    "columns_by_index": _case("x[:, i] * w", {"i": "index"}, x=(4, 3), i=(2,), w=(2,)),
    "lookup": _case("F.embedding(i, W) * s", {"i": "index"}, i=(3,), W=(4, 2), s=()),
    "counted": _case("torch.zeros(3, dtype=x.dtype).scatter_add(0, i, x)", {"i": "index"}, x=(4,), i=(4,)),
    "classes": _case("F.cross_entropy(x, t, label_smoothing=0.1)", {"t": "index"}, x=(3, 4), t=(3,)),
    "masked_softmax": _case("torch.softmax(x.masked_fill(m, -1e30), dim=-1)", {"m": "mask"}, x=(3, 4), m=(3, 4)),
    "volume": _case("torch.linalg.slogdet(A)[1] + torch.linalg.matrix_norm(A)", A=(3, 3)),
    "ridge": _case("torch.linalg.solve(A.T @ A + 0.5 * torch.eye(3, dtype=A.dtype), b)", A=(3, 3), b=(3,)),
    "weighted_cumsum": _case("torch.cumsum(x, dim=-1) / torch.arange(1, 5, dtype=x.dtype)", x=(3, 4)),
    "transmittance": Case(
        "a = 1 - torch.exp(-s * d); T = torch.cumprod(1 - a + 1e-10, -1); (a * T).sum(-1)",
        {"s": POSITIVE, "d": POSITIVE},
        shapes={"s": (3, 4), "d": (3, 4)},
    ),
    "hazard": _case("-(x - torch.logcumsumexp(x, dim=0)).mean()", x=(5,)),
    "kernel": Case(
        "torch.exp(-c * torch.cdist(x, y) ** 2)", {"c": POSITIVE}, shapes={"x": (3, 2), "y": (4, 2), "c": ()}, once=True
    ),
    "convolved": _case("F.conv1d(x, w, padding=1)", x=(2, 3, 6), w=(4, 3, 3)),
    "slopes_by_channel": _case("F.prelu(x, w) * s", x=(2, 3, 4), w=(3,), s=(4,)),
    "attended": _case("F.scaled_dot_product_attention(q, k, v)", q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 4)),
    "root_of_matrix": _case("torch.linalg.cholesky(A @ A.mT + 3 * torch.eye(3, dtype=A.dtype))", A=(3, 3)),
    "known_numbers": Case("torch.nan_to_num(torch.log(x)) + torch.where(torch.isnan(x), 0, x)", {"x": POSITIVE}),
    "maxout": _case("x.view(x.shape[0], 2, -1).amax(1)", x=(3, 4)),
    "safe_logit": Case("torch.logit(p, eps=1e-6)", {"p": UNIT}),
    "tiled": _case("x.repeat(2, 1) * w + torch.kron(x, y)", x=(2, 3), w=(4, 3), y=(2, 1)),
    "joined_with_slope": _case("torch.cat([x[..., :1], x[..., 1:] - a * x[..., :-1]], dim=-1)", x=(3, 5), a=()),
    "spherical": _case(
        "torch.stack((r * torch.sin(t) * torch.cos(p), r * torch.sin(t) * torch.sin(p), r * torch.cos(t)), dim=-1)",
        r=(3,),
        t=(3,),
        p=(3,),
    ),
    "decorrelated": _case(
        "c = A.T @ B; ((c.diagonal() - 1) ** 2).sum() + w * ((c - torch.diag(c.diagonal())) ** 2).sum()",
        A=(4, 3),
        B=(4, 3),
        w=(),
    ),
    "mixture": Case(
        "-torch.logsumexp(F.log_softmax(a, -1) - 0.5 * ((y.unsqueeze(-1) - mu) / s) ** 2 - torch.log(s), dim=-1)",
        {"s": POSITIVE},
        shapes={"a": (3, 4), "y": (3,), "mu": (3, 4), "s": (3, 4)},
    ),
    "spectrum": _case("torch.fft.rfft(x).abs().pow(2).sum(-1)", x=(3, 8)),
}
"""Formulas with several results, indices, constants, and operations that are left to PyTorch."""

_Z, _ZW = {"z": "complex"}, {"z": "complex", "w": "complex"}
_MATRICES = {"A": "complex", "B": "complex"}
COMPLEX = {
    "square": Case("z ** 2", kinds=_Z),
    "power": Case("torch.abs(z) ** 2", kinds=_Z),
    "length": Case("torch.log(torch.abs(z)) + z.abs().pow(3)", kinds=_Z),
    "product": Case("torch.exp(z * w) + torch.sin(z) / w", kinds=_ZW),
    "swish": Case("z * torch.sigmoid(w * z)", kinds=_ZW),
    "real_part": Case("(z * w.conj()).real", kinds=_ZW),
    "imaginary_part": Case("torch.imag(z ** 2) * torch.angle(w)", kinds=_ZW),
    "conjugate": Case("torch.conj(torch.sin(z)) * w", kinds=_ZW),
    "wave": Case("a * torch.exp(1j * k * x)"),
    "density": Case("psi = a * torch.exp(1j * k * x); (psi.conj() * psi).real", kinds={"a": "complex"}),
    "polar": Case("torch.polar(r, t) * w", {"r": POSITIVE}, shapes={"r": (4,), "t": (4,)}, kinds={"w": "complex"}),
    "made": Case("torch.complex(a, b) ** 2", shapes={"a": (4,), "b": (4,)}),
    "contracted": _case("A @ B", _MATRICES, A=(3, 4), B=(4, 2)),
    "gram": _case("(A.mH @ A).real.sum()", _MATRICES, A=(3, 4)),
    "quadratic": _case("torch.vdot(z, A @ z).real + (z.conj() @ A @ z).imag", {**_Z, **_MATRICES}, z=(3,), A=(3, 3)),
    "solved": _case("torch.linalg.solve(A, B) + torch.linalg.inv(A) @ B", _MATRICES, A=(3, 3), B=(3, 2)),
    "determinant": _case("torch.abs(torch.linalg.det(A))", _MATRICES, A=(3, 3)),
    "unit_vector": Case("z / torch.linalg.vector_norm(z, dim=-1, keepdim=True)", kinds=_Z),
    "phase": Case("torch.sgn(z) * w", kinds=_ZW),
    "halves": Case("torch.relu(z.real) + 1j * torch.relu(z.imag)", kinds=_Z),
    "cardioid": Case("0.5 * (1 + torch.cos(z.angle())) * z", kinds=_Z),
    "loss": Case("(torch.abs(z - w) ** 2).mean()", kinds=_ZW),
    "along": _case("torch.prod(z, dim=-1) + torch.cumsum(z, -1).sum(-1) + torch.logsumexp(z, -1)", _Z, z=(3, 3)),
    "einsum": _case("torch.einsum('ij,jk->ik', A, B)", _MATRICES, A=(2, 3), B=(3, 2)),
    "mobius": Case("(a * z + b) / (c * z + d)", kinds=dict.fromkeys("abcdz", "complex")),
    "functions": Case("torch.log1p(z) * torch.tanh(w) + torch.sqrt(z)", kinds=_ZW),
    "impedance": Case("torch.abs(R + 1j * w * L)"),
    "elements": _case(
        "z[..., 0] * w + z[:, 1].conj() + A.diagonal() * A.chunk(2, 0)[1][0]",
        {**_ZW, "A": "complex"},
        z=(3, 2),
        w=(3,),
        A=(3, 3),
    ),
    "steps": Case("torch.diff(z).abs() ** 2", kinds=_Z, domain="complex"),
    "parts": Case("torch.stack([z.real, z.imag], dim=-1)", kinds=_Z),
    "spread": Case("torch.var(z) + z.real**2", kinds=_Z),
    "softsign": Case("z / (1 + z.abs())", kinds=_Z, domain="complex"),
    "gain": Case("a * z", kinds=_Z, domain="complex"),
    "modulated": Case("torch.relu(z.abs() + b) * z / z.abs()", kinds=_Z, domain="complex"),
}
"""Formulas of complex numbers; what is not said to be complex is real."""
