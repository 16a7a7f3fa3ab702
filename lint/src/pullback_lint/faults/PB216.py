"""A surrogate's gradients disagree with each other or with the declared surrogate by a factor or sign.

## Finds

A surrogate that depends on `v - thr` and returns the same sign for both; an area other than declared.

## Why it matters

The threshold moves the wrong way.

## Example

```python
return g, g.sum(), None
```

## Instead

```python
return g, -g.sum(), None
```

## Exceptions

A different scale on purpose: declare it.

## Fix

Use the derivative of the declared surrogate.
"""

NAME = "surrogate-scale-wrong"
SEVERITY = "error"
