"""torch.compile breaks the graph at this Function.

## Finds

Compilation with `fullgraph=True` fails, while eager works.

## Why it matters

The call is slower and cannot be fused.

## Example

```python
torch.compile(f, fullgraph=True)
```

## Instead

```python
def forward(ctx, x): ...                 # no side effects, no data-dependent control flow
```

## Exceptions

Functions that wrap external code.

## Fix

See the message.
"""

NAME = "compile-graph-break"
SEVERITY = "note"
