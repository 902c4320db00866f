"""Move the keys of all SoME layers of a model after each step of an optimizer, in a training loop of any
kind.

A hook on the optimizer does it, so it follows accumulation by itself, and under DDP the statistics of all
ranks are summed first. Credit and the auxiliary loss need no hook here: the layers handle them in
backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast
from weakref import WeakSet

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from somelab.core.keystore import GravityReport
from somelab.core.layer import SomeLayer, apply_gravity_
from somelab.errors import ConfigError

_ATTACHED: WeakSet[SomeLayer] = WeakSet()
"""Layers whose keys an optimizer's steps move: a copy of a model is not among them."""


class WrapsOptimizer(Protocol):
    """An optimizer around another one, as `accelerate.Accelerator.prepare` returns it."""

    optimizer: Optimizer


class Attachment:
    """What `attach` returns: the layers, what the last step did, and a way to end it."""

    def __init__(
        self, layers: Sequence[SomeLayer], num_steps: int | None, group: dist.ProcessGroup | None
    ) -> None:
        self.layers = list(layers)
        self.num_steps = num_steps
        self.group = group
        self.reports: list[GravityReport | None] = [None] * len(self.layers)
        """Of the last step, a report per layer: how far keys moved, which were respawned. None if the rules
        were not due."""
        self._handle: RemovableHandle | None = None

    @property
    def step(self) -> int:
        """Optimizer steps so far, those before a checkpoint was loaded included."""
        return max(layer.keystore.step for layer in self.layers)

    def step_(self) -> None:
        """The hook: move the keys, then set the progress of training in the layers."""
        self.reports = apply_gravity_(self.layers, self.group)
        self._set_progress_()

    def _after_step(self, optimizer: Optimizer, arguments: Any, options: Any) -> None:
        self.step_()

    def _set_progress_(self) -> None:
        step = self.step
        for layer in self.layers:
            layer.set_progress_(step, self.num_steps or step + 1)

    def attach_(self, optimizer: Optimizer) -> Attachment:
        for layer in self.layers:
            layer.is_driven = True
        _ATTACHED.update(self.layers)
        self._set_progress_()
        self._handle = optimizer.register_step_post_hook(self._after_step)
        return self

    def detach(self) -> None:
        """Stop moving the keys."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
            _ATTACHED.difference_update(self.layers)


def attach(
    model: nn.Module,
    optimizer: Optimizer | WrapsOptimizer,
    *,
    num_steps: int | None = None,
    accumulation: int = 1,
    group: dist.ProcessGroup | None = None,
) -> Attachment:
    """From now on, each step of the optimizer is followed by a step of the rules in every SoME layer of the
    model.

    `num_steps`: optimizer steps of the whole training, which annealing and warm-ups follow. `accumulation`:
    micro-batches in a step, if the loss is divided by them; the auxiliary loss then is, too. `group`: the
    ranks to sum over.

    Call it once, before the loop; with DDP before or after wrapping. After a checkpoint is loaded, it
    continues there."""
    layers = [module for module in model.modules() if isinstance(module, SomeLayer)]
    if not layers:
        raise ConfigError(
            "model", type(model).__name__, "has no SomeLayer", "add one, or somelab.graft(model, ...) first"
        )
    if driven := _ATTACHED.intersection(layers):
        problem = f"{len(driven)} of its layers are attached already, and their keys would move twice a step"
        raise ConfigError(
            "model", type(model).__name__, problem, "call attach once; .detach() ends an attachment"
        )
    if accumulation < 1:
        raise ConfigError("accumulation", accumulation, "is not a number of micro-batches", "give 1 or more")
    if num_steps is None and (annealed := _annealed(layers)):
        raise ConfigError(
            "num_steps", None, f"{annealed} changes over the run", "give the number of optimizer steps"
        )
    for layer in layers:
        layer.aux_scale = 1 / accumulation
    _keep_from_ddp_(model)
    return Attachment(layers, num_steps, group).attach_(_innermost(optimizer))


def _innermost(optimizer: Optimizer | WrapsOptimizer) -> Optimizer:
    """The inner optimizer: a wrapper may skip steps while it accumulates."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = inner
    if not isinstance(optimizer, Optimizer):
        raise ConfigError(
            "optimizer", type(optimizer).__name__, "is no torch optimizer", "give the one whose step() trains"
        )
    return optimizer


def _annealed(layers: Sequence[SomeLayer]) -> str:
    """A setting that depends on the progress of training, or an empty string."""
    for layer in layers:
        gravity, router = layer.keystore.config, layer.router.config
        if gravity.credit and gravity.credit_final is not None:
            return "gravity.credit"
        if gravity.beta_final is not None:
            return "gravity.beta"
        if router.top_k_warmup or router.top_k_ramp:
            return "router.top_k_warmup"
    return ""


def _keep_from_ddp_(model: nn.Module) -> None:
    """Take the layers' buffers out of DDP's own synchronization, which would overwrite each rank's
    statistics.

    Keys do not need it: every rank moves them by the same sums."""
    for wrapper in (module for module in model.modules() if isinstance(module, DistributedDataParallel)):
        ignored = cast("set[str]", wrapper.parameters_to_ignore)
        ignored.update(_buffers(wrapper.module))
        wrapper._assign_modules_buffers()  # pyright: ignore[reportPrivateUsage]
    # For a model that is wrapped later, as trainers do.
    known: Any = getattr(model, "_ddp_params_and_buffers_to_ignore", ())
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(  # pyright: ignore[reportPrivateUsage]
        model, {*known, *_buffers(model)}
    )


def _buffers(model: nn.Module) -> list[str]:
    return [
        f"{path}.{name}" if path else name
        for path, module in model.named_modules()
        if isinstance(module, SomeLayer)
        for name, _ in module.named_buffers()
    ]
