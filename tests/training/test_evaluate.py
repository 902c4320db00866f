"""Evaluation against plain cross-entropy of each document alone: the same figures, whatever the batch and the
layout.

Shape letters: T tokens, V vocabulary."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from somelab.config import Config
from somelab.data.batches import EvaluationLoader
from somelab.data.prepare import PreparedData, prepare
from somelab.data.tokenizer import PAD_ID
from somelab.model import Decoder
from somelab.training.evaluate import (
    evaluate,
    evaluate_with_padding,
    in_layout,
    judge,
    perplexity,
    validation,
    with_padding_loss,
)
from tests.model.builders import assert_bit_equal, buffers_of
from tests.training.builders import LIVELY, config_of, trainer_of

SETTINGS = {**LIVELY, "train.steps": 6, "router.eval_temperature": 0.5}


class Trained:
    """A model after a few steps, and the validation documents as lists of tokens, their ends included."""

    def __init__(self, config: Config, out: Path) -> None:
        trainer = trainer_of(config, out)
        trainer.fit()
        self.config, self.model, self.data = config, trainer.model, prepare(config)
        split = self.data.val
        self.documents = [split.tokens[a:b].tolist() for a, b in zip(split.offsets[:-1], split.offsets[1:])]
        assert len(self.documents) > 5
        assert max(map(len, self.documents)) <= config.model.seq_len + 1, (
            "each fits a sequence, so that none is cut"
        )


@pytest.fixture(scope="module")
def trained(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(config_of(text, SETTINGS), tmp_path_factory.mktemp("trained") / "run")


@pytest.fixture(scope="module")
def padded(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trained as v1-v4: padding counts in the loss."""
    settings = {**SETTINGS, "data.layout": "pad", "data.padding_in_loss": True}
    return Trained(config_of(text, settings), tmp_path_factory.mktemp("padded") / "run")


@torch.no_grad()
def plain_nats(model: Decoder, tokens: list[int]) -> torch.Tensor:
    """-log p of each token of one sequence but the first."""
    model.eval()
    logits_TV = model(torch.tensor([tokens[:-1]])).logits_BTV[0]
    return F.cross_entropy(logits_TV, torch.tensor(tokens[1:]), reduction="none").double()


def measure(
    trained: Trained, data: PreparedData | None = None, config: Config | None = None, **options: int
) -> dict[str, float]:
    loader = EvaluationLoader(data or trained.data, config or in_layout(trained.config, "pack"), **options)
    return evaluate(trained.model, loader, dtype=torch.float32).record()


def test_the_loss_is_that_of_every_document_alone(trained: Trained) -> None:
    nats = torch.cat([plain_nats(trained.model, document) for document in trained.documents])
    found = evaluate(trained.model, validation(trained.data, trained.config), dtype=torch.float32)
    assert found.num_tokens == len(nats) == sum(len(document) - 1 for document in trained.documents)
    assert found.val_loss == pytest.approx(float(nats.mean()), rel=1e-6)
    assert found.val_ppl == pytest.approx(math.exp(float(nats.mean())), rel=1e-5)
    # The first token of a document has nothing before it that could predict it: its bytes are not counted
    # either.
    texts = [trained.data.tokenizer.decode(document[1:]) for document in trained.documents]
    num_bytes = sum(len(text.encode()) for text in texts)
    assert found.num_bytes == num_bytes
    assert found.bits_per_byte == pytest.approx(float(nats.sum()) / math.log(2) / num_bytes, rel=1e-6)


def test_neither_batch_nor_layout_changes_the_figures(trained: Trained) -> None:
    wanted = measure(trained)
    for found in (
        measure(trained, batch_size=1),
        measure(trained, batch_size=7),
        measure(trained, config=in_layout(trained.config, "pad")),
    ):
        assert found["num_tokens"] == wanted["num_tokens"]
        assert found["num_bytes"] == wanted["num_bytes"]
        for name in ("val_loss", "bits_per_byte"):
            assert found[name] == pytest.approx(wanted[name], rel=1e-6)


def test_the_layout_of_training_does_not_matter_for_validation(padded: Trained) -> None:
    nats = torch.cat([plain_nats(padded.model, document) for document in padded.documents])
    found = evaluate(padded.model, validation(padded.data, padded.config), dtype=torch.float32)
    assert found.val_loss == pytest.approx(float(nats.mean()), rel=1e-6)


def test_a_look_on_the_way_reads_no_more_than_it_needs(trained: Trained) -> None:
    few = evaluate(
        trained.model,
        EvaluationLoader(trained.data, trained.config, batch_size=1),
        dtype=torch.float32,
        max_tokens=20,
    )
    assert 20 <= few.num_tokens < 20 + trained.config.model.seq_len


