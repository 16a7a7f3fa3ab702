"""Backward recomputes and differentiates without switching recording on.

## Finds

`torch.autograd.grad` or `.backward()` in backward on something computed there outside of `torch.enable_grad()`.

## Why it matters

Backward runs without recording: there is no graph, and the call raises.

## Example

```python
y = block(x)
return torch.autograd.grad(y, x, grad_output)
```

## Instead

```python
with torch.enable_grad():
    y = block(x)
return torch.autograd.grad(y, x, grad_output)
```

## Exceptions

Graphs that were recorded in forward.

## Fix

Put the recomputation into `with torch.enable_grad():`.
"""

NAME = "recompute-no-enable-grad"
SEVERITY = "error"
