"""Backward waits for the device.

## Finds

`.item()`, `.cpu()`, `.tolist()`, `.numpy()`, `bool(tensor)` in backward.

## Why it matters

The queue of the accelerator drains at each call, and compile breaks the graph.

## Example

```python
scale = grad_output.abs().max().item()
```

## Instead

```python
scale = grad_output.abs().max()
```

## Exceptions

Functions that wrap a CPU library.

## Fix

Stay on the device.
"""

NAME = "sync-in-backward"
SEVERITY = "note"
