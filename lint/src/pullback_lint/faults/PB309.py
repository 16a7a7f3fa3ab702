"""A graph recorded in forward is consumed by the first backward.

## Finds

`torch.autograd.grad(ctx.e, …)` in backward on a graph that was recorded in forward, without `retain_graph`.

## Why it matters

A second backward pass (`retain_graph=True`, several losses) raises.

## Example

```python
(g,) = torch.autograd.grad(ctx.e, ctx.q, grad_output)
```

## Instead

```python
with torch.enable_grad():
    e = energy(q)
(g,) = torch.autograd.grad(e, q, grad_output)
```

## Exceptions

None.

## Fix

Record the graph again in backward.
"""

NAME = "inner-graph-freed"
SEVERITY = "error"
