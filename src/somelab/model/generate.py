"""Generation: process the prompts, then one token at a time, with or without a cache of keys and values.
Prompts of different lengths share a batch without left padding; a row's text does not depend on the other
rows.

Shape letters: B rows, T tokens, N tokens of one row, L layers, K experts per token, V vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import torch
from torch import Tensor

from somelab.core.seeding import generator
from somelab.errors import ConfigError, SomelabError
from somelab.model.decoder import Decoder, DecoderOutput, refuse_reading_ahead
from somelab.model.kv_cache import KeyValueCache

LEAST_TEMPERATURE = 1e-6
"""Logits of some hundreds divided by less approach the end of single precision; the draw is greedy long
before."""
MOST_TOKENS = 1_000_000
"""Of a prompt and what follows it. Memory for the keys and values of all is taken at once."""


class GenerationError(SomelabError):
    """A model that cannot generate."""


@dataclass(frozen=True)
class Trace:
    """The selected experts of each token of one row, prompt included, per layer."""

    experts_NLK: Tensor
    gates_NLK: Tensor


@dataclass(frozen=True)
class Generation:
    tokens: list[list[int]]
    """Per row the prompt and what follows it, a stop token included."""
    num_prompt_tokens: list[int]
    traces: list[Trace] | None = None
    """One per row if a trace was requested."""

    @property
    def continuations(self) -> list[list[int]]:
        return [row[start:] for row, start in zip(self.tokens, self.num_prompt_tokens)]


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn from the logits. Temperature 0 takes the likeliest."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ConfigError(
                "temperature",
                self.temperature,
                "is not a temperature",
                "choose 0 (greedy) or a positive number",
            )
        if 0 < self.temperature < LEAST_TEMPERATURE:
            raise ConfigError(
                "temperature",
                self.temperature,
                "is so small that logits divided by it overflow",
                f"choose 0 (greedy), or {LEAST_TEMPERATURE:g} and more",
            )
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(
                "top_k", self.top_k, "leaves no token to draw", "choose 1 or more, or leave it out"
            )
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(
                "top_p", self.top_p, "is not a share of the probability", "choose a value above 0 and up to 1"
            )

    def draw_rows(self, logits_BV: Tensor, rngs: Sequence[torch.Generator]) -> list[int]:
        """One token a row, each from its own stream. Greedy rows are taken together, with one
        synchronisation."""
        # The maximum of a row with NaN is NaN. Without this check a draw fails inside torch, and greedy rows
        # take any token.
        largest_B = logits_BV.amax(dim=-1).float() / (self.temperature or 1.0)
        if not largest_B.isfinite().all():
            raise GenerationError(
                "the model's logits are not finite: its weights hold NaN or infinity, or are too large; use "
                "an earlier checkpoint"
            )
        if self.temperature == 0:
            return logits_BV.argmax(dim=-1).tolist()
        return [self.draw(logits_V, rng) for logits_V, rng in zip(logits_BV, rngs)]

    def draw(self, logits_V: Tensor, rng: torch.Generator) -> int:
        """One token. Temperature first, then top_k, then top_p: the fewest likeliest tokens that reach that
        share."""
        if self.temperature == 0:
            return int(logits_V.argmax())
        logits_V = logits_V.float() / self.temperature
        num_kept = len(logits_V) if self.top_k is None else min(self.top_k, len(logits_V))
        logits, tokens = logits_V.sort(descending=True, stable=True)
        probabilities = logits[:num_kept].softmax(dim=0)
        if self.top_p is not None:
            before = probabilities.cumsum(dim=0) - probabilities
            probabilities = probabilities[before < self.top_p]
        return int(tokens[torch.multinomial(probabilities.cpu(), 1, generator=rng)])


@torch.no_grad()  # not inference_mode: its tensors cannot be used in training later
def generate(
    model: Decoder,
    tokens: Tensor | Sequence[int] | Sequence[Sequence[int] | Tensor],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop_token: int | None = None,
    use_cache: bool = True,
    trace: bool = False,
    ends: Callable[[], bool] | None = None,
) -> Generation:
    """Continue one prompt, or a batch of them, by up to `max_new_tokens` tokens or until `stop_token`.

    `ends`: asked before every token; the texts end where it is true. The model is put into evaluation mode
    and back. Row r draws from its own stream, a function of (seed, r)."""
    refuse_reading_ahead(model.config)
    prompts = _prompts(tokens, model.config.model.vocab_size)
    sampling = Sampling(temperature, top_k, top_p)
    if max_new_tokens < 1:
        raise ConfigError("max_new_tokens", max_new_tokens, "asks for nothing", "choose 1 or more")
    if max(map(len, prompts)) + max_new_tokens > MOST_TOKENS:
        raise ConfigError(
            "max_new_tokens",
            max_new_tokens,
            f"prompt and continuation would have more than {MOST_TOKENS:,} tokens",
            "choose fewer",
        )
    if stop_token is not None and not 0 <= stop_token < model.config.model.vocab_size:
        raise ConfigError(
            "stop_token",
            stop_token,
            f"is no token of {model.config.model.vocab_size}",
            "leave it out or correct it",
        )
    rows = [list(prompt) for prompt in prompts]
    was_training = model.training
    model.eval()
    try:
        tracer = _Tracer(len(rows)) if trace else None
        cache = model.new_cache(len(rows)) if use_cache else None
        if cache is not None:
            cache.announce_(max(len(row) for row in rows) + max_new_tokens)
        reader = _Reader(model, tracer, cache)
        rngs = [generator(seed, "generate", row) for row in range(len(rows))]
        running = list(range(len(rows)))
        for _ in range(max_new_tokens):
            if ends is not None and ends():
                break
            logits_BV = reader.read(rows)
            for row, token in zip(
                running, sampling.draw_rows(logits_BV[running], [rngs[row] for row in running])
            ):
                rows[row].append(token)
            running = [row for row in running if rows[row][-1] != stop_token]
            if not running:
                break
        if tracer is not None:
            reader.read(rows)  # the last token was drawn but not yet processed, so it has no routing
    finally:
        model.train(was_training)
    traces = None if tracer is None else tracer.traces([len(row) for row in rows])
    return Generation(rows, [len(prompt) for prompt in prompts], traces)


class _Reader:
    """Computes the logits after each row's last token; with a cache, only new tokens are processed."""

    def __init__(self, model: Decoder, tracer: _Tracer | None, cache: KeyValueCache | None) -> None:
        self.model, self.tracer, self.cache = model, tracer, cache

    def read(self, rows: list[list[int]]) -> Tensor:
        read = [0] * len(rows) if self.cache is None else self.cache.lengths
        # A row that has stopped repeats its last token; its output is not used.
        read = [min(done, len(row) - 1) for done, row in zip(read, rows)]
        fresh = [row[done:] for done, row in zip(read, rows)]
        width = max(len(part) for part in fresh)
        device = self.model.embedding.weight.device
        tokens_BT = torch.tensor([part + [0] * (width - len(part)) for part in fresh], device=device)
        if self.cache is not None:
            self.cache.truncate_(read)
        output = self.model(tokens_BT, cache=self.cache, hidden_only=True)
        if self.cache is not None:
            self.cache.truncate_([len(row) for row in rows])
        if self.tracer is not None:
            self.tracer.record_(output, starts=read)
        if width == 1:
            return self.model.head(output.hidden_BTD[:, 0])
        last_B = torch.tensor([len(part) - 1 for part in fresh], device=device)
        return self.model.head(output.hidden_BTD[torch.arange(len(rows), device=device), last_B])


