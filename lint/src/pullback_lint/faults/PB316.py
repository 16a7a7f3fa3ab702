""".backward() is called inside backward.

## Finds

`something.backward(…)` in the `backward` of a Function.

## Why it matters

It adds to `.grad` of whatever it reaches, saved tensors included: gradients are counted twice and hooks run twice.

## Example

```python
y.backward(grad_output)
return x.grad
```

## Instead

```python
return torch.autograd.grad(y, x, grad_output)
```

## Exceptions

Checkpoint implementations, which mean to reach parameters.

## Fix

Use `torch.autograd.grad`.
"""

NAME = "inner-backward-call"
SEVERITY = "warning"
