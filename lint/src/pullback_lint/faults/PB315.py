"""Backward draws random numbers anew.

## Finds

`rand`, `bernoulli`, `dropout` and the like in backward without restoring the generator's state.

## Why it matters

Backward uses another mask than forward did.

## Example

```python
mask = torch.rand_like(grad_output) < ctx.keep
```

## Instead

```python
(mask,) = ctx.saved_tensors
```

## Exceptions

Stochastic rounding of the gradient and noise on purpose; recomputation under a restored state.

## Fix

Save the mask or the generator state.
"""

NAME = "rng-not-saved"
SEVERITY = "error"
