"""The Function cannot be pickled or copied.

## Finds

A class or callable defined in a local scope.

## Why it matters

Worker processes and `torch.save` refuse it.

## Example

```python
import torch
import threading

import torch
import pullback as pb


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def forward(self, x):
        with self.lock:
            return pb.functional.reverse_gradient(x)


pb.check(Gate(), torch.randn(4))
```

## Instead

```python
import torch
import torch
import pullback as pb


class Gate(torch.nn.Module):
    def forward(self, x):
        return pb.functional.reverse_gradient(x)


pb.check(Gate(), torch.randn(4))
```

## Exceptions

Factories that never leave the process.

## Fix

Define it at module level.
"""

NAME = "not-picklable"
SEVERITY = "note"
