"""Backward takes another number of cotangents than forward has outputs.

## Finds

The parameters of `backward` after `ctx` compared with the tuple that `forward` returns.

## Why it matters

Autograd calls backward with one cotangent per output and gets a TypeError.

## Example

```python
return y, scale
...
def backward(ctx, grad_output): ...
```

## Instead

```python
def backward(ctx, grad_y, grad_scale): ...
```

## Exceptions

`*grad_outputs` takes any number; parameters with defaults may be more than the outputs.

## Fix

Take one cotangent per output.
"""

NAME = "wrong-backward-arity"
SEVERITY = "error"
