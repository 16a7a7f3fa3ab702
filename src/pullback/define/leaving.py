"""Code that leaves PyTorch (NumPy, raw memory) where there are no data to hand over: said in our own words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from pullback._torch import in_transform, is_transformed
from pullback.define.captures import reachable
from pullback.define.rule import nested_code
from pullback.errors import PullbackError, StackError

LEAVES_TORCH = ("numpy", "__array__", "data_ptr", "__dlpack__", "untyped_storage", "storage")
ALSO = ("asarray", "from_dlpack", "item", "tolist", "ctypes")


def explain(error: Exception, who: str, name: str, fn: Callable[..., Any], values: Iterable[Any]) -> None:
    """Raise an error of our own if ``fn`` failed because it leaves PyTorch where it cannot.

    Raises:
        StackError: If that is so; it names the way out.
    """
    left = "" if isinstance(error, PullbackError) else _leaves(fn)
    if left and (in_transform() or any(not _has_data(v) for v in values if isinstance(v, torch.Tensor))):
        raise StackError(
            who,
            "code that leaves PyTorch needs real data, which there are in plain eager code only",
            f"{left} in a transform or a graph: {type(error).__name__}",
            f'make it an operator: @pb.function(opaque="mylib::{name}") and @{name}.fake',
        ) from error


def _leaves(fn: Callable[..., Any]) -> str:
    used = {n for f in reachable([fn]) for code in nested_code(f.__code__) for n in code.co_names}
    return next((name for name in (*LEAVES_TORCH, *ALSO) if name in used), "")


def _has_data(tensor: torch.Tensor) -> bool:
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type != "meta"
        and not is_transformed(tensor)
    )
