"""Learners of a SoME model: with its keys alone, with a word memory, with the query network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch import nn

from somelab.adapt.continual.base import Learner
from somelab.adapt.reading.mode import Adaptation
from somelab.adapt.reading.score import Score
from somelab.adapt.settings import AdaptationSettings
from somelab.data.batch import Batch
from somelab.model import Decoder


class KeysAndQuery(Learner):
    """Keys by gravity, and the query network by gradient; nothing else."""

    def chosen(self) -> list[nn.Parameter]:
        return [parameter for layer in self.model.some_layers() for parameter in layer.router.parameters()]


class KeysOnly(Learner):
    """No gradient: the keys move by gravity, at the rate of training."""

    rules: tuple[str, ...] | None = None
    has_rate = False

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
