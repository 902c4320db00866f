"""One model, the same documents: packed and padded evaluation give the same loss, text by text."""

from __future__ import annotations

import pytest
import torch

from somelab.config import Config, override
from somelab.data.batches import EvaluationLoader
from somelab.data.prepare import PreparedData
from somelab.model import Decoder
from somelab.model.loss import token_nats
from tests.data.builders import byte_tokenizer, prepared_of

TEXTS = [
    "One day a cat ran.",
    "The end.",
    "A much longer text about nothing.",
    "x",
    "Red, blue.",
    "No more, said she.",
]


def mean_loss(config: Config, prepared: PreparedData, batch_size: int) -> tuple[float, int]:
    model = Decoder(config, seed=3).eval()
    nats, num_counted = torch.zeros((), dtype=torch.float64), 0
    for batch in EvaluationLoader(prepared, config, batch_size=batch_size):
        with torch.no_grad():
            output = model(batch.tokens_BT, documents_BT=batch.documents_BT, hidden_only=True)
        nats += token_nats(model, output.hidden_BTD, batch.targets_BT)[batch.counted_BT].double().sum()
        num_counted += batch.num_counted
    return float(nats) / num_counted, num_counted


@pytest.mark.parametrize("backbone", ["published", "modern"])
def test_loss_does_not_depend_on_layout_or_batch_size(backbone: str) -> None:
    prepared = prepared_of([byte_tokenizer().encode(text) for text in TEXTS])
    small = {
        "d_model": 16,
        "num_layers": 2,
        "num_heads": 2,
        "seq_len": 40,
        "vocab_size": 258,
        "backbone": backbone,
    }
    config = override(
        Config(), {**{f"model.{name}": value for name, value in small.items()}, "experts.num_experts": 4}
    )
    config = override(config, {"experts.d_ffn": 8, "experts.top_k": 2})
    packed, num_packed = mean_loss(config, prepared, batch_size=3)
    again, _ = mean_loss(config, prepared, batch_size=1)
    padded, num_padded = mean_loss(override(config, {"data.layout": "pad"}), prepared, batch_size=4)
    assert num_packed == num_padded == sum(map(len, TEXTS))
    assert packed == pytest.approx(again, abs=1e-5)
    assert packed == pytest.approx(padded, abs=1e-5)
