"""The stream: experiences in order, each a source of text, all encoded by the tokenizer of the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from somelab.adapt.reading.chunks import joined, rows_of
from somelab.config import Config
from somelab.data.batch import Batch
from somelab.data.batches import EvaluationLoader, Loader
from somelab.data.corpus import KINDS
from somelab.data.prepare import PreparedData, Progress, prepare, prepare_with
from somelab.data.tokenizer import Tokenizer
from somelab.errors import ConfigError, nearest
from somelab.training.evaluate import validation


@dataclass(frozen=True)
class Experience:
    """One kind of text, with its own training and validation part."""

    name: str
    config: Config
    data: PreparedData

    def batches(self, seed: int, num: int) -> Iterator[Batch]:
        """Training batches, in an order that depends on the random seed."""
        return islice(iter(Loader(self.data, self.config, seed=seed)), num)

    def validation(self) -> EvaluationLoader:
        return validation(self.data, self.config)


def names_of(words: Sequence[str]) -> list[tuple[str, str]]:
    """(name, source) of each experience: `builtin` means all its kinds, `builtin:a,b` for those, else a file
    each."""
    if not words:
        raise ConfigError("STREAM", "", "names no text", "give builtin, or two or more files")
    if len(words) == 1 and words[0].partition(":")[0] == "builtin":
        asked = (
            [kind.strip() for kind in words[0].partition(":")[2].split(",")]
            if ":" in words[0]
            else list(KINDS)
        )
        for kind in asked:
            if kind not in KINDS:
                raise ConfigError("STREAM", kind, "is no kind of built-in document", nearest(kind, KINDS))
        found = [(kind, f"builtin:{kind}") for kind in asked]
    else:
        found = [(Path(word).stem, word) for word in words]
    if len(found) < 2:
        raise ConfigError(
            "STREAM", " ".join(words), "is one experience only", "give two or more files, or builtin"
        )
    if len({name for name, _ in found}) < len(found):
        raise ConfigError("STREAM", " ".join(words), "names an experience twice", "give each another name")
    return found


def open_stream(
    named: Sequence[tuple[str, str]], config: Config, progress: Progress | None = None
) -> list[Experience]:
    """The experiences, prepared. The tokenizer is trained on the first alone."""
    experiences: list[Experience] = []
    tokenizer: Tokenizer | None = None
    for name, source in named:
        own = config.model_copy(update={"data": config.data.model_copy(update={"source": source})})
        data = (
            prepare(own, progress=progress)
            if tokenizer is None
            else prepare_with(tokenizer, own, progress=progress)
        )
        tokenizer = data.tokenizer
        experiences.append(Experience(name, own, data))
    return experiences


def mixed(experiences: Sequence[Experience], seed: int, num: int) -> Iterator[Batch]:
    """Batches whose sequences come from all experiences in turn, for joint training."""
    rows = [_rows(experience, seed) for experience in experiences]
    batch_size = experiences[0].config.train.batch_size
    for step in range(num):
        yield joined([next(rows[(step * batch_size + row) % len(rows)]) for row in range(batch_size)])


def _rows(experience: Experience, seed: int) -> Iterator[Batch]:
    for batch in Loader(experience.data, experience.config, seed=seed):
        for row in range(len(batch.tokens_BT)):
            yield rows_of(batch, row, row + 1)
