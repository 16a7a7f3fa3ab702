"""Plain autograd, and what can be wrapped around it."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from pullback._torch import forward_ad
from pullback.check.stacks.module import Layer
from pullback.check.stacks.table import Setting, contracted, outputs, pulled, same, stack

Found = list[torch.Tensor]
AUTOGRAD, MEMORY, OBJECTS = "Autograd", "Memory and precision", "Objects, processes, threads"


def gradient(fn: Any, s: Setting) -> Found:
    """The gradient of ``fn`` in the place of the setting's function."""
    leaves = s.leaves()
    return pulled(s.loss_of(fn)(*leaves), leaves)


stack("eager", AUTOGRAD)(lambda s: gradient(s.fn, s))
stack("eager, backward()", AUTOGRAD)(lambda s: _accumulated(s, s.fn))


@stack("no_grad", AUTOGRAD, gives="values")
def _(s: Setting) -> Found:
    with torch.no_grad():
        return _without_node(s)


@stack("inference_mode", AUTOGRAD, gives="values")
def _(s: Setting) -> Found:
    with torch.inference_mode():
        return [t.clone() for t in _without_node(s)]


def _without_node(s: Setting) -> Found:
    with saved_tensors_hooks(_refuse, _refuse):
        found = list(outputs(s.fn(*s.leaves())))
    if any(isinstance(t.grad_fn, torch.autograd.function.BackwardCFunction) for t in found):
        raise AssertionError("a node was made where no gradient can be asked for")
    return found


def _refuse(tensor: torch.Tensor) -> torch.Tensor:
    raise AssertionError("a tensor was kept where no gradient can be asked for")


@stack("frozen arguments", AUTOGRAD)
def _(s: Setting) -> Found:
    found = []
    for i in s.every():
        leaves = [t.detach().clone().requires_grad_(i == j) for j, t in enumerate(s.tensors)]
        found += pulled(s.loss(*leaves), [leaves[i]])
    return found


@stack("the same tensor given twice", AUTOGRAD, gives="summed gradient")
def _(s: Setting) -> Found:
    leaf = s.tensors[0].detach().clone().requires_grad_()
    return pulled(s.loss(*[leaf if t is s.tensors[0] else t for t in same(s).tensors]), [leaf])


@stack("retain_graph, backward twice", AUTOGRAD)
def _(s: Setting) -> Found:
    leaves = s.leaves()
    loss = s.loss(*leaves)
    pulled(loss, leaves, retain_graph=True)
    return pulled(loss, leaves)


@stack("two interleaved calls", AUTOGRAD)
def _(s: Setting) -> Found:
    leaves, others = s.leaves(), [(2 * t).detach().requires_grad_() for t in s.tensors]
    loss, other = s.loss(*leaves), s.loss(*others)
    found = pulled(loss, leaves)
    pulled(other, others)
    return found


@stack("is_grads_batched", AUTOGRAD)
def _(s: Setting) -> Found:
    leaves = s.leaves()
    pairs = [(o, g) for o, g in zip(outputs(s.fn(*leaves)), s.cotangents, strict=True) if o.requires_grad]
    outs, gs = zip(*pairs, strict=True)
    batched = [torch.stack([2 * g, g]) for g in gs]
    rows = torch.autograd.grad(outs, leaves, batched, is_grads_batched=True, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g[1] for t, g in zip(leaves, rows, strict=True)]


@stack("create_graph, second order", AUTOGRAD, gives="second")
def _(s: Setting) -> Found:
    return again(s.fn, s)


def again(fn: Any, s: Setting) -> Found:
    """The second derivative of ``fn`` by double backward."""
    leaves = s.leaves()
    once = pulled(s.loss_of(fn)(*leaves), leaves, create_graph=True)
    return pulled(contracted(once, s.directions), leaves)


@stack("create_graph, third order", AUTOGRAD, gives="third")
def _(s: Setting) -> Found:
    leaves = s.leaves()
    found = pulled(s.loss(*leaves), leaves, create_graph=True)
    found = pulled(contracted(found, s.directions), leaves, create_graph=True)
    return pulled(contracted(found, s.directions), leaves)


