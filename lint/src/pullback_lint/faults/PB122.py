"""A builtin is used where a local name was meant.

## Finds

`input`, `max`, `sum` and the like used as a tensor in backward, although only forward has a local of that name.

## Why it matters

No NameError points at it: `input` is a Python function, and the arithmetic fails or compares nonsense.

## Example

```python
def forward(ctx, input): ...
def backward(ctx, grad_output):
    return grad_output * (input > 0)
```

## Instead

```python
    (input,) = ctx.saved_tensors
    return grad_output * (input > 0)
```

## Exceptions

Calling the builtin.

## Fix

Save the tensor and unpack it in backward.
"""

NAME = "builtin-captured"
SEVERITY = "error"
