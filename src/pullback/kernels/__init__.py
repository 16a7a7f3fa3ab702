"""Compiled code: forward and backward of a Function as one pass each."""
