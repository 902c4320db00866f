"""Evaluation: loss without padding in nats, perplexity and bits per byte, and every layer's measures. The
model is not changed. Shape letters: B sequences, T tokens, E experts, K experts per token."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from somelab.config import Config
from somelab.config.model import READS_AHEAD
from somelab.core import measures
from somelab.core.collapse import Finding, findings
from somelab.core.layer import SomeLayer
from somelab.core.meanings import over_validation
from somelab.data.batch import Batch
from somelab.data.batches import EvaluationLoader
from somelab.data.prepare import PreparedData
from somelab.model import Decoder
from somelab.model.feedforward import Selection
from somelab.model.loss import token_nats
from somelab.training.machine.precision import autocast
from somelab.training.measuring import balance, key_geometry
from somelab.training.padding import attended_documents


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation. `val_*` do not include padding."""

    val_loss: float
    """Nats per token."""
    val_ppl: float
    bits_per_byte: float
    """Comparable across tokenizers."""
    num_tokens: int
    num_bytes: int
    layers: list[dict[str, float]] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    loss_with_padding: float | None = None
    """Nats per position including padding, as in v1-v4 of the reports."""
    ppl_with_padding: float | None = None

    def record(self) -> dict[str, Any]:
        """As plain values for a journal or for JSON."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


class RoutingTally:
    """Routing counts of one SoME layer over an evaluation."""

    def __init__(self, layer: SomeLayer) -> None:
        self.layer = layer
        num_experts, device = layer.keystore.num_experts, layer.keystore.usage_E.device
        self.count_E, self.mass_E = (
            torch.zeros(num_experts, device=device),
            torch.zeros(num_experts, device=device),
        )
        self.entropy, self.num_tokens = 0.0, 0
        self.sets: dict[int, int] = {}

    def add(self, selection: Selection, counted_T: Tensor) -> None:
        indices_TK, gates_TK = selection.indices_TK[counted_T], selection.gates_TK[counted_T].float()
        flat = indices_TK.reshape(-1)
        self.count_E += torch.bincount(flat, minlength=self.count_E.shape[0])
        self.mass_E.index_add_(0, flat, gates_TK.reshape(-1))
        self.entropy += float(measures.gate_entropy(gates_TK).sum())
        self.num_tokens += indices_TK.shape[0]
        codes, counts = measures.combinations(indices_TK, self.count_E.shape[0])
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            self.sets[code] = self.sets.get(code, 0) + count

    def result(self) -> dict[str, float]:
        return {
            **balance(self.count_E, self.mass_E),
            **key_geometry(self.layer),
            "gate_entropy": self.entropy / max(1, self.num_tokens),
            "combination_entropy_bits": measures.combination_entropy_bits(
                torch.tensor(list(self.sets.values()) or [0])
            ),
            "num_combinations": len(self.sets),
        }


@torch.no_grad()
def evaluate(
    model: Decoder, batches: Iterable[Batch], *, dtype: torch.dtype, max_tokens: int | None = None
) -> Evaluation:
    """One pass over the batches. `max_tokens`: stop after that many, for evaluations during training."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    tallies = [RoutingTally(layer) for layer in model.some_layers()]
    nats, num_tokens, num_bytes = 0.0, 0, 0
    for batch in batches:
        batch = batch.to(device)
        with autocast(dtype, device):
            documents_BT = attended_documents(batch, padding_in_loss=False)
            output = model(batch.tokens_BT, documents_BT=documents_BT, hidden_only=True)
            nats_BT = token_nats(model, output.hidden_BTD, batch.targets_BT)
        nats += float(nats_BT[batch.counted_BT].double().sum())
        num_tokens += int(batch.counted_BT.sum())
        num_bytes += batch.num_bytes
        chosen = [selection for selection in output.routings if selection is not None]
        for tally, selection in zip(tallies, chosen, strict=False):
            tally.add(selection, batch.counted_BT.reshape(-1))
        if max_tokens is not None and num_tokens >= max_tokens:
            break
    model.train(was_training)
    layers = [tally.result() for tally in tallies]
    loss = nats / max(1, num_tokens)
    return Evaluation(
        val_loss=loss,
        val_ppl=perplexity(loss),
        bits_per_byte=nats / math.log(2) / max(1, num_bytes),
        num_tokens=num_tokens,
        num_bytes=num_bytes,
        layers=layers,
        findings=[
            *([] if model.config.model.causal else [READS_AHEAD]),
            *(found.sentence for found in judge(model, layers, num_tokens, over_validation(num_tokens))),
        ],
    )


@torch.no_grad()
def evaluate_with_padding(model: Decoder, batches: Iterable[Batch], *, dtype: torch.dtype) -> float:
    """Nats per position of padded sequences, padding included: the validation loss of v1-v4 in the reports.

    For a model that was not trained on padding, padding counts with a loss of 0."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    nats, num_positions = 0.0, 0
    for batch in batches:
        batch = batch.to(device)
        with autocast(dtype, device):
            documents_BT = attended_documents(batch, padding_in_loss=model.config.data.padding_in_loss)
            hidden_BTD = model(batch.tokens_BT, documents_BT=documents_BT, hidden_only=True).hidden_BTD
            nats_BT = token_nats(model, hidden_BTD, batch.targets_BT)
        assert batch.counted_with_padding_BT is not None
        counted_BT = batch.counted_with_padding_BT if model.config.data.padding_in_loss else batch.counted_BT
        nats += float(nats_BT[counted_BT].double().sum())
        num_positions += int(batch.counted_with_padding_BT.sum())
    model.train(was_training)
    return nats / max(1, num_positions)


def validation(data: PreparedData, config: Config) -> EvaluationLoader:
    """The validation text with every document whole, independent of the layout of training, so that losses
    are comparable across runs."""
    return EvaluationLoader(data, in_layout(config, "pack"))


def with_padding_loss(
    evaluation: Evaluation, model: Decoder, data: PreparedData, config: Config, *, dtype: torch.dtype
) -> Evaluation:
    """The evaluation with `loss_with_padding` and `ppl_with_padding` added, measured on padded sequences."""
    loss = evaluate_with_padding(model, EvaluationLoader(data, in_layout(config, "pad")), dtype=dtype)
    return replace(evaluation, loss_with_padding=loss, ppl_with_padding=perplexity(loss))


def in_layout(config: Config, layout: str) -> Config:
    """The configuration with another layout of documents, for evaluation only."""
    return config.model_copy(
        update={"data": config.data.model_copy(update={"layout": layout, "padding_in_loss": False})}
    )


def judge(
    model: Decoder, layers: list[dict[str, float]], num_tokens: int | None = None, over: str | None = None
) -> list[Finding]:
    """Which layers have collapsed, and how, by the routing of that many tokens (None: of enough). `over`:
    what the measures were counted over."""
    experts = model.config.experts
    return [
        finding
        for number, layer in enumerate(layers)
        for finding in findings(
            number,
            layer,
            num_experts=experts.num_experts,
            top_k=experts.top_k,
            num_tokens=num_tokens,
            over=over,
        )
    ]


def perplexity(loss: float) -> float:
    """exp(loss); infinity on overflow."""
    return math.exp(loss) if loss < 700 else math.inf
