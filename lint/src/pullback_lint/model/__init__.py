"""What a source file says about its differentiable functions, as records that rules read."""
