"""@pb.function is used on a method.

## Finds

`@pb.function` in a class body.

## Why it matters

`self` would become an argument without a gradient; pullback refuses it.

## Example

```python
import torch
import pullback as pb


class Gate(torch.nn.Module):
    @pb.function
    def act(self, x):
        return x * torch.sigmoid(x)
```

## Instead

```python
import torch
import pullback as pb


@pb.function
def act(x):
    return x * torch.sigmoid(x)


class Gate(torch.nn.Module):
    def forward(self, x):
        return act(x)
```

## Exceptions

None.

## Fix

Define the Function at module level and pass what it needs.
"""

NAME = "function-in-class"
SEVERITY = "error"
