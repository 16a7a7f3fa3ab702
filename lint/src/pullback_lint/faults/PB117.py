"""Forward takes ctx although setup_context is defined, or the reverse.

## Finds

A `forward` with a context parameter beside `setup_context`, or a `forward` that uses `ctx` without having it.

## Why it matters

With `setup_context`, forward is called without context: the first input lands in `ctx`.

## Example

```python
def forward(ctx, x): ...
def setup_context(ctx, inputs, output): ...
```

## Instead

```python
def forward(x): ...
def setup_context(ctx, inputs, output): ...
```

## Exceptions

None.

## Fix

Take `ctx` out of forward and move what it does to `setup_context`.
"""

NAME = "setup-context-mismatch"
SEVERITY = "error"
