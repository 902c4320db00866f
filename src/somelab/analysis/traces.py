"""The experts of each token of a text in each layer: of generated samples, validation text, or a prompt typed
in.

Shape letters: L routed layers, N tokens of the text, K experts per token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from somelab.analysis.labels import lexicon_spans
from somelab.analysis.reading import Reading, ReadingError, route
from somelab.analysis.words import Span, words_of_tokens
from somelab.data.tokenizer import END_OF_TEXT_ID, Tokenizer
from somelab.errors import ConfigError
from somelab.model.generate import generate
from somelab.runs.trained import TrainedModel

VALIDATION_TOKENS = 160
MOST_SAMPLES = 4


@dataclass(frozen=True)
class TextTrace:
    """One text with its experts."""

    kind: str
    title: str
    step: int
    """The step at which the text was generated."""
    read_at_step: int
    """The checkpoint whose routing is shown."""
    num_prompt_tokens: int
    tokens: list[str]
    classes: list[str | None]
    layers: list[int]
    experts_LNK: NDArray[Any]
    gates_LNK: NDArray[Any]


def sample_traces(trained: TrainedModel, most: int = MOST_SAMPLES) -> list[TextTrace]:
    """The run's samples, evenly chosen over training and the last always, as routed by the given
    checkpoint."""
    records = [record for record in trained.run.records("samples") if record.get("tokens")]
    if not records:
        return []
    places = (
        sorted({round(i * (len(records) - 1) / max(1, most - 1)) for i in range(most)})
        if len(records) > 1
        else [0]
    )
    traces: list[TextTrace] = []
    for place in reversed(places):
        record = records[place]
        tokens = [int(token) for token in record["tokens"] if int(token) != END_OF_TEXT_ID]
        length = len(trained.tokenizer.encode(str(record.get("prompt", ""))))
        title = f"sample of step {record['step']:,}"
        traces.append(
            _trace(
                trained,
                tokens,
                kind="sample",
                title=title,
                step=int(record["step"]),
                num_prompt_tokens=length,
            )
        )
    return traces


def validation_traces(trained: TrainedModel, reading: Reading, most: int = 2) -> list[TextTrace]:
    """The beginnings of the first validation texts, with the labels that the reading has."""
    return [
        _trace(
            trained,
            text.tokens[:VALIDATION_TOKENS],
            kind="validation",
            title=f"validation text {number + 1}",
            step=trained.state.step,
            num_prompt_tokens=0,
            labelled=(text.spans, text.owners),
        )
        for number, text in enumerate(reading.texts[:most])
    ]


def prompt_trace(
    trained: TrainedModel,
    prompt: str,
    *,
    max_new_tokens: int = 60,
    temperature: float = 0.8,
    seed: int = 0,
    ends: Callable[[], bool] | None = None,
) -> TextTrace:
    """Continue a prompt and trace every token. `ends`: see `generate`."""
    tokens = trained.tokenizer.encode(prompt)
    if not tokens:
        raise ConfigError("prompt", prompt, "is empty", "give at least one character")
    made = generate(
        trained.model,
        tokens,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=40,
        seed=seed,
        stop_token=END_OF_TEXT_ID,
        ends=ends,
    )
    written = [token for token in made.tokens[0] if token != END_OF_TEXT_ID]
    step = trained.state.step
    return _trace(trained, written, kind="prompt", title=prompt, step=step, num_prompt_tokens=len(tokens))


def token_texts(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[str]:
    """The text of each token alone; one that is part of a character shows as U+FFFD."""
    return [tokenizer.bytes_of_token(token).decode("utf-8", errors="replace") for token in tokens]


def _trace(
    trained: TrainedModel,
    tokens: list[int],
    *,
    kind: str,
    title: str,
    step: int,
    num_prompt_tokens: int,
    labelled: tuple[list[Span], list[int | None]] | None = None,
) -> TextTrace:
    if not tokens:
        raise ReadingError(f"{title}: has no tokens")
    limit = trained.config.model.seq_len
    if len(tokens) > limit and trained.config.model.part("positions") not in ("rope", "alibi"):
        tokens = tokens[:limit]
    spans, owners = labelled or _lexicon_labels(trained.tokenizer, tokens)
    layers, experts_LNK, gates_LNK = route(trained.model, [tokens])
    return TextTrace(
        kind=kind,
        title=title,
        step=step,
        read_at_step=trained.state.step,
        num_prompt_tokens=num_prompt_tokens,
        tokens=token_texts(trained.tokenizer, tokens),
        classes=[spans[owner].word_class if owner is not None else None for owner in owners[: len(tokens)]],
        layers=layers,
        experts_LNK=experts_LNK,
        gates_LNK=gates_LNK,
    )


def _lexicon_labels(tokenizer: Tokenizer, tokens: Sequence[int]) -> tuple[list[Span], list[int | None]]:
    """Labels for unlabelled text. Text with cut characters no longer matches its bytes and stays
    unlabelled."""
    content = b"".join(tokenizer.bytes_of_token(token) for token in tokens)
    text = content.decode("utf-8", errors="replace")
    if text.encode() != content:
        return [], [None] * len(tokens)
    spans = lexicon_spans(text)
    return spans, words_of_tokens(tokenizer, tokens, spans)
