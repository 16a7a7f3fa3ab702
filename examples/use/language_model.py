"""A small language model: its gated units replaced by one line, with the same losses and less kept for backward.

The model is written with torch.nn and reads the texts of Python's own manual, character by character. Its gated unit is
``silu(gate) * value``, of which PyTorch keeps three tensors; `pb.nn.SwiGLU` keeps the two inputs.
"""

import copy

import shared
import torch
from torch import nn
from torch.nn import functional as F

import pullback as pb

CONTEXT, WIDTH, LAYERS, HEADS, BATCH = 64, 96, 3, 4, 16


class Gate(nn.Module):
    """silu of one half of the features, times the other half."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = x.chunk(2, -1)
        return F.silu(gate) * value


class Block(nn.Module):
    """Attention, and a gated network of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), Gate(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        n = self.norm1(x)
        x = x + self.attention(n, n, n, attn_mask=mask, need_weights=False, is_causal=True)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """Logits of the next character at every place."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters))

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embed(text) + self.place(torch.arange(text.shape[1]))))


def text() -> torch.Tensor:
    """The manual as numbers: one for each of its characters."""
    from pydoc_data.topics import topics

    letters = "".join(topics.values())
    codes = {letter: i for i, letter in enumerate(sorted(set(letters)))}
    return torch.tensor([codes[letter] for letter in letters])


def models(characters: int) -> dict[str, nn.Module]:
    """The same model twice, the second with its gated units replaced."""
    torch.manual_seed(0)
    plain = Model(characters)
    return {"torch.nn": plain, "pullback": pb.nn.replace(copy.deepcopy(plain), Gate, pb.nn.SwiGLU)}


def loss_of(model: nn.Module, data: torch.Tensor, step: int) -> torch.Tensor:
    """The cross-entropy of one batch, the same for the same step."""
    generator = torch.Generator().manual_seed(step)
    starts = torch.randint(len(data) - CONTEXT, (BATCH,), generator=generator)
    batch = torch.stack([data[s : s + CONTEXT + 1] for s in starts])
    return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def main(count: int = 200) -> None:
    """Train both and draw their losses into language_model.png."""
    data = text()
    both = models(int(data.max()) + 1)
    sizes = {name: shared.kept(lambda model=model: loss_of(model, data, 0)) for name, model in both.items()}
    runs, seconds = shared.side_by_side(both, lambda model, step: loss_of(model, data, step), count)
    for name, losses in runs.items():
        change = f"loss {losses[0]:.3f} → {losses[-1]:.3f}"
        print(f"{name:9} {change}   {1000 * seconds[name]:5.1f} ms a step   kept {sizes[name]:.1f} MB")
    first, second = runs.values()
    print(f"the losses differ by {max(abs(a - b) for a, b in zip(first, second)):.1e} at most")
    figure, (axis,) = shared.axes(1, 1)
    shared.draw_runs(axis, runs, "language model")
    figure.savefig("language_model.png")


if __name__ == "__main__":
    main()
