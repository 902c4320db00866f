"""The learners: what each may change, and how. All read the same batches once, score a batch before learning
from it, and train on equally many tokens. Shape letters: B sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from somelab.adapt.reading.chunks import joined, rows_of
from somelab.adapt.reading.mode import Adaptation, nats_of, passes, score_of
from somelab.adapt.reading.score import Score, total
from somelab.adapt.settings import AdaptationSettings
from somelab.core.seeding import generator
from somelab.data.batch import Batch
from somelab.model import Decoder
from somelab.model.loss import next_token_loss
from somelab.training.machine.precision import autocast, resolve
from somelab.training.padding import attended_documents

EWC_STRENGTH = 3000.0
EWC_SEQUENCES = 64
REPLAY_SEQUENCES = 512


class Learner:
    """Trains all trained weights by gradient, while gravity moves the keys; the other learners change a part
    of this."""

    feed_forward = "some"

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        self.model, self.seed = model, seed
        self.device = next(model.parameters()).device
        self.dtype = resolve(model.config.train.precision, self.device)
        self.parameters = self.chosen()
        for parameter in model.parameters():
            parameter.requires_grad_(any(parameter is other for other in self.parameters))
        self.optimizer: torch.optim.Optimizer | None = None
        if self.parameters:
            self.optimizer = torch.optim.AdamW(
                self.parameters, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0
            )

    def chosen(self) -> list[nn.Parameter]:
        """What the gradient may move."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @property
    def num_trainable(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters)

    def learn(self, batches: Iterable[Batch]) -> Iterator[Score]:
        """Learn an experience; returns the loss of each batch before learning from it."""
        for batch in batches:
            batch = batch.to(self.device)
            self.model.eval()
            yield self._scored(batch)
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
        return {"num_trainable": self.num_trainable}

    def _scored(self, batch: Batch) -> Score:
        return total(score_of(nats_of(self.model, part, self.dtype), part) for part in passes(batch))

    def step_(self, batch: Batch) -> None:
        assert self.optimizer is not None
        for part in passes(batch):
            with torch.enable_grad(), autocast(self.dtype, self.device):
                (self._nats(part) / max(1, batch.num_counted)).backward()
        self.penalise_()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

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


class KeysAndQuery(Learner):
    """Keys by gravity, and the query network by gradient; nothing else."""

    def chosen(self) -> list[nn.Parameter]:
        return [parameter for layer in self.model.some_layers() for parameter in layer.router.parameters()]


class KeysOnly(Learner):
    """No gradient: the keys move by gravity, at the rate of training."""

    rules: tuple[str, ...] | None = None

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.adaptation = Adaptation(model, AdaptationSettings(rules=self.rules)).__enter__()

    def chosen(self) -> list[nn.Parameter]:
        return []

    def learn(self, batches: Iterable[Batch]) -> Iterator[Score]:
        return (reading.score for reading in self.adaptation.read(batches))

    def measure(self, batches: Iterable[Batch], max_tokens: int | None = None) -> Score:
        return self.adaptation.measure(batches, max_tokens)

    def facts(self) -> dict[str, Any]:
        return {
            "num_trainable": 0,
            "rules": list(self.adaptation.rules),
            "movement": self.adaptation.movement(),
        }


class KeysAndMemory(KeysOnly):
    """No gradient: each expert has counts of the words that followed its tokens, and the load bias keeps all
    experts in use."""

    rules = ("load_bias", "memory")


class Dense(Learner):
    """Fine-tuning of a dense model."""

    feed_forward = "dense"


class Consolidation(Dense):
    """Elastic weight consolidation: a penalty on changing weights that earlier experiences depend on.

    loss + strength / 2 * sum_k F_k (w_k - w*_k)^2, F the diagonal Fisher information, summed over
    experiences; w* the weights at the end of the last one."""

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.fisher = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.anchor = [parameter.detach().clone() for parameter in self.parameters]

    def penalise_(self) -> None:
        for parameter, fisher, anchor in zip(self.parameters, self.fisher, self.anchor, strict=True):
            assert parameter.grad is not None
            parameter.grad += EWC_STRENGTH * fisher * (parameter.detach() - anchor)

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """F += mean over sequences of the squared gradient of a sequence's mean loss."""
        num = 0
        sums = [torch.zeros_like(fisher) for fisher in self.fisher]
        for row in _rows(batches(), EWC_SEQUENCES):
            row = row.to(self.device)
            with torch.enable_grad(), autocast(self.dtype, self.device):
                (self._nats(row) / max(1, row.num_counted)).backward()
            for one, parameter in zip(sums, self.parameters, strict=True):
                if parameter.grad is not None:
                    one += parameter.grad.square()
                parameter.grad = None
            num += 1
        for fisher, one, anchor, parameter in zip(
            self.fisher, sums, self.anchor, self.parameters, strict=True
        ):
            fisher += one / max(1, num)
            anchor.copy_(parameter.detach())


class Replay(Dense):
    """A reservoir of sequences: every sequence of the stream has the same chance to be in it. Half of each
    step's sequences are drawn from it, in the place of new ones, so that tokens stay equal."""

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.reservoir: list[Batch] = []
        self.num_seen = 0
        self._random = generator(seed, "replay")

    def taught(self, batch: Batch) -> Batch:
        num_rows = len(batch.tokens_BT)
        num_old = min(num_rows // 2, len(self.reservoir))
        old = [self.reservoir[self._below(len(self.reservoir))] for _ in range(num_old)]
        fresh = [rows_of(batch, row, row + 1) for row in range(num_rows)]
        for row in fresh:
            self.keep_(row)
        return joined([*fresh[num_old:], *old])

    def keep_(self, row: Batch) -> None:
        """Reservoir sampling: the n-th sequence takes a random place with probability size / n."""
        self.num_seen += 1
        if len(self.reservoir) < REPLAY_SEQUENCES:
            self.reservoir.append(row)
        elif (place := self._below(self.num_seen)) < REPLAY_SEQUENCES:
            self.reservoir[place] = row

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """The first experience was learned before the stream began, so its sequences are added here."""
        if not self.num_seen:
            for row in _rows(batches(), REPLAY_SEQUENCES):
                self.keep_(row.to(self.device))

    def _below(self, number: int) -> int:
        return int(torch.randint(number, (1,), generator=self._random))

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "reservoir_sequences": len(self.reservoir)}


class Joint(Dense):
    """All experiences mixed from the start: a bound for learners of a stream."""


LEARNERS: dict[str, type[Learner]] = {
    "some-keys": KeysOnly,
    "some-memory": KeysAndMemory,
    "some-keys+query": KeysAndQuery,
    "some-all": Learner,
    "dense": Dense,
    "dense-ewc": Consolidation,
    "dense-replay": Replay,
    "joint": Joint,
}


def _rows(batches: Iterable[Batch], num: int) -> Iterator[Batch]:
    for batch in batches:
        for row in range(len(batch.tokens_BT)):
            if num <= 0:
                return
            num -= 1
            yield rows_of(batch, row, row + 1)
