"""The catalogue of faults, as the checker needs it: a name's code and severity."""

from __future__ import annotations

from pullback_lint import catalogue


def code(name: str) -> str:
    """The code of a fault, such as ``PB201``."""
    return catalogue.fault(name).code


def severity(name: str) -> str:
    """The severity of a fault: ``error``, ``warning`` or ``note``."""
    return catalogue.fault(name).severity


def summary(name: str) -> str:
    """The fault in one sentence."""
    return catalogue.fault(name).summary
