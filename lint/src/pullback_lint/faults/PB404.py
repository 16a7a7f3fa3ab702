"""The Function is written with forward(ctx, …) and cannot be used under torch.func.

## Finds

A class without `setup_context`.

## Why it matters

`torch.func.grad`, `vmap`, `jacrev` and the like refuse it.

## Example

```python
def forward(ctx, x): ...
```

## Instead

```python
def forward(x): ...
def setup_context(ctx, inputs, output): ...
```

## Exceptions

Functions that no transform will ever meet; the classic form is faster per call.

## Fix

`pullback modernize` rewrites it.
"""

NAME = "no-setup-context"
SEVERITY = "note"
