"""A formula has a stable equivalent in torch.

## Finds

`log(softmax(x))`, `log(sum(exp(x)))`, `log(sigmoid(x))`, `log(1 + exp(x))`.

## Why it matters

It overflows or loses its digits at inputs that real training reaches.

## Example

```python
return torch.log(torch.softmax(x, -1))
```

## Instead

```python
return torch.log_softmax(x, -1)
```

## Exceptions

Bounded arguments.

## Fix

Use the stable function. `--unsafe-fixes` does it.
"""

NAME = "unstable-formula"
SEVERITY = "warning"
