"""The same call gives different results.

## Finds

Two calls with equal inputs and generator state that differ.

## Why it matters

Gradients cannot be reproduced, and recomputation gives other values.

## Example

```python
out[torch.randperm(n)] = x
```

## Instead

```python
out[ctx.order] = x
```

## Exceptions

Atomic additions on an accelerator.

## Fix

Save what was drawn.
"""

NAME = "not-deterministic"
SEVERITY = "warning"
