"""A transform fails on this Function.

## Finds

`torch.func.grad`, `vmap`, `jvp` or a second backward raises.

## Why it matters

The Function cannot be used there; the error comes late.

## Example

```python
torch.func.grad(lambda x: F.apply(x).sum())(x)
```

## Instead

```python
def forward(x): ...
def setup_context(ctx, inputs, output): ...
```

## Exceptions

Transforms that are declared as unsupported.

## Fix

See the message.
"""

NAME = "transform-fails"
SEVERITY = "warning"
