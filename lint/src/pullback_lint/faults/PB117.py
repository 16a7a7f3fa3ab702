"""Forward takes ctx although setup_context is defined, or the reverse.

## Finds

A `forward` with a context parameter beside `setup_context`, or a `forward` that uses `ctx` without having it.

## Why it matters

With `setup_context`, forward is called without context: the first input lands in `ctx`.

## Example

```python
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
```

## Instead

```python
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
```

## Exceptions

None.

## Fix

Take `ctx` out of forward and move what it does to `setup_context`.
"""

NAME = "setup-context-mismatch"
SEVERITY = "error"
