"""Routing of the validation text by a checkpoint: the experts of each token in each layer, and the word of
the token.

Shape letters: B texts, T tokens of one text, N tokens in all, L routed layers, K experts per token, E
experts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from somelab.analysis.labels import BUILTIN_NOTE, LabelSource, best_labeller, builtin_spans
from somelab.analysis.words import Span, words_of_tokens
from somelab.config import Config, override
from somelab.data import corpus
from somelab.data.sources import BUILTIN_SEEDS, BUILTIN_SIZES, open_source
from somelab.data.tokenizer import PAD_ID
from somelab.errors import SomelabError
from somelab.model import Decoder
from somelab.runs.packing import reads_of
from somelab.runs.trained import TrainedModel

BATCH_TOKENS = 4096
"""Tokens of one forward pass."""


class ReadingError(SomelabError):
    """A text that cannot be used, or that is not the run's."""


@dataclass(frozen=True)
class Text:
    """One document as tokens, cut to the model's length, and the word of each."""

    tokens: list[int]
    spans: list[Span]
    owners: list[int | None]
    """Number of each token's word in `spans`."""


@dataclass(frozen=True)
class Reading:
    """Everything that was read, end to end."""

    texts: list[Text]
    layers: list[int]
    """Numbers of the blocks that route."""
    num_experts: int
    document_N: NDArray[np.int32]
    experts_LNK: NDArray[np.int32]
    """The strongest first."""
    gates_LNK: NDArray[np.float32]
    words: list[str | None]
    """Of each token, in small letters; None for white space."""
    classes: list[str | None]
    """Of each token."""
    roles: list[str | None]
    """Of each token, where labels have them: the role of nouns, names and pronouns in their sentence."""
    ends_word_N: NDArray[np.bool_]
    """Tokens that are the last of their word."""
    labels: LabelSource
    labels_note: str
    step: int

    @property
    def num_tokens(self) -> int:
        return len(self.words)


def read_validation(
    trained: TrainedModel, max_tokens: int, progress: Callable[[str], None] | None = None
) -> Reading:
    """Read the first documents of the run's validation text, up to `max_tokens` tokens."""
    config, other = trained.config, reads_of(trained.run)
    if other is not None:
        config = override(config, {"data.source": other, "data.val_subset_size": None})
    source, note, documents = labelled_documents(config)
    if other is not None:
        note = f"{note}; the text that this run was trained on is not in its folder: it reads {other} instead"
    texts: list[Text] = []
    num_tokens = 0
    for text, label in documents:
        if not texts and other is None:
            _check_first(trained, text)
        tokens = trained.tokenizer.encode(text)[: min(trained.config.model.seq_len, max_tokens - num_tokens)]
        spans = label()
        texts.append(Text(tokens, spans, words_of_tokens(trained.tokenizer, tokens, spans)))
        num_tokens += len(tokens)
        if num_tokens >= max_tokens:
            break
    if not num_tokens:
        raise ReadingError(f"data.source = {trained.config.data.source!r}: has no validation text to read")
    if progress is not None:
        progress(f"reading {num_tokens:,} tokens of validation text")
    return reading_of(trained, texts, source, note)


def labelled_documents(
    config: Config,
) -> tuple[LabelSource, str, Iterator[tuple[str, Callable[[], list[Span]]]]]:
    """The labeller, its note on quality, and the validation documents, each with a function that labels
    it."""
    word = config.data.source.strip()
    name, _, kinds = word.partition(":")
    if name == "builtin":
        chosen = [kind.strip() for kind in kinds.split(",")] if kinds else None
        written = islice(
            corpus.documents(BUILTIN_SEEDS["val"], chosen),
            config.data.val_subset_size or BUILTIN_SIZES["val"],
        )
        return (
            "builtin",
            BUILTIN_NOTE,
            ((made.text, lambda made=made: builtin_spans(made)) for made in written),
        )
    labeller = best_labeller()
    read = open_source(config.data).val()
    return labeller.source, labeller.note, ((text, lambda text=text: labeller.label(text)) for text in read)


