"""The only place that touches private names of PyTorch.

Everything here is re-exported under a name that says what pullback uses it for; when a torch release moves
something, this is the file to change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

import torch
import torch.autograd.forward_ad as forward_ad
from torch._functorch.autograd_function import VmapInfo, custom_function_call
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import Function as AutogradFunction
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

__all__ = [
    "AutogradFunction",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "VmapInfo",
    "ahead_of_time",
    "allow_in_graph",
    "autocast_enabled",
    "autocast_kind",
    "bare_apply",
    "below_autograd",
    "compiled_autograd",
    "compiled_frames",
    "compiler_errors",
    "compiler_front_loaded",
    "compiling",
    "current_level",
    "custom_function_call",
    "cxx11_abi",
    "decomposed_by",
    "dispatch_modes",
    "dual_level",
    "forward_ad",
    "function_modes",
    "functionalizing",
    "functorch_enabled",
    "grad_enabled",
    "has_tangent",
    "hint",
    "in_saved_tensor_hook",
    "in_transform",
    "is_plain",
    "is_plain_cpu",
    "is_transformed",
    "jit_tracing",
    "level_of",
    "load_compiler_front",
    "lower_levels",
    "nonstrict_trace",
    "outside_all_stacks",
    "outside_modes",
    "pre_dispatch_modes",
    "proxy_tracing",
    "pytree",
    "saved_tensor_hooks",
    "tracing_graph",
    "unwrap_dead",
    "when_dynamo_loads",
    "without_values",
    "wrapper",
]

compiling = torch.compiler.is_dynamo_compiling
grad_enabled = torch._C.is_grad_enabled
in_transform = torch._C._are_functorch_transforms_active
dispatch_modes = torch._C._len_torch_dispatch_stack
autocast_enabled = torch._C._is_any_autocast_enabled
function_modes = torch._C._is_torch_function_mode_enabled
level_of = torch._C._functorch.maybe_get_level  # of a tensor under torch.func; negative if it is in none
is_transformed = torch._C._functorch.is_functorch_wrapped_tensor
below_autograd = torch._C._AutoDispatchBelowAutograd
unwrap_dead = torch._C._functorch.unwrap_if_dead
jit_tracing = torch._C._get_tracing_state
set_deterministic = torch._C._set_deterministic_algorithms  # torch's own function imports the compiler for it
pre_dispatch_modes = torch._ops._len_torch_dispatch_stack_pre_dispatch


def compiled_frames() -> int:
    """How many pieces of Python code torch.compile has compiled so far in this process."""
    counted = sys.modules.get("torch._dynamo.utils")
    return int(counted.counters["frames"]["ok"]) if counted is not None else 0


def current_level() -> int:
    """The innermost active level of torch.func; 0 outside of all."""
    top = torch._C._functorch.peek_interpreter_stack()
    return int(top.level()) if top is not None else 0


def dual_level() -> int:
    """The current level of ``torch.autograd.forward_ad``; negative outside of one."""
    return int(forward_ad._current_level)


def tracing_graph() -> bool:
    """Whether AOTAutograd is tracing a graph for ``torch.compile`` or export right now."""
    return torch._guards.TracingContext.try_get() is not None


def proxy_tracing() -> bool:
    """Whether ``make_fx`` (or export, which uses it) is recording operations right now."""
    return get_proxy_mode() is not None


def functionalizing() -> bool:
    """Whether AOTAutograd is tracing right now, on tensors without side effects."""
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FUNCTIONAL) is not None


def has_tangent(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether any tensor carries a tangent of ``torch.autograd.forward_ad``.

    Dynamo's graph enters the level in C++ only, so while a graph is being traced the Python counter says nothing.
    """
    if (forward_ad._current_level < 0 and not tracing_graph()) or _is_below_autograd():
        return False
    return any(
        torch._VF._unpack_dual(t, level=0)[1] is not None for t in tensors if t.is_floating_point() or t.is_complex()
    )


def _is_below_autograd() -> bool:
    """Whether an operator's kernel is running, to which autograd and tangents do not reach."""
    return bool(torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.AutogradFunctionality))


@contextmanager
def lower_levels() -> Iterator[Callable[[Any], Any]]:
    """Inside of a ``jvp``, where PyTorch switches forward mode off: on again for the levels below.

    Gives a function that takes this level's tangent from a tensor; without it, jvp of jvp is silently zero.
    """
    with forward_ad._set_fwd_grad_enabled(True):
        yield lambda t: t if t is None else torch._VF._unpack_dual(t, level=0)[0]