def test_evaluation_leaves_the_model_as_it_was(trained: Trained) -> None:
    trained.model.train()
    before, stream = buffers_of(trained.model), torch.get_rng_state()
    found = evaluate(trained.model, validation(trained.data, trained.config), dtype=torch.float32)
    with_padding_loss(found, trained.model, trained.data, trained.config, dtype=torch.float32)
    assert_bit_equal(before, buffers_of(trained.model))
    assert torch.equal(stream, torch.get_rng_state())
    assert trained.model.training
    assert found == evaluate(trained.model, validation(trained.data, trained.config), dtype=torch.float32)


def test_the_loss_with_padding_of_a_model_that_learnt_padding(padded: Trained) -> None:
    """The mean over all positions of sequences filled up with padding."""
    seq_len = padded.config.model.seq_len
    rows = [(document + [PAD_ID] * (seq_len + 1))[: seq_len + 1] for document in padded.documents]
    nats = torch.cat([plain_nats(padded.model, row) for row in rows])
    assert len(nats) == len(rows) * seq_len
    loader = EvaluationLoader(padded.data, in_layout(padded.config, "pad"))
    found = evaluate_with_padding(padded.model, loader, dtype=torch.float32)
    assert found == pytest.approx(float(nats.mean()), rel=1e-6)
    evaluation = evaluate(padded.model, validation(padded.data, padded.config), dtype=torch.float32)
    evaluation = with_padding_loss(evaluation, padded.model, padded.data, padded.config, dtype=torch.float32)
    assert evaluation.loss_with_padding == found
    assert evaluation.ppl_with_padding == pytest.approx(math.exp(found))


def test_the_loss_with_padding_of_a_model_that_never_saw_padding(trained: Trained) -> None:
    """Padding is then free: the nats of the text, over all positions."""
    nats = sum(float(plain_nats(trained.model, document).sum()) for document in trained.documents)
    loader = EvaluationLoader(trained.data, in_layout(trained.config, "pad"))
    found = evaluate_with_padding(trained.model, loader, dtype=torch.float32)
    assert found == pytest.approx(nats / (len(trained.documents) * trained.config.model.seq_len), rel=1e-6)


def test_every_layer_is_measured_over_the_counted_tokens(trained: Trained) -> None:
    """Against counting by hand, document by document."""
    found = evaluate(trained.model, validation(trained.data, trained.config), dtype=torch.float32)
    num_experts = trained.config.experts.num_experts
    trained.model.eval()
    with torch.no_grad():
        outputs = [trained.model(torch.tensor([document[:-1]])) for document in trained.documents]
    for layer, measured in enumerate(found.layers):
        choices = [output.routings[layer] for output in outputs]
        indices = torch.cat([selection.indices_TK for selection in choices])
        gates = torch.cat([selection.gates_TK for selection in choices]).double()
        assert len(indices) == found.num_tokens
        use = [int((indices == expert).sum()) for expert in range(num_experts)]
        total, ascending = sum(use), sorted(use)
        gini = sum((2 * (i + 1) - num_experts - 1) * count for i, count in enumerate(ascending)) / (
            num_experts * total
        )
        assert measured["gini"] == pytest.approx(gini)
        assert measured["coverage"] == sum(count > 0 for count in use)
        entropy = -sum(count / total * math.log2(count / total) for count in use if count)
        assert measured["entropy_bits"] == pytest.approx(entropy)
        assert measured["gate_entropy"] == pytest.approx(
            float(-(gates * gates.log()).sum(1).mean()), rel=1e-5
        )
        sets = [frozenset(row) for row in indices.tolist()]
        assert measured["num_combinations"] == len(set(sets))
        shares = [sets.count(chosen) / len(sets) for chosen in set(sets)]
        assert measured["combination_entropy_bits"] == pytest.approx(
            -sum(share * math.log2(share) for share in shares)
        )


def test_a_collapsed_layer_is_judged(trained: Trained) -> None:
    sound = {
        "effective_experts": 7.0,
        "dead_share": 0.0,
        "crowding": 0.2,
        "num_combinations": 20.0,
        "gate_entropy": 0.5,
    }
    fused = {**sound, "crowding": 0.99}
    (finding,) = judge(trained.model, [sound, fused])
    assert (finding.kind, finding.layer) == ("key fusion", 1)


def test_perplexity_of_a_hopeless_model() -> None:
    assert perplexity(math.log(2)) == pytest.approx(2)
    assert perplexity(1000.0) == math.inf