def reading_of(trained: TrainedModel, texts: Sequence[Text], labels: LabelSource, note: str) -> Reading:
    """The routing of these texts."""
    texts = [text for text in texts if text.tokens]
    layers, experts_LNK, gates_LNK = route(trained.model, [text.tokens for text in texts])
    owners = [(text.spans[owner] if owner is not None else None) for text in texts for owner in text.owners]
    ends = [
        owner is not None and (place + 1 == len(text.owners) or text.owners[place + 1] != owner)
        for text in texts
        for place, owner in enumerate(text.owners)
    ]
    return Reading(
        texts=list(texts),
        layers=layers,
        num_experts=trained.config.experts.num_experts,
        document_N=np.repeat(np.arange(len(texts), dtype=np.int32), [len(text.tokens) for text in texts]),
        experts_LNK=experts_LNK,
        gates_LNK=gates_LNK,
        words=[owner.text.lower() if owner else None for owner in owners],
        classes=[owner.word_class if owner else None for owner in owners],
        roles=[owner.role if owner else None for owner in owners],
        ends_word_N=np.array(ends, dtype=np.bool_),
        labels=labels,
        labels_note=note,
        step=trained.state.step,
    )


@torch.no_grad()
def route(model: Decoder, texts: Sequence[Sequence[int]]) -> tuple[list[int], NDArray[Any], NDArray[Any]]:
    """Numbers of the routed layers, and experts and gates [L, N, K] of all texts end to end. The model is not
    changed."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    layers: list[int] = []
    experts: list[NDArray[Any]] = []
    gates: list[NDArray[Any]] = []
    try:
        for rows in _batches(texts) if model.config.model.causal else ([text] for text in texts):
            width = max(len(row) for row in rows)
            tokens_BT = torch.tensor([[*row, *[PAD_ID] * (width - len(row))] for row in rows], device=device)
            is_text_BT = torch.tensor([[t < len(row) for t in range(width)] for row in rows], device=device)
            routings = model(tokens_BT, hidden_only=True).routings
            chosen = [(layer, selection) for layer, selection in enumerate(routings) if selection is not None]
            if not chosen:
                raise ReadingError("this model has no routed layers")
            layers = [layer for layer, _ in chosen]
            kept = is_text_BT.reshape(-1)
            experts.append(
                torch.stack([selection.indices_TK[kept] for _, selection in chosen])
                .to(torch.int32)
                .cpu()
                .numpy()
            )
            gates.append(
                torch.stack([selection.gates_TK[kept] for _, selection in chosen]).float().cpu().numpy()
            )
    finally:
        model.train(was_training)
    return layers, *_strongest_first(np.concatenate(experts, axis=1), np.concatenate(gates, axis=1))


def _strongest_first(experts_LNK: NDArray[Any], gates_LNK: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    order_LNK = np.argsort(-gates_LNK, axis=2, kind="stable")
    return np.take_along_axis(experts_LNK, order_LNK, axis=2), np.take_along_axis(
        gates_LNK, order_LNK, axis=2
    )


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Texts in their order, a few at a time. Padding comes after a text, so causal attention ignores it."""
    batch: list[Sequence[int]] = []
    for text in texts:
        if batch and (len(batch) + 1) * max(len(text), *map(len, batch)) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _check_first(trained: TrainedModel, text: str) -> None:
    """The run's samples begin with its first validation document: if this one differs, the data have
    changed."""
    sample = next(iter(trained.run.records("samples")), None)
    if sample is not None and not text.startswith(str(sample.get("prompt", "")).rstrip("\ufffd")):
        source = trained.config.data.source
        raise ReadingError(
            f"data.source = {source!r}: its validation text is not the one that the run was trained with"
        )
