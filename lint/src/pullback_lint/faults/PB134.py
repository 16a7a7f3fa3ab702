"""A removed or deprecated autograd interface is used.

## Finds

`ctx.saved_variables`, `torch.cuda.amp.custom_fwd`, `torch.cuda.amp.custom_bwd`, `torch.autograd.Variable`.

## Why it matters

Newer versions of PyTorch warn or have removed it.

## Example

```python
(x,) = ctx.saved_variables
```

## Instead

```python
(x,) = ctx.saved_tensors
```

## Exceptions

Code that supports old versions on purpose.

## Fix

Use the present name.
"""

NAME = "deprecated-api"
SEVERITY = "note"