def bare_apply(cls: type[AutogradFunction]) -> Callable[..., Any]:
    """``cls.apply`` without its Python wrapper, which binds the signature anew on every call (10 µs)."""
    return super(AutogradFunction, cls).apply  # type: ignore[no-any-return, misc]


@contextmanager
def outside_all_stacks() -> Iterator[None]:
    """Run plain eager code, whatever transforms and modes are active around it."""
    with (
        torch._C.DisableTorchFunction(),
        _disable_current_modes(),
        temporarily_clear_interpreter_stack(),
        torch.no_grad(),
        forward_ad._set_fwd_grad_enabled(False),
    ):
        yield


@contextmanager
def outside_modes() -> Iterator[None]:
    """Run outside of dispatch modes and torch functions, but inside the transforms."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


@contextmanager
def functorch_enabled() -> Iterator[None]:
    """Let torch.func transforms start inside a kernel: a tracing mode around it has excluded their dispatch keys."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for name in _FUNCTORCH_KEYS:
        excluded = excluded - torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        yield


_FUNCTORCH_KEYS = (
    "FuncTorchDynamicLayerFrontMode",
    "FuncTorchDynamicLayerBackMode",
    "FuncTorchBatched",
    "FuncTorchVmapMode",
    "FuncTorchBatchedDecomposition",
    "FuncTorchGradWrapper",
)


def hint(size: int | torch.SymInt) -> int:
    """A size as a number: what a symbolic one has been seen to be."""
    return int(size) if isinstance(size, int) else size.node.hint


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """As `nonstrict_trace`, for functions of tensors and plain data only."""
    import torch._dynamo

    return torch._dynamo.allow_in_graph(fn)  # type: ignore[no-any-return]


def nonstrict_trace(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` as one node of Dynamo's graph; AOTAutograd then traces through it."""
    import torch._dynamo

    return torch._dynamo.nonstrict_trace(fn)


def decomposed_by(operator: Any, fn: Callable[..., Any]) -> None:
    """Let those who take every operator apart that they do not know, as ONNX export does, run ``fn`` for it."""
    torch._decomp.register_decomposition(operator)(fn)


def ahead_of_time(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` with its forward and backward traced by AOTAutograd alone, and run as the graphs say."""
    from torch._functorch.aot_autograd import aot_function
    from torch._functorch.compilers import nop

    return aot_function(fn, nop)


def compiled_autograd(compiler: Callable[..., Any]) -> Any:
    """A context in which backward passes are compiled as a whole."""
    import torch._dynamo.compiled_autograd

    return torch._dynamo.compiled_autograd._enable(compiler)


def when_dynamo_loads(action: Callable[[], None]) -> None:
    """Run ``action`` now if Dynamo is loaded, else right after it is: importing it takes seconds."""
    if "torch._dynamo" in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _AfterDynamo(action))


class _AfterDynamo(MetaPathFinder):
    """Stands first among the finders until Dynamo is imported, then steps aside."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The ordinary spec, with a loader that runs the action after loading."""
        if name != "torch._dynamo":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                self.action()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


# --- check: operators of torch.library, fill of fresh memory


class OperatorParts(NamedTuple):
    """What an operator was made of; None where there is nothing to see."""

    name: str
    forward: Callable[..., Any] | None
    backward: Callable[..., Any] | None
    setup_context: Callable[..., Any] | None
    has_fake: bool


def is_custom_op(thing: Any) -> bool:
    """Whether ``thing`` is an operator: made by torch.library.custom_op, or an overload found in torch.ops."""
    kinds = (torch._library.custom_ops.CustomOpDef, torch._ops.OpOverload, torch._ops.OpOverloadPacket)
    return isinstance(thing, kinds)


def runs_on_cpu(thing: Any) -> bool:
    """Whether something is no operator, or one with a kernel that takes tensors on the CPU."""
    if isinstance(thing, torch._ops.OpOverloadPacket) or not is_custom_op(thing):
        return True
    name = thing.name() if isinstance(thing, torch._ops.OpOverload) else thing._qualname
    keys = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)


def custom_op_parts(thing: Any) -> OperatorParts:
    """The Python functions behind an operator."""
    if isinstance(thing, torch._ops.OpOverloadPacket):
        thing = getattr(thing, thing.overloads()[0])
    if isinstance(thing, torch._ops.OpOverload):
        known = torch._library.custom_ops.OPDEFS.get(thing._schema.name)
        if known is None:
            return OperatorParts(thing._schema.name, None, None, None, True)
        thing = known
    return OperatorParts(
        thing._qualname, thing._init_fn, thing._backward_fn, thing._setup_context_fn, thing._abstract_fn is not None
    )


# --- graph: tensors without values


