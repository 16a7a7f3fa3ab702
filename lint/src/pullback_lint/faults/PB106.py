"""Forward or backward of an autograd.Function is not a static method.

## Finds

`forward`, `backward`, `setup_context`, `jvp` or `vmap` defined without `@staticmethod`.

## Why it matters

Instances that are called were removed from PyTorch long ago; `apply` on such a class works by accident only and
fails as soon as `self` is used as an object.

## Example

```python
class Square(torch.autograd.Function):
    def forward(self, x): ...
```

## Instead

```python
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...
```

## Exceptions

`@classmethod` with `cls, ctx` works.

## Fix

Add `@staticmethod` and call the class with `.apply(…)`. `--fix` adds the decorator.
"""

NAME = "legacy-nonstatic"
SEVERITY = "error"
