"""Differentiable functions that cannot be wrong: rules by argument, checked, the same in every stack."""

__version__ = "0.1.0"
