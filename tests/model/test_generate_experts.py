"""Generating for a batch of prompts, each expert's weights are read once a step, however many rows chose
it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from somelab.core.dispatch.frozen_fused import LEAST_TOKENS
from somelab.model import generate
from tests.model.builders import decoder_of

# Fewer rows than the compiled experts take: those compute all experts in one call, with no product to count.
D_FFN, NUM_LAYERS, NUM_ROWS, NEW_TOKENS = 20, 2, LEAST_TOKENS - 1, 5


class ExpertProducts(TorchDispatchMode):
    """Counts the products that read an expert's down-projection: those whose result is as wide as an expert's
    hidden layer."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = func(*args, **(kwargs or {}))
        products = (
            torch.ops.aten.mm.out,
            torch.ops.aten.addmm.out,
            torch.ops.aten.mm.default,
            torch.ops.aten.addmm.default,
        )
        if func in products and answer.shape[1] == D_FFN:
            self.count += 1
        return answer


@pytest.mark.parametrize("engine", ["auto", "frozen", "grouped", "native"])
def test_each_expert_is_read_once_a_step(engine: str, request: pytest.FixtureRequest) -> None:
    if engine == "native":
        request.getfixturevalue("native_kernels")
    experts = {"num_experts": 6, "d_ffn": D_FFN, "top_k": 2, "engine": engine}
    model = decoder_of({"num_layers": NUM_LAYERS, "embedding_std": 3.0}, experts=experts)
    prompts = [[row] for row in range(NUM_ROWS)]
    with ExpertProducts() as products:
        made = generate(model, prompts, max_new_tokens=NEW_TOKENS, trace=True)
    assert made.traces is not None
    experts_BNLK = torch.stack([trace.experts_NLK for trace in made.traces])
    assert experts_BNLK.shape == (NUM_ROWS, 1 + NEW_TOKENS, NUM_LAYERS, 2)
    distinct = [
        len(experts_BNLK[:, step, layer].unique())
        for step in range(1 + NEW_TOKENS)
        for layer in range(NUM_LAYERS)
    ]
    assert products.count == sum(distinct)
    assert max(distinct) < NUM_ROWS * 2, "rows do share experts here"
