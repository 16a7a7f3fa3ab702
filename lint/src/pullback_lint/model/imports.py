"""What the names of a module stand for: import aliases and dotted names."""

from __future__ import annotations

import ast

from pullback_lint.model.walk import every, forget


class Imports:
    """The imported names of one module.

    Args:
        tree: The module's syntax tree.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.names: dict[str, str] = {}
        self.stars: list[str] = []
        for plain in every(tree, ast.Import):
            self._plain(plain)
        for node in every(tree, ast.ImportFrom):
            self._members(node)

    def _plain(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.names[name] = alias.name if alias.asname else name

    def _members(self, node: ast.ImportFrom) -> None:
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(base)
            else:
                separator = "" if base.endswith(".") else "."
                self.names[alias.asname or alias.name] = f"{base}{separator}{alias.name}"

    def dotted(self, node: ast.AST | None) -> str:
        """The full dotted name of an expression such as `F.softmax`, or an empty string.

        Args:
            node: A name or a chain of attributes; anything else has no dotted name.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(self.names.get(node.id, node.id))
        return ".".join(reversed(parts))


def bind_methods(tree: ast.Module) -> None:
    """Write `torch.Tensor.view(x, 1)` as `x.view(1)`, so that rules meet one spelling."""
    imports = Imports(tree)
    for call in every(tree, ast.Call):
        owner, _, name = imports.dotted(call.func).rpartition(".")
        if owner == "torch.Tensor" and not name.startswith("_") and call.args:
            receiver, *call.args = call.args
            if isinstance(receiver, ast.Starred):
                call.args.insert(0, receiver)
            else:
                call.func = ast.copy_location(ast.Attribute(receiver, name, ast.Load()), call.func)
    forget(tree)


def is_torch(dotted: str) -> bool:
    """Whether a dotted name lies in torch."""
    return dotted.startswith("torch.")
