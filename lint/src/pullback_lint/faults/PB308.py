"""A tensor made in forward is kept as an attribute of ctx.

## Finds

`ctx.mask = …` where the value is a tensor computed in forward.

## Why it matters

It is invisible to saved-tensor hooks, offloading and checkpointing, and stays alive after backward.

## Example

```python
ctx.trace = torch.stack(trace)
```

## Instead

```python
ctx.save_for_backward(torch.stack(trace))
```

## Exceptions

Small constants; tensors that only forward mode needs.

## Fix

Use `save_for_backward`.
"""

NAME = "ctx-tensor-bypass-hooks"
SEVERITY = "warning"
