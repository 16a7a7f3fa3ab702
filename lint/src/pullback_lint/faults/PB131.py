"""@pb.function is used on a method.

## Finds

`@pb.function` in a class body.

## Why it matters

`self` would become an argument without a gradient; pullback refuses it.

## Example

```python
class Layer(torch.nn.Module):
    @pb.function
    def act(self, x): ...
```

## Instead

```python
@pb.function
def act(x, alpha): ...
```

## Exceptions

None.

## Fix

Define the Function at module level and pass what it needs.
"""

NAME = "function-in-class"
SEVERITY = "error"
