"""The learner `some-grow`: a pool that grows with the stream. It sees no task labels and stores no text; when
the loss says that the text is new, it adds an expert, and trains that one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import nn

from somelab.adapt.continual.base import Learner
from somelab.adapt.reading.mode import nats_of
from somelab.adapt.reading.score import Score
from somelab.data.batch import Batch
from somelab.model import Decoder
from somelab.model.growth import GrownPool, GrowthSettings, Novelty
from somelab.training.padding import attended_documents


class Growing(Learner):
    """A frozen model with a pool that grows: an expert is added when text is new, trained by gradient, and
    frozen when other text follows; keys without gradients select among the experts.

    No labels, no stored text."""

    settings = GrowthSettings(rank=256, head_rank=256)
    """Whole matrices in attention and head: with a few dozen steps per kind of text, low ranks learn less."""
    novelty = 0.5
    """Nats per token above the expected loss at which a batch counts as new."""
    patience = 3
    """Such batches in a row that begin a generation. Nothing is trained on them before that: they might be
    the first of another text."""
    scheduled = False
    """Whether every call of `learn` begins a new generation, instead of novelty: for streams whose parts are
    known."""
    warmup = 4
    """Steps over which the rate of a new generation rises; it is constant afterwards, since nobody knows how
    long a part of a stream is."""

    def __init__(
        self, model: Decoder, learning_rate: float, seed: int, pool: GrownPool | None = None
    ) -> None:
        """`pool`: one that is attached to the model already; None: a new one."""
        super().__init__(model, learning_rate, seed)
        self.rate_now = learning_rate
        self.pool = GrownPool.attach(model, settings=self.settings, seed=seed) if pool is None else pool
        self.watch = Novelty(self.novelty, patience=self.patience)
        self.step = 0
        """Of the newest generation."""
        self._has_begun = False

    def begin(self, num_steps: int) -> None:
        """Not used: a stream has no borders, so that the rate cannot depend on where an experience ends."""

    def rate(self) -> float:
        return self.rate_now

    def chosen(self) -> list[nn.Parameter]:
        return []

    @property
    def num_trainable(self) -> int:
        return sum(record.num_parameters for record in self.pool.generations)

    def learn(self, batches: Iterable[Batch]) -> Iterator[Score]:
        # A model that has learned nothing yet, not even a base's text, cannot know what is new.
        is_due = self.scheduled or not self._has_begun
        self._has_begun = True
        for batch in batches:
            batch = batch.to(self.device)
            score = self._scored(batch)
            yield score
            shares = self.shares(batch)
            if is_due or (self.watch.see_(score.loss, shares) and not self.scheduled):
                is_due = False
                self.grow_(batch)
                self.watch.begin_(self.pool.names[-1], score.loss)
            elif not self.scheduled and (self.watch.num_novel or not self._serves(shares)):
                continue  # text that may be new, or that is known already
            self.train_(batch, self.learning_rate * min(1.0, (self.step + 1) / self.warmup))

    def _serves(self, shares: dict[str, float]) -> bool:
        """Whether the newest generation has a share in a batch, and goes on learning from it."""
        return bool(self.pool.generations) and self.pool.names[-1] in self.watch.serving(shares)

    def grow_(self, batch: Batch, num: int = 1, name: str | None = None) -> None:
        """A new generation, as a copy of the expert that serves the batch best."""
        self.pool.grow_(num, name=name, start_from=self.best_for(batch))
        self.open_()

    def open_(self) -> None:
        """Begin to train the newest generation."""
        self.parameters, self.step = self.pool.open_parameters(), 0
        self.optimizer = self.optimizer_of(self.parameters)

    def best_for(self, batch: Batch) -> str:
        """The expert with the lowest loss on a batch."""
        losses: dict[str, float] = {}
        for name in self.pool.names:
            with self.pool.only(name):
                losses[name] = self._scored(batch).loss
        return min(losses, key=lambda name: losses[name])

    @property
    def num_grown(self) -> int:
        return len(self.pool.generations)

    def shares(self, batch: Batch) -> dict[str, float]:
        """How much of a batch each expert serves."""
        gates_BTE = self.pool.gates(batch.tokens_BT, attended_documents(batch, padding_in_loss=False))
        return dict(zip(self.pool.names, gates_BTE[batch.counted_BT].mean(0).tolist(), strict=True))

    def train_(self, batch: Batch, rate: float) -> float:
        """One step of the newest generation, whose keys are attracted to the batch first. Returns the loss
        before the step."""
        assert self.optimizer is not None
        self.read_(batch)
        self.rate_now = rate
        # In evaluation mode: the model's own keys must not collect statistics, and nothing of it moves.
        self.model.eval()
        with self.pool.only(self.pool.generations[-1].name):
            nats = self.step_(batch)
        return nats / max(1, batch.num_counted)

    def read_(self, batch: Batch) -> None:
        """Attract the newest keys. Several new ones begin at documents of high loss."""
        newest = self.pool.generations[-1] if self.pool.generations else None
        begins = newest is not None and newest.num_experts > 1 and not newest.num_tokens
        nats_BT = nats_of(self.model, batch, self.dtype) if begins else None
        documents_BT = attended_documents(batch, padding_in_loss=False)
        self.pool.read_(batch.tokens_BT, documents_BT, batch.meaning_BT, nats_BT)

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """The first experience was learned before the stream began: the base's key is set by it. Later ends
        are not used, since a stream has none."""
        if self._has_begun:
            return
        self._has_begun = True
        for batch in batches():
            batch = batch.to(self.device)
            self.read_(batch)
            self.watch.see_(self._scored(batch).loss, self.shares(batch))

    def facts(self) -> dict[str, Any]:
        return {
            "num_trainable": self.num_trainable,
            "num_generations": self.num_grown,
            "parameters_added": self.num_trainable,
            "bytes_added": sum(record.num_bytes for record in self.pool.generations),
            "generations": [record.content() for record in self.pool.generations],
        }
