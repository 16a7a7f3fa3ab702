"""Find mistakes in differentiable PyTorch functions without running them."""

__version__ = "0.1.0"
