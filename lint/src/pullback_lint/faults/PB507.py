"""A way of running uses the forward and drops the custom backward.

## Finds

`export`, `make_fx` or a compiled transform gives the gradient of the body instead of the custom one.

## Why it matters

Another gradient, silently.

## Example

```python
torch.export.export(model, args)
```

## Instead

```python
op = torch.library.custom_op(...)        # or a pullback Function
```

## Exceptions

None.

## Fix

Use an operator that the stack knows.
"""

NAME = "stack-drops-rule"
SEVERITY = "warning"
