"""Forward does not return anything.

## Finds

A `forward` with no return of a value.

## Why it matters

`apply` gives `None`.

## Example

```python
def forward(ctx, x):
    y = x * 2
```

## Instead

```python
def forward(ctx, x):
    return x * 2
```

## Exceptions

Abstract bases that raise.

## Fix

Return the result.
"""

NAME = "forward-returns-nothing"
SEVERITY = "error"
