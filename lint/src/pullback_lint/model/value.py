"""What is known about the value of one expression: where it comes from and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTHING: frozenset[str] = frozenset()


class Value(NamedTuple):
    """An expression's origin in terms of *roots*, and what it is in terms of *tags*.

    Roots are `in.NAME` (an input of forward), `g.NAME` (a cotangent), `saved.INDEX` and `saved.*` (saved tensors),
    `ctx.NAME` (an attribute of the context) and `out` (the output, in setup_context).

    Attributes:
        deps: Roots whose values it depends on (their shapes alone do not count).
        smooth: Roots that it depends on in a differentiable way.
        alias: Roots whose memory it may be.
        tags: Words such as `tensor`, `plain`, `none`, `zero`, `empty`, `random`, `opaque`.
        items: The elements of a tuple or list, where they are known.
    """

    deps: frozenset[str] = NOTHING
    smooth: frozenset[str] = NOTHING
    alias: frozenset[str] = NOTHING
    tags: frozenset[str] = NOTHING
    items: tuple[Value, ...] | None = None

    def __or__(self, other: Value) -> Value:
        if self == other:
            return self
        return Value(
            self.deps | other.deps,
            self.smooth | other.smooth,
            self.alias | other.alias,
            self.tags | other.tags,
            _join_items(self.items, other.items),
        )

    def computed(self, *tags: str) -> Value:
        """What an operation on it gives: the same origin in new memory."""
        return Value(self.deps, self.smooth, NOTHING, frozenset(tags) | (self.tags & _LASTING))

    def cut(self, *tags: str) -> Value:
        """The same without a derivative."""
        return Value(self.deps, NOTHING, NOTHING, frozenset(tags) | (self.tags & _LASTING - {"detached"}))

    def tagged(self, *tags: str) -> Value:
        """The same with more tags."""
        return self._replace(tags=self.tags | frozenset(tags))

    def rooted(self, prefix: str) -> frozenset[str]:
        """The roots with a prefix that it depends on."""
        return frozenset(root for root in self.deps if root.startswith(prefix))

    def aliases(self, prefix: str) -> frozenset[str]:
        """The roots with a prefix whose memory it may be."""
        return frozenset(root for root in self.alias if root.startswith(prefix))


_LASTING = frozenset({"opaque", "random", "numpy", "tensor", "detached"})
"""Tags that an operation passes on to its result."""

UNKNOWN = Value(tags=frozenset({"opaque"}))
PLAIN = Value(tags=frozenset({"plain"}))


def root(name: str, *tags: str) -> Value:
    """The value that is a root itself."""
    names = frozenset({name})
    return Value(names, names, names, frozenset(tags))


def join(values: Iterable[Value]) -> Value:
    """What may be any of the values."""
    result: Value | None = None
    for value in values:
        result = value if result is None else result | value
    return result or Value()


def each(container: Value) -> Value:
    """The value of any element of a container."""
    if container.items:
        return join(container.items)
    tags = (container.tags - {"tuple", "list", "comprehension", "autograd-tuple"}) | (
        {"tensor"} if "tensors" in container.tags else NOTHING
    )
    return container._replace(tags=tags - {"tensors"}, items=None)


def _join_items(one: tuple[Value, ...] | None, two: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if one is None or two is None or len(one) != len(two):
        return None
    return tuple(a | b for a, b in zip(one, two, strict=True))
