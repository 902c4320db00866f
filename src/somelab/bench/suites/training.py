"""Whole training steps of a decoder, with a given feed-forward block: what the trainer does in a step,
without its journals."""

from __future__ import annotations

import math

from torch import nn

from somelab.bench.notebook import NotebookLayer
from somelab.bench.settings import Settings
from somelab.config import Config, override
from somelab.data.batch import Batch
from somelab.model.decoder import Block, Decoder
from somelab.training.loop import TrainingLoss
from somelab.training.optimizer import build_optimizer

# The narrowest block that keeps the second branch, until the notebooks' layer replaces it.
PLACEHOLDER = {"model.feed_forward": "dense", "model.d_dense": 1}


class Stepper:
    """A model that can be trained, step by step, always from the same keys, so that timings do not depend on
    the number of steps."""

    def __init__(self, model: Decoder, config: Config, settings: Settings) -> None:
        self.model, self.config, self.settings = model.train(), config, settings
        self.loss = TrainingLoss(model)
        self.optimizer = build_optimizer(model, config.train)
        self.notebook_layers = [module for module in model.modules() if isinstance(module, NotebookLayer)]
        stores = [*(layer.keystore for layer in model.some_layers()), *self.notebook_layers]
        self._snapshots = [
            (store, {name: buffer.clone() for name, buffer in store.named_buffers()}) for store in stores
        ]

    def rewind_(self) -> None:
        """Keys and usage as they were at the start."""
        for store, snapshot in self._snapshots:
            for name, buffer in store.named_buffers(recurse=False):
                buffer.copy_(snapshot[name])

    def forward_backward_(self, batch: Batch, num_tokens: int) -> float:
        with self.settings.autocast():
            nats, aux_loss = self.loss(batch)
            loss = nats / num_tokens + aux_loss
        loss.backward()
        return float(loss.detach())

    def finish_(self) -> None:
        """Clip, AdamW, gravity."""
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        nn.utils.clip_grad_norm_(trained, self.config.train.clip or math.inf)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.model.apply_gravity_()
        for layer in self.notebook_layers:
            layer.move_keys_()

    def step_(self, batches: list[Batch]) -> float:
        """One optimizer step over micro-batches; the mean loss."""
        num_tokens = max(1, sum(batch.num_counted for batch in batches))
        loss = sum(self.forward_backward_(batch, num_tokens) for batch in batches)
        self.finish_()
        return loss


def notebook_decoder(ours: Decoder) -> Decoder:
    """The same decoder with the notebooks' layers: the experts' memory is shared, everything else starts from
    the same values."""
    config = ours.config
    shell = Decoder(override(config, PLACEHOLDER), seed=ours.seed)
    for block, layer in zip(shell.blocks, ours.some_layers(), strict=True):
        assert isinstance(block, Block)
        block.feed_forward = NotebookLayer(layer)  # pyright: ignore[reportAttributeAccessIssue] the block takes any module
    return shell


def dense_decoder(ours: Decoder) -> Decoder:
    """The same decoder with a trained dense block of the active size."""
    return Decoder(override(ours.config, {"model.feed_forward": "dense"}), seed=ours.seed)
