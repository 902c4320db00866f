"""Optimizer steps of a configuration without a run folder, with and without gravity, to measure its cost."""

from __future__ import annotations

import math
import time

import torch
from torch import nn

from somelab.config import Config
from somelab.data.batches import Loader
from somelab.data.prepare import prepare
from somelab.model import Decoder
from somelab.training.loop import TrainingLoss, micro_rows
from somelab.training.machine.precision import autocast, resolve
from somelab.training.optimizer import build_optimizer


class Stepper:
    """Trains on one batch repeatedly, for timing only."""

    def __init__(self, config: Config) -> None:
        self.device = torch.device("cpu")
        self.model = Decoder(config).train()
        self.loss = TrainingLoss(self.model)
        self.optimizer = build_optimizer(self.model, config.train)
        self.dtype = resolve(config.train.precision, self.device)
        self.clip = config.train.clip or math.inf
        whole = next(iter(Loader(prepare(config), config)))
        self.num_tokens, self.batches = (
            max(1, whole.num_counted_global),
            whole.micro_batches(micro_rows(config, 1)),
        )
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def cpu_seconds(self, *, gravity: bool) -> float:
        """One step. Without gravity nothing is collected and no key moves, as in a step in which the rules
        are not due."""
        for layer in self.model.some_layers():
            layer.collects = gravity
        started = time.process_time()
        for batch in self.batches:
            with autocast(self.dtype, self.device):
                nats, aux_loss = self.loss(batch)
                (nats / self.num_tokens + aux_loss).backward()
        nn.utils.clip_grad_norm_(self.trained, self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if gravity:
            self.model.apply_gravity_()
        return time.process_time() - started
