"""The graph of an inner differentiation is retained.

## Finds

`retain_graph=True` inside backward.

## Why it matters

Memory stays alive until the tensors die; usually one call with several inputs does.

## Example

```python
a = torch.autograd.grad(s, x, g, retain_graph=True)
b = torch.autograd.grad(s, w, g)
```

## Instead

```python
a, b = torch.autograd.grad(s, (x, w), g)
```

## Exceptions

Several differentiations of one graph.

## Fix

Ask for all gradients in one call.
"""

NAME = "inner-retain-graph"
SEVERITY = "note"
