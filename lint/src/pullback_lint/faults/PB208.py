"""An input that the result depends on gets None as gradient.

## Finds

`None` on every path for a tensor input that forward uses in a differentiable way.

## Why it matters

The parameter never trains, without a word.

## Example

```python
return grad_x, None                     # gain is a learnable vector
```

## Instead

```python
return grad_x, (grad_output * x * inv).sum(0)
```

## Exceptions

Stop-gradient on purpose, constants, labels, masks.

## Fix

Return the gradient, or declare that there is none: `# pullback: ignore[PB208]`.
"""

NAME = "param-grad-none"
SEVERITY = "warning"
