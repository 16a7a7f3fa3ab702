"""The forward is the identity and the gradient is modified.

## Finds

Forward returns its input unchanged and backward is not the identity.

## Why it matters

Nothing is wrong; the report says what the backward does.

## Example

```python
def forward(ctx, x): return x.view_as(x)
def backward(ctx, g): return -g
```

## Instead

```python
reverse = pb.functional.gradient_reversal
```

## Exceptions

A declared intention is compared.

## Fix

Declare the intention, so that it can be checked.
"""

NAME = "gradient-modifier"
SEVERITY = "note"