class _Tracer:
    """Collects the routing of every token as it was when the token was read."""

    def __init__(self, num_rows: int) -> None:
        self.experts: list[list[Tensor]] = [[] for _ in range(num_rows)]
        self.gates: list[list[Tensor]] = [[] for _ in range(num_rows)]

    def record_(self, output: DecoderOutput, starts: list[int]) -> None:
        """Store the routing of the new tokens of each row from position `start` on; padding is overwritten
        later."""
        choices = [selection for selection in output.routings if selection is not None]
        if not choices:
            raise ConfigError(
                "trace", True, "this model routes nothing", "trace a model with feed_forward some or moe"
            )
        num_rows = len(starts)
        experts_BTLK = torch.stack(
            [selection.indices_TK.unflatten(0, (num_rows, -1)) for selection in choices], dim=2
        ).cpu()
        gates_BTLK = torch.stack(
            [selection.gates_TK.unflatten(0, (num_rows, -1)) for selection in choices], dim=2
        ).cpu()
        for row, start in enumerate(starts):
            self.experts[row][start:] = experts_BTLK[row].unbind()
            self.gates[row][start:] = gates_BTLK[row].unbind()

    def traces(self, lengths: list[int]) -> list[Trace]:
        return [
            Trace(torch.stack(self.experts[row][:length]), torch.stack(self.gates[row][:length]))
            for row, length in enumerate(lengths)
        ]


def _prompts(
    tokens: Tensor | Sequence[int] | Sequence[Sequence[int] | Tensor], vocab_size: int
) -> list[list[int]]:
    """One or several prompts as lists of lists, checked."""
    listed: list[Any] = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
    several = not listed or hasattr(listed[0], "__len__")
    prompts = [[index(token) for token in row] for row in (listed if several else [listed])]
    if not prompts:
        raise ConfigError("tokens", prompts, "there is no prompt", "give at least one token")
    for row, prompt in enumerate(prompts):
        if not prompt:
            raise ConfigError(
                f"tokens[{row}]",
                prompt,
                "the prompt is empty",
                "give at least one token, such as the start token",
            )
        for token in prompt:
            if not 0 <= token < vocab_size:
                raise ConfigError(
                    f"tokens[{row}]",
                    token,
                    f"is no token of a vocabulary of {vocab_size}",
                    "use the run's own tokenizer",
                )
    return prompts
