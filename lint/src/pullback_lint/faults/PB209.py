"""The cotangent of one output is never used.

## Finds

A parameter of `backward` after the first that nothing reads, although that output depends smoothly on the inputs
and is not marked.

## Why it matters

A loss that uses that output trains with a wrong gradient.

## Example

```python
def backward(ctx, g_out, g_state):
    return g_out * (1 - out * out)
```

## Instead

```python
def backward(ctx, g_out, g_state):
    return g_out * (1 - out * out) + g_state
```

## Exceptions

Outputs marked with `mark_non_differentiable`, integer and boolean outputs.

## Fix

Add its part, or mark the output as non-differentiable.
"""

NAME = "second-output-grad-dropped"
SEVERITY = "error"
