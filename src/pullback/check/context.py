"""The stand-in for ``ctx``: lets a forward run outside of its autograd.Function and its backward be replayed."""

from __future__ import annotations

from typing import Any

import torch


class Record:
    """What a forward told its context."""

    def __init__(self) -> None:
        self.saved: tuple[Any, ...] = ()
        self.for_forward: tuple[Any, ...] = ()
        self.versions: list[int] = []
        self.dirty: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize = True


class Context:
    """Takes the place of ``ctx``; attributes set by forward stay readable in backward.

    Args:
        needs: What ``ctx.needs_input_grad`` says.
    """

    _record: Record
    needs_input_grad: tuple[bool, ...]

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.__dict__["_record"] = Record()
        self.__dict__["needs_input_grad"] = needs

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep what ``saved_tensors`` gives back."""
        self._record.saved = tensors
        self._record.versions = [t._version for t in tensors if isinstance(t, torch.Tensor)]

    def save_for_forward(self, *tensors: Any) -> None:
        """Remember what jvp may read; forward mode is not replayed."""
        self._record.for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Remember what forward says it changes in place."""
        self._record.dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Remember the outputs that take no gradient."""
        self._record.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Remember whether unused outputs give zeros or None."""
        self._record.materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What forward saved."""
        return self._record.saved

    saved_variables = saved_tensors


def attributes(ctx: Context) -> dict[str, Any]:
    """The attributes that forward has set on a stand-in context."""
    return {name: value for name, value in vars(ctx).items() if name not in ("_record", "needs_input_grad")}


def replaying(ctx: Context, change: Any, needs: tuple[bool, ...] | None = None) -> Context:
    """A copy of a context in which every kept tensor is passed through ``change``."""
    twin = Context(ctx.needs_input_grad if needs is None else needs)
    twin._record.materialize = ctx._record.materialize
    twin._record.saved = tuple(_changed(change, value) for value in ctx._record.saved)
    for name, value in attributes(ctx).items():
        setattr(twin, name, _changed(change, value))
    return twin


def _changed(change: Any, value: Any) -> Any:
    return change(value) if isinstance(value, torch.Tensor) else value