@stack("forward_ad", AUTOGRAD, gives="tangent")
def _(s: Setting) -> Found:
    return [tangent(s, i, lambda ts: s.loss(*ts)) for i in s.every()]


@stack("forward_ad over backward", AUTOGRAD, gives="second tangent")
def _(s: Setting) -> Found:
    def once(tensors: Found) -> torch.Tensor:
        leaves = [t if t.requires_grad else t.requires_grad_() for t in tensors]
        return contracted(pulled(s.loss(*leaves), leaves, create_graph=True), s.directions)

    return [tangent(s, i, once) for i in s.every()]


def tangent(s: Setting, which: int, fn: Any) -> torch.Tensor:
    """The tangent of a number when one tensor moves in its direction."""
    with forward_ad.dual_level():
        leaves = [t.detach().clone() for t in s.tensors]
        leaves[which] = forward_ad.make_dual(leaves[which], s.directions[which])
        found = forward_ad.unpack_dual(fn(leaves)).tangent
    return torch.zeros((), dtype=s.tensors[0].real.dtype) if found is None else found.detach()


# ---- memory and precision

stack("checkpoint", MEMORY)(lambda s: gradient(partial(checkpoint, s.fn, use_reentrant=False), s))
stack("checkpoint, second order", MEMORY, gives="second")(
    lambda s: again(partial(checkpoint, s.fn, use_reentrant=False), s)
)
stack("checkpoint, reentrant", MEMORY)(lambda s: _accumulated(s, partial(checkpoint, s.fn, use_reentrant=True)))
for _name, _policy in (("keep", CheckpointPolicy.MUST_SAVE), ("recompute", CheckpointPolicy.MUST_RECOMPUTE)):
    stack(f"selective checkpoint, {_name} all", MEMORY)(lambda s, policy=_policy: gradient(_selective(s.fn, policy), s))
stack("saved_tensors_hooks", MEMORY)(lambda s: _with(saved_tensors_hooks(lambda t: t.clone(), lambda t: t.clone()), s))
stack("save_on_cpu", MEMORY)(lambda s: _with(save_on_cpu(), s))
stack("autocast, CPU bfloat16", MEMORY)(lambda s: _with(torch.autocast("cpu", torch.bfloat16), s))


def _selective(fn: Any, policy: CheckpointPolicy) -> Any:
    contexts = partial(create_selective_checkpoint_contexts, lambda ctx, op, *args, **kwargs: policy)
    return partial(checkpoint, fn, use_reentrant=False, context_fn=contexts)


def _with(context: Any, s: Setting) -> Found:
    leaves = s.leaves()
    with context:
        loss = s.loss(*leaves)
    return pulled(loss, leaves)


def _accumulated(s: Setting, fn: Any) -> Found:
    leaves = s.leaves()
    loss = s.loss_of(fn)(*leaves)
    if loss.requires_grad:
        loss.backward()
    return [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves]


# ---- objects, threads

stack("a copied module", OBJECTS)(lambda s: gradient(_copied(s, copy.deepcopy), s))
stack("a pickled module", OBJECTS)(lambda s: gradient(_copied(s, lambda m: pickle.loads(pickle.dumps(m))), s))


def _copied(s: Setting, change: Any) -> Any:
    module = change(Layer(s))
    return lambda x, *parameters: torch.func.functional_call(module, module.named(parameters), (x,))


@stack("several threads", OBJECTS)
def _(s: Setting) -> Found:
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: gradient(s.fn, s), range(8)))
    for row in rows[1:]:
        torch.testing.assert_close(row, rows[0], rtol=0, atol=0, equal_nan=True)
    return rows[0]


@stack("replicas in threads, as in DataParallel", OBJECTS)
def _(s: Setting) -> Found:
    module, x = Layer(s), s.tensors[0].detach().clone().requires_grad_()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda m: m(x), [_replica(module), _replica(module)])
    loss = s.loss_of(lambda: first)() / 2 + s.loss_of(lambda: second)() / 2
    return pulled(loss, [x, *module.parameters()])


def _replica(module: Layer) -> Layer:
    """A module whose parameters are copies that lead back to the original's."""
    replica = copy.copy(module)
    replica.replaced = [p.clone() for p in module.parameters()]
    return replica
