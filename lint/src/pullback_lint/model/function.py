"""A class derived from torch.autograd.Function, taken apart."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from pullback_lint.model import tables
from pullback_lint.model.method import Element, Method, Parameter, Result
from pullback_lint.model.value import Value, join
from pullback_lint.model.walk import every

if TYPE_CHECKING:
    from pullback_lint.model.events import AttributeSet, Save
    from pullback_lint.model.flow import Flow, FunctionNode
    from pullback_lint.model.module import Module

ROLES = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")
PLAIN_ANNOTATIONS = frozenset({"int", "float", "bool", "str", "complex"})


class Function:
    """An autograd.Function, or an operator with a registered gradient, as rules see it.

    Args:
        name: The name of the class or operator.
        node: Its definition.
        module: The module it lies in.
        members: Its methods by name, inherited ones included.
        attributes: The names assigned in the class body or its bases, with their values.
        complete: Whether all its bases are known.
        is_operator: Whether it is a torch.library operator.
    """

    def __init__(
        self,
        name: str,
        node: ast.ClassDef | FunctionNode,
        module: Module,
        members: dict[str, tuple[FunctionNode, Module]],
        attributes: dict[str, ast.expr | None],
        *,
        complete: bool = True,
        is_operator: bool = False,
    ) -> None:
        self.name = name
        self.node = node
        self.module = module
        self.members = members
        self.attributes = attributes
        self.complete = complete
        self.is_operator = is_operator
        self.is_surrogate = False

    def method(self, role: str) -> Method | None:
        """The method with a role, if the class or a base has it."""
        return self._methods.get(role)

    @functools.cached_property
    def _methods(self) -> dict[str, Method]:
        return {role: method for role in ROLES if (method := self._make(role)) is not None}

    def _make(self, role: str) -> Method | None:
        found = self.members.get(role)
        if found is None:
            return None
        node, module = found
        with_context = role not in {"vmap"} and not (role == "forward" and self._is_bare(node))
        if role == "forward" and self.is_operator:
            with_context = False
        inputs = None
        if role == "setup_context" and (forward := self._make("forward")) is not None and not forward.vararg:
            inputs = tuple(parameter.name for parameter in forward.parameters)
        return Method(node, module.imports, role, with_context=with_context, inputs=inputs)

    def _is_bare(self, forward: FunctionNode) -> bool:
        """Whether forward takes its inputs alone; one that says `ctx` beside setup_context is another fault."""
        first = [arg.arg for arg in [*forward.args.posonlyargs, *forward.args.args][:1]]
        return self.has_setup_context and first not in (["ctx"], ["_ctx"], ["context"])

    @functools.cached_property
    def has_setup_context(self) -> bool:
        """Whether it is written with setup_context."""
        return "setup_context" in self.members

    @functools.cached_property
    def forward(self) -> Method | None:
        """Its forward."""
        return self.method("forward")

    @functools.cached_property
    def backward(self) -> Method | None:
        """Its backward (or vjp)."""
        return self.method("backward") or self.method("vjp")

    @functools.cached_property
    def setup(self) -> Method | None:
        """Where the context is filled: setup_context, else forward."""
        return self.method("setup_context") or self.forward

    def own(self, method: Method | None) -> bool:
        """Whether a method is written in this class's own body."""
        return method is not None and (
            (isinstance(self.node, ast.ClassDef) and method.node in self.node.body) or self.is_operator
        )

    @functools.cached_property
    def inputs(self) -> list[Parameter]:
        """The inputs of forward."""
        return self.forward.parameters if self.forward else []

    @property
    def first(self) -> str | None:
        """The name of the first input; None where forward names none."""
        return self.inputs[0].name if self.inputs else None

    @functools.cached_property
    def gradients(self) -> list[tuple[Result, tuple[Element, ...]]]:
        """Every return of backward whose elements are known."""
        if self.backward is None:
            return []
        return [(result, result.elements) for result in self.backward.results if result.elements is not None]

    def gradients_of(self, index: int) -> list[Element]:
        """What backward returns for one input, on each path."""
        return [elements[index] for _, elements in self.gradients if index < len(elements)]

    @functools.cached_property
    def trained(self) -> frozenset[str]:
        """The inputs for which backward returns something that depends on the cotangent."""
        return frozenset(
            parameter.name
            for index, parameter in enumerate(self.inputs)
            if any(element.value.rooted("g.") for element in self.gradients_of(index))
        )

    @functools.cached_property
    def fillers(self) -> list[Flow]:
        """The flows of the methods that fill the context."""
        return [method.flow for method in (self.forward, self.method("setup_context")) if method is not None]

    @functools.cached_property
    def readers(self) -> list[Flow]:
        """The flows of the methods that read the context."""
        methods = (self.method(role) for role in ("backward", "vjp", "jvp"))
        return [method.flow for method in methods if method is not None]

    @functools.cached_property
    def saves(self) -> list[Save]:
        """All calls of save_for_backward."""
        return [
            save
            for flow in self.fillers
            for save in flow.saves.values()
            if isinstance(save.node.func, ast.Attribute) and save.node.func.attr == "save_for_backward"
        ]

    @functools.cached_property
    def sets(self) -> dict[str, list[AttributeSet]]:
        """All assignments to attributes of the context, by name."""
        found: dict[str, list[AttributeSet]] = {}
        for flow in self.fillers:
            for item in flow.sets.values():
                found.setdefault(item.name, []).append(item)
        return found

    @functools.cached_property
    def ctx_escapes(self) -> bool:
        """Whether the context is handed to other functions while it is filled."""
        return any(flow.ctx_escapes for flow in self.fillers)

    @functools.cached_property
    def outputs(self) -> Value:
        """What forward returns."""
        return join(item.value for item in self.forward.flow.returns.values()) if self.forward else Value()

    @functools.cached_property
    def output_items(self) -> tuple[Value, ...] | None:
        """The outputs one by one, where their number is known on every path."""
        if self.forward is None:
            return None
        counts = [result.elements for result in self.forward.results]
        if not counts or any(item is None for item in counts):
            return None
        known = [item for item in counts if item is not None]
        if len({len(item) for item in known}) != 1:
            return None
        return tuple(join(element.value for element in column) for column in zip(*known, strict=True))

    @functools.cached_property
    def mark_calls(self) -> dict[str, list[ast.Call]]:
        """Calls of the context's methods while it is filled, by name."""
        found: dict[str, list[ast.Call]] = {}
        for flow in self.fillers:
            for call in flow.calls.values():
                if call.dotted.startswith("ctx."):
                    found.setdefault(call.name, []).append(call.node)
        return found

    def saved_value(self, index: int) -> Value | None:
        """What forward saved at an index; None if it cannot be known."""
        if len(self.saves) != 1 or self.saves[0].values is None or index >= len(self.saves[0].values):
            return None
        return self.saves[0].values[index]

    @functools.cached_property
    def once(self) -> bool:
        """Whether backward is marked as differentiable once only."""
        method = self.backward
        return method is not None and any(
            name in tables.ONCE or name.endswith("once_differentiable") for name in method.decorators
        )

    @functools.cached_property
    def examples(self) -> list[ast.expr]:
        """What `make_inputs()` of the module, or `<Class>_inputs()`, returns for each input; empty if there is none."""
        for node in self.module.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in {"make_inputs", f"{self.name}_inputs"}:
                last = node.body[-1]
                if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
                    return last.value.elts if len(last.value.elts) >= len(self.inputs) else []
        return []

    def is_plain(self, index: int) -> bool:
        """Whether an input is certainly not a tensor."""
        parameter = self.inputs[index]
        if self.examples and isinstance(self.examples[index], ast.Constant):
            return True
        if parameter.annotation in PLAIN_ANNOTATIONS:
            return True
        default = parameter.default
        return isinstance(default, ast.Constant) and default.value is not None

    def is_tensor(self, index: int) -> bool:
        """Whether an input is certainly a tensor: annotated, saved, or used as only a tensor can be."""
        parameter = self.inputs[index]
        return parameter.annotation in {"torch.Tensor", "Tensor"} or parameter.name in self.tensor_inputs

    @functools.cached_property
    def tensor_inputs(self) -> frozenset[str]:
        """The names of inputs that are saved or used with tensor methods and attributes."""
        found = {
            name.removeprefix("in.")
            for save in self.saves
            for value in save.values or ()
            for name in value.aliases("in.")
        }
        if self.forward is None:
            return frozenset(found)
        for node in every(self.forward.node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.attr in _TENSOR_WORDS:
                found.add(node.value.id)
        return frozenset(found & {parameter.name for parameter in self.inputs})


_TENSOR_WORDS = (
    tables.TENSOR_OPS | {"shape", "dtype", "device", "data", "size", "numel", "dim", "is_cuda", "ndim"}
) - {
    "item",
    "real",
    "imag",
    "conj",
    "index_select_",
    "type",
    "float",
    "round",
    "to",
}
