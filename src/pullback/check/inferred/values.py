"""Kinds made into values: tensors of a role in a shape, indices, masks, modules, configurations."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback.check.inferred import names

Shape = tuple[int, ...]
MAINS: list[Shape] = [
    (3, 4), (4, 4), (6,), (2, 3, 4), (2, 3, 4, 4), (2, 4, 4), (2, 4, 6, 6), (2, 8), (4, 3), (5, 2), (2, 2, 4, 4, 4),
    (1, 6), (2, 16, 4), (8, 8), (2, 2, 3, 4), (4, 2, 3), (3, 3), (2, 3, 9), (),
]  # fmt: skip
OUT = 5  # features of an output that must not be taken for any other size


class Config:
    """A configuration that nobody gave: the attributes that the source reads, by their kinds."""

    def __init__(self, kinds: dict[str, Any]) -> None:
        self.kinds = kinds

    def __repr__(self) -> str:
        return f"Config({', '.join(self.kinds)})"


class Made:
    """A value of a class of the author's own, from its fields' kinds."""

    def __init__(self, cls: Callable[..., Any], kinds: dict[str, Any]) -> None:
        self.cls, self.kinds = cls, kinds

    def __repr__(self) -> str:
        return f"{self.cls.__name__}({', '.join(self.kinds)})"


def roles(main: Shape) -> dict[str, Shape]:
    """The shapes that tensors beside one of a main shape may have."""
    last, rows, channels = main[-1] if main else 1, main[:-1], main[1] if len(main) > 1 else (*main, 1)[0]
    return {
        "last": (last,), "channel": (channels,), "scalar": (), "one": (1,), "first": (*main, 1)[:1], "rows": rows,
        "column": (*rows, 1), "weight": (OUT, last), "weight_t": (last, OUT), "out": (OUT,), "square": (last, last),
        "kernel_each": (channels, 1, *(3,) * max(len(main) - 2, 0)),
        "kernel": (OUT, channels, *(3,) * max(len(main) - 2, 0)), "kernel1d": (OUT, last, 3),
        "half": (*rows, last // 2), "batched": (*main[:-2], last, OUT), "points": (*main[:-2], OUT, last),
    }  # fmt: skip


def shows(main: Shape) -> bool:
    """Whether a shape can show what goes wrong along any of its dimensions: not a single number, or one row."""
    return bool(main) and 1 not in main


def build(kind: Any, main: Shape, seed: int) -> Any:
    """A value of a kind beside a main shape; anything that is no kind is itself."""
    if isinstance(kind, Config):
        return types.SimpleNamespace(**_fields(kind.kinds, main, seed))
    if isinstance(kind, Made):
        return kind.cls(**_fields(kind.kinds, main, seed))
    if isinstance(kind, names.Shaped):
        return tensor(_shaped(kind, main), seed)
    if not isinstance(kind, str):
        return kind
    shapes = roles(main)
    if kind in ("scalar", "one"):
        return tensor(shapes[kind], seed).detach().abs().requires_grad_()
    if kind in shapes:
        return tensor(shapes[kind], seed)
    return MAKERS[kind](main, seed) if kind in MAKERS else kind


def _shaped(kind: names.Shaped, main: Shape) -> Shape:
    if kind.times > 1:
        at = range(len(main))[kind.along]
        main = (*main[:at], kind.times * main[at], *main[at + 1 :])
    count = kind.rank or max(len(main), 1)
    fitted = (*(2,) * (count - len(main)), *main[max(len(main) - count, 0) :])
    return (*fitted[:-1], kind.last) if kind.last else fitted


def _fields(kinds: dict[str, Any], main: Shape, seed: int) -> dict[str, Any]:
    return {name: build(kind, main, seed + 11 * i) for i, (name, kind) in enumerate(kinds.items())}


def tensor(shape: Shape, seed: int) -> torch.Tensor:
    """Random numbers of both signs, none near zero, that require a gradient."""
    generator = torch.Generator().manual_seed(77 + seed)
    size = 1.0 if seed == 0 else 0.5
    return (size * torch.randn(shape, generator=generator)).requires_grad_()


def _plain(shape: Shape, seed: int) -> torch.Tensor:
    return tensor(shape, seed).detach()


def _spd(main: Shape, seed: int) -> torch.Tensor:
    n = main[-1] if main else 1
    root = _plain((*main[:-2], n, n), seed)
    product = root @ root.mT
    return ((product + product.mT) / 2 + torch.eye(n)).requires_grad_()  # the product is symmetric nearly only


def _index(count: int, turn: int = 0) -> torch.Tensor:
    """Indices of which some occur twice, others for the next such parameter."""
    return torch.arange(count) % 2 if turn % 2 == 0 else (torch.arange(count) > 0).long()


def _column(main: Shape) -> Shape:
    """The shape of one index per row, as ``gather`` and ``scatter`` along the second dimension take it."""
    return (*main[:1], 1, *main[2:])


def _rows(main: Shape) -> int:
    return main[0] if main else 1


MAKERS: dict[str, Callable[[Shape, int], Any]] = {
    "tensor": tensor,
    "positive": lambda main, seed: (_plain(main, seed).abs() + 0.3).requires_grad_(),
    "unit": lambda main, seed: torch.sigmoid(_plain(main, seed)).requires_grad_(),
    "spd": _spd,
    "tril": lambda main, seed: torch.linalg.cholesky(_spd(main, seed).detach()).requires_grad_(),
    "nspd": lambda main, seed: (-_spd(main, seed).detach()).requires_grad_(),
    "constant": _plain,
    "nonneg": lambda main, seed: (_plain(main, seed) > 0).float(),
    "binary": lambda main, seed: (_plain(main, seed) > 0).float().requires_grad_(),
    "index": lambda main, seed: _index(_rows(main), seed),
    "bytes": lambda main, seed: (torch.arange(torch.Size(main).numel()) % 251).to(torch.uint8).reshape(main),
    "flat_index": lambda main, seed: (torch.arange(torch.Size(main).numel()) % 2).reshape(main),
    "column_index": lambda main, seed: _index(torch.Size(_column(main)).numel()).reshape(_column(main)),
    "coordinates": lambda main, seed: torch.tensor([[0, 0, 1, 1], [0, 1, 0, 1]]),
    "four": lambda main, seed: tensor((4,), seed),
    "two_rows": lambda main, seed: tensor((2, *main[1:]), seed),
    "pairs": lambda main, seed: torch.stack([_index(4), _index(4).flip(0)]),
    "complex": lambda main, seed: torch.complex(_plain(main, seed), _plain(main, seed + 9)).requires_grad_(),
    "complex_last": lambda main, seed: MAKERS["complex"](roles(main)["last"], seed),
    "ignored": lambda main, seed: torch.where(torch.arange(_rows(main)) == 1, -100, _index(_rows(main))),
    "mask": lambda main, seed: _plain(main, seed) > 0,
    "list": lambda main, seed: [tensor(main, seed), tensor(main, seed + 50)],
    "parameters": lambda main, seed: Spread(),
    "nothing": lambda main, seed: Spread(),
    "module": lambda main, seed: torch.nn.Linear(main[-1] if main else 1, main[-1] if main else 1),
    "shape": lambda main, seed: main,
    "n0": lambda main, seed: _rows(main),
    "n-1": lambda main, seed: (1, *main)[-1],
    "n1": lambda main, seed: (*main, 1, 1)[1],
    "array": lambda main, seed: _plain(main, seed).double().numpy(),
}


class Spread(list[Any]):
    """Values in the place of one, as ``*args`` takes them."""


def spliced(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values, several in the place of one where they are spread."""
    return tuple(v for value in values for v in (value if isinstance(value, Spread) else [value]))


