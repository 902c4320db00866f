"""What all learners of a stream share. They read the same batches once, score a batch before they learn from
it, and train on equally many tokens. Shape letters: B sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from somelab.adapt.reading.chunks import rows_of
from somelab.adapt.reading.mode import nats_of, passes, score_of
from somelab.adapt.reading.score import Score, total
from somelab.data.batch import Batch
from somelab.model import Decoder
from somelab.model.loss import next_token_loss
from somelab.training.machine.precision import autocast, resolve
from somelab.training.optimizer import set_learning_rate_
from somelab.training.padding import attended_documents

WARM_UP = 0.1


class Learner:
    """Trains all trained weights by gradient, while gravity moves the keys; the other learners change a part
    of this."""

    feed_forward = "some"
    """The kind of its base."""
    has_rate = True
    """Whether it has a learning rate, which a study can tune."""
    scoring = True
    """Whether `learn` scores a batch before learning from it. A tuning run, which has no use for it, does
    not."""
    needs_base = False
    """Whether it cannot start from scratch."""

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        self.model, self.seed = model, seed
        self.device = next(model.parameters()).device
        self.dtype = resolve(model.config.train.precision, self.device)
        self.parameters = self.chosen()
        for parameter in model.parameters():
            parameter.requires_grad_(any(parameter is other for other in self.parameters))
        self.learning_rate = learning_rate
        self.num_steps, self.step = 0, 0
        self.optimizer: torch.optim.Optimizer | None = self.optimizer_of(self.parameters)

    def optimizer_of(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer | None:
        """AdamW at the learner's rate; None where nothing is trained."""
        if not parameters:
            return None
        return torch.optim.AdamW(parameters, lr=self.learning_rate, betas=(0.9, 0.95), weight_decay=0.0)

    def chosen(self) -> list[nn.Parameter]:
        """What the gradient may move."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @property
    def num_trainable(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters)

    def tell(self, experience: int) -> None:
        """The number of the experience that is read or evaluated next. For learners with oracle labels; all
        others must not use it."""

    def begin(self, num_steps: int) -> None:
        """Called before an experience is learned, with its number of steps: the learning rate rises for a
        tenth of them and falls to zero along a cosine. Never called: the rate is constant."""
        self.num_steps, self.step = num_steps, 0

    def learn(self, batches: Iterable[Batch]) -> Iterator[Score]:
        """Learn an experience; returns the loss of each batch before learning from it."""
        for batch in batches:
            batch = batch.to(self.device)
            self.model.eval()
            yield self._scored(batch) if self.scoring else Score()
            self.model.train()
            self.step_(self.taught(batch))
            self.model.apply_gravity_()
        self.model.eval()

    def taught(self, batch: Batch) -> Batch:
        """The batch that a step trains on."""
        return batch

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """Called at the end of an experience, whose text can be read once more."""

    def measure(self, batches: Iterable[Batch], max_tokens: int | None = None) -> Score:
        self.model.eval()
        found = Score()
        for batch in batches:
            found = found + self._scored(batch.to(self.device))
            if max_tokens is not None and found.num_tokens >= max_tokens:
                break
        return found

    def facts(self) -> dict[str, Any]:
        """Figures of the result. A learner that grows also has `generations` (a list of name, at_experience,
        at_token, parameters, bytes) and `served` (the share of each experience's tokens by expert)."""
        return {"num_trainable": self.num_trainable}

    @property
    def num_grown(self) -> int:
        """Generations of experts that were added so far."""
        return 0

    def shares(self, batch: Batch) -> dict[str, float]:
        """What share of a batch's tokens each expert serves, by name; empty for learners that do not
        grow."""
        return {}

    @property
    def stored_bytes(self) -> int:
        """What has to be kept after the stream beside the model: text, importance of weights."""
        return 0

    def _scored(self, batch: Batch) -> Score:
        return total(score_of(nats_of(self.model, part, self.dtype), part) for part in passes(batch))

    def rate(self) -> float:
        """The learning rate of the next step."""
        return self.learning_rate * rate_share(self.step, self.num_steps)

    def step_(self, batch: Batch) -> float:
        """One step of the optimizer; returns the nats of the batch before it."""
        assert self.optimizer is not None
        set_learning_rate_(self.optimizer, self.rate())
        self.step += 1
        found = 0.0
        for part in passes(batch):
            with torch.enable_grad(), autocast(self.dtype, self.device):
                nats = self._nats(part)
                (nats / max(1, batch.num_counted)).backward()
            found += float(nats.detach())
        self.penalise_()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return found

    def penalise_(self) -> None:
        """Add the learner's own term to the gradients."""

    def _nats(self, part: Batch) -> Tensor:
        output = self.model(
            part.tokens_BT,
            documents_BT=attended_documents(part, padding_in_loss=False),
            counted_BT=part.meaning_BT,
            token_index_BT=part.token_index_BT,
            hidden_only=True,
        )
        wants_error = self.model.wants_error
        loss = next_token_loss(
            self.model, output.hidden_BTD, part.targets_BT, part.counted_BT, with_error=wants_error
        )
        if loss.error_BTD is not None:
            self.model.credit_(loss.error_BTD)
        return loss.nats


def rate_share(step: int, num_steps: int) -> float:
    """The share of the peak rate at a step: a linear rise for a tenth of the steps, then a cosine to zero.

    >>> [round(rate_share(step, 20), 3) for step in (0, 1, 2, 11, 20)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    """
    if not num_steps:
        return 1.0
    warm_up = max(1, round(WARM_UP * num_steps))
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (num_steps - warm_up)))


def rows_in(batches: Iterable[Batch], num: int) -> Iterator[Batch]:
    """The first sequences of some batches, one by one."""
    for batch in batches:
        for row in range(len(batch.tokens_BT)):
            if num <= 0:
                return
            num -= 1
            yield rows_of(batch, row, row + 1)