@contextmanager
def without_values(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Run code on stand-ins for tensors, which have everything but values; all else stays as it is.

    PyTorch logs a traceback for every operation that does not run on them, besides raising; that is kept quiet.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode, log

    bare = [value.detach() if isinstance(value, torch.Tensor) else value for value in values]
    before, log.disabled = log.disabled, True
    try:
        with torch.no_grad(), FakeTensorMode() as mode:
            yield [mode.from_tensor(value) if isinstance(value, torch.Tensor) else value for value in bare]
    finally:
        log.disabled = before


def wrapper(cls: Any, inner: torch.Tensor) -> Any:
    """A tensor of a subclass that looks like another, and has no memory of its own."""
    return torch.Tensor._make_wrapper_subclass(
        cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device
    )


def empty_like(tensor: torch.Tensor) -> torch.Tensor:
    """A real tensor, with anything in it, like one without values."""
    return torch.empty(tuple(map(int, tensor.shape)), dtype=tensor.dtype, device=tensor.device)


# --- graph: symbolic numbers


def symbolic_numbers(given: dict[str, float]) -> tuple[dict[str, Any], Callable[[], list[str]]]:
    """Numbers that tracing records instead of reading, and what was decided by them so far."""
    if not given:
        return {}, list  # importing Dynamo takes seconds
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

    environment, names = ShapeEnv(), {}

    def number(name: str, value: float) -> Any:
        source = ConstantSource(name)
        symbol = environment.create_unspecified_symbol(value, source=source, dynamic_dim=DimDynamic.DYNAMIC)
        names[str(symbol)] = name
        return environment.create_symfloatnode(symbol, hint=value, source=source)

    def guards() -> list[str]:
        texts = [str(guard.expr) for guard in environment.guards]
        for symbol, name in names.items():
            texts = [text.replace(symbol, name) for text in texts]
        return texts

    return {name: number(name, value) for name, value in given.items()}, guards


# --- kernels: tensors whose memory is what it seems


def is_plain_cpu(tensor: torch.Tensor) -> bool:
    """Whether a tensor's elements lie in the CPU's memory as its sizes and strides say."""
    return tensor.is_cpu and tensor.layout is torch.strided and not tensor.is_neg() and type(tensor) in _PLAIN


def is_plain(tensor: torch.Tensor) -> bool:
    """The same on any device."""
    return tensor.layout is torch.strided and not tensor.is_neg() and type(tensor) in _PLAIN


def compiler_errors() -> type[Exception]:
    """What torch.compile raises where it cannot compile."""
    import torch._dynamo.exc

    return torch._dynamo.exc.TorchDynamoException


def saved_tensor_hooks() -> bool:
    """Whether saved tensors are handed to somebody, such as a checkpoint, who may count them again later."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


@contextmanager
def apart_from_hooks() -> Iterator[None]:
    """Whoever is handed saved tensors outside, such as a checkpoint, gets none of those that are saved inside."""
    if not saved_tensor_hooks():
        yield
        return
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        yield


def autocast_kind() -> tuple[Any, ...]:
    """What autocast does at this moment, to tell calls apart; empty where it is off."""
    if not autocast_enabled():
        return ()
    return tuple((kind, torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind))


def in_saved_tensor_hook() -> bool:
    """Whether a frame of the caller's stack is the function that somebody is handed saved tensors by."""
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    codes = {getattr(hook, "__code__", None) for hook in hooks or ()} - {None}
    frame = sys._getframe(1) if codes else None
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


_HOOKS = (
    "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_backward_hooks", "_backward_pre_hooks",
)  # fmt: skip


def share_hooks(old: torch.nn.Module, new: torch.nn.Module) -> None:
    """Let the hooks of one module be those of another, too, beside its own; their handles remove them from both."""
    for name in _HOOKS:
        hooks = getattr(old, name)
        hooks.update(getattr(new, name))
        setattr(new, name, hooks)
    if old._is_full_backward_hook is not None:
        new._is_full_backward_hook = old._is_full_backward_hook


def compiler_front_loaded() -> bool:
    """Whether what tracing imports, which takes seconds, is loaded already."""
    return "torch._dynamo.source" in sys.modules


def load_compiler_front() -> None:
    """Import what tracing needs."""
    import torch._dynamo.source
    import torch.fx.experimental.symbolic_shapes  # noqa: F401 - to have it loaded


def cxx11_abi() -> bool:
    """Whether PyTorch's own libraries were built with the new names of C++'s strings."""
    return bool(torch._C._GLIBCXX_USE_CXX11_ABI)


_PLAIN = (torch.Tensor, torch.nn.Parameter)
