"""Backward computes what forward has, or the same thing twice.

## Finds

An expensive operation that is done twice with equal arguments.

## Why it matters

Time.

## Example

```python
return grad_output * torch.exp(x)        # the output is exp(x)
```

## Instead

```python
return grad_output * out
```

## Exceptions

Recomputation that saves memory on purpose.

## Fix

Save the output.
"""

NAME = "repeated-work"
SEVERITY = "note"
