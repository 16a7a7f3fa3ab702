"""A Function uses a parameter or module that is not an input.

## Finds

A module-level `nn.Parameter`, `nn.Module` or tensor that requires a gradient, or one of an enclosing function, read
in forward.

## Why it matters

Autograd sees the inputs of `apply` alone: it never trains, without a word.

## Example

```python
SCALE = torch.nn.Parameter(torch.ones(()))
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * SCALE
```

## Instead

```python
    def forward(ctx, x, scale): return x * scale
```

## Exceptions

Constant tensors.

## Fix

Pass it to `apply` and return its gradient.
"""

NAME = "closure-captured-param"
SEVERITY = "error"
