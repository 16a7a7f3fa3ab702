"""custom_fwd is combined with setup_context.

## Finds

`@custom_fwd` on a `forward` without ctx.

## Why it matters

It writes its state on its first argument, which here is the user's tensor, and backward fails.

## Example

```python
@custom_fwd(device_type="cuda")
def forward(x): ...
def setup_context(ctx, inputs, output): ...
```

## Instead

```python
def forward(x):
    with torch.autocast(x.device.type, enabled=False): ...
```

## Exceptions

None.

## Fix

Switch autocast off inside, or use the classic form.
"""

NAME = "custom-fwd-setup-context"
SEVERITY = "error"
