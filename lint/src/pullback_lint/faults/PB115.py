"""Plain autograd gives the same gradient with no more memory or time.

## Finds

A Function whose gradient, memory and speed plain autograd reproduces.

## Why it matters

Code that can be wrong, breaks torch.func and compile, and brings nothing.

## Example

```python
class Square(torch.autograd.Function): ...
```

## Instead

```python
def square(x): return x * x
```

## Exceptions

Functions kept as an example or as a hook for a profiler.

## Fix

Delete the class and call the forward.
"""

NAME = "needless-function"
SEVERITY = "note"
