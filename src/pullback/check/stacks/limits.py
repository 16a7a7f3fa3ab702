"""What cannot be had for some kinds of Functions, and what they get instead: the second table of the docs page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """One thing that PyTorch leaves no way for.

    Attributes:
        what: The kind of Function, or of call.
        where: The stacks.
        gets: The error; or what plain PyTorch code gets there, too.
        instead: What to do.
    """

    what: str
    where: str
    gets: str
    instead: str


LIMITS = (
    Limit(
        "code that leaves PyTorch (NumPy, ctypes), without `opaque=`",
        "anywhere but in plain eager code",
        "`StackError` or PyTorch's own error",
        'declare it: `@pb.function(opaque="mylib::name")` with `@f.fake`',
    ),
    Limit(
        "an opaque Function without `@f.fake`",
        "`torch.compile`, export, `make_fx`, fake and meta tensors",
        "`StackError`",
        "attach `@f.fake`",
    ),
    Limit(
        "an opaque rule, or one that leaves PyTorch (NumPy, `.item()` of what has a derivative)",
        "second derivatives",
        "`DoubleBackwardError`",
        "write the rule with torch operations",
    ),
    Limit(
        "an opaque rule, or one that is not linear in its cotangent",
        "forward mode",
        "`ForwardModeError`",
        "attach `@f.jvp`, written with torch operations",
    ),
    Limit(
        "an opaque Function",
        "`torch.autograd.grad(…, is_grads_batched=True)`",
        "PyTorch's own error: its old vmap has no batching rule for operators",
        "use `torch.func.vmap` of `torch.func.vjp`",
    ),
    Limit(
        "an opaque Function",
        "ONNX",
        "the exporter's own error: it knows no such operator",
        "export the same function written with torch operations",
    ),
    Limit(
        "an in-place Function",
        "`make_fx`, export, `torch.func.linearize`",
        "`StackError`",
        "use the out-of-place form there",
    ),
    Limit(
        "an in-place Function",
        "selective checkpointing that keeps its result; `jacrev` of `jacfwd`",
        "PyTorch's own error: a kept tensor was changed",
        "use the out-of-place form there",
    ),
    Limit(
        "hyperparameters that are no plain data",
        "`make_fx`, export, `torch.func.linearize`; opaque Functions anywhere but in plain eager code",
        "`StackError`",
        "pass the numbers in them",
    ),
    Limit(
        "a forward or rule that reads a tensor or an object it was not given",
        "`torch.compile`",
        "`StackError`",
        "pass it as an argument",
    ),
    Limit(
        "an output that is a named tuple",
        "`torch.compile` of PyTorch 2.13",
        "`StackError`",
        "return a tuple or a dict, and make the named tuple outside",
    ),
    Limit("containers in or out", "`torch.compile` of PyTorch 2.9", "PyTorch's own error", "use PyTorch 2.13"),
    Limit(
        "derived gradients of a forward that draws random numbers",
        "`torch.compile`",
        "`StackError`",
        "keep what was drawn with `pb.keep` and attach rules",
    ),
    Limit(
        "a second derivative through a compiled region",
        "`torch.compile`",
        "what plain code gets: PyTorch's own error, or, where the region keeps intermediates, none at all",
        "compile `torch.func.grad` of the function instead",
    ),
    Limit(
        "a compiled region called with dual numbers",
        "`torch.autograd.forward_ad`",
        "what plain code gets: no tangent",
        "compile `torch.func.jvp` of the function instead",
    ),
    Limit(
        "a second derivative through a compiled region",
        "`create_graph` around a compiled function",
        "PyTorch's own error; or, where all that is kept was made inside the region (a transposed factor of a matrix "
        "product), a gradient of `None`, in plain code, too",
        "compile the derivative: `torch.compile(torch.func.grad(f))`",
    ),
)