def together(kinds: Sequence[Any], main: Shape, parameters: Sequence[str]) -> tuple[Any, ...]:
    """One value per kind, all of the same main shape."""
    made = [build(kind, main, kinds[:seed].count(kind) if kind == "index" else seed) for seed, kind in enumerate(kinds)]
    numbers = dict(zip(parameters, made, strict=True))
    for seed, kind in enumerate(kinds):
        if isinstance(kind, names.Sized):
            made[seed] = tensor(tuple(int(numbers[size]) for size in kind.sizes), seed)
        elif kind in ("parameters", "nothing"):
            modules = [m for m in made if isinstance(m, torch.nn.Module)] if kind == "parameters" else []
            made[seed] = Spread(p.detach().clone() for m in modules for p in m.parameters())
    _invert(made, list(parameters))
    return tuple(made)


INVERSE = re.compile(r"^(inv|inverse|rev|reverse|un|back)_?|_?(inv|inverse|rev|back)$")


def _invert(made: list[Any], parameters: list[str]) -> None:
    """Make ``order`` and ``inverse_order`` a permutation and the one that undoes it."""
    for place, name in enumerate(parameters):
        plain = INVERSE.sub("", name)
        if plain != name and plain in parameters:
            other = parameters.index(plain)
            if all(map(_is_index, (made[place], made[other]))):
                count = made[other].shape[-1]
                made[other] = torch.arange(count).roll(1).expand_as(made[other]).clone()
                made[place] = made[other].argsort(-1)


def _is_index(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.int64 and value.ndim > 0


def has_tensor(kinds: Sequence[Any]) -> bool:
    """Whether the main shape matters to any of the kinds."""
    return any(names.is_tensor(kind) or kind in ("module", "shape", "array", "n0", "n1", "n-1") if isinstance(kind, str)
               else isinstance(kind, (Config, Made)) for kind in kinds)  # fmt: skip
