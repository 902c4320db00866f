"""Grown pools on Hugging Face's own models: bit-equal without experts, the same tokens with a cache, padding
that does not matter."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from somelab.model.growth import GrownPool
from tests.model.test_growth import SMALL, half_of, stirred_

transformers = pytest.importorskip("transformers")


def llama() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        pad_token_id=63,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config).eval()


@torch.no_grad()
def grown(model: Any) -> GrownPool:
    pool = GrownPool.attach(model, settings=SMALL)
    pool.read_(half_of(0, 8, 16))
    pool.grow_(name="upper")
    pool.read_(half_of(1, 8, 16))
    stirred_(pool)
    pool.settle_()
    return pool


@torch.no_grad()
def test_a_pretrained_model_grows_and_goes_back() -> None:
    model, tokens_BT = llama(), half_of(1, 2, 10)
    before = model(tokens_BT).logits
    pool = GrownPool.attach(model, settings=SMALL)
    kinds = [place.kind for place in pool.places]
    assert kinds.count("linear") == 8
    assert {kinds.count("feed_forward"), kinds.count("norm")} == {2, 5}
    assert kinds.count("embedding") == kinds.count("linear_head") == 1
    assert torch.equal(model(tokens_BT).logits, before)
    pool.detach_()
    pool = grown(model)
    assert not torch.allclose(model(tokens_BT).logits, before, atol=0.1)
    pool.remove_("upper")
    assert torch.equal(model(tokens_BT).logits, before)


@torch.no_grad()
def test_generation_with_a_cache_and_padding() -> None:
    model = llama()
    grown(model)
    settings = {"max_new_tokens": 8, "do_sample": False}
    prompts = [half_of(1, 1, 5)[0], half_of(0, 1, 8)[0]]
    alone = [model.generate(prompt[None], use_cache=False, **settings)[0] for prompt in prompts]
    for prompt, expected in zip(prompts, alone, strict=True):
        assert model.generate(prompt[None], **settings)[0].tolist() == expected.tolist()
    # Padded on the left to one batch, as transformers does it.
    padded = torch.full((2, 8), 63)
    for row, prompt in enumerate(prompts):
        padded[row, 8 - len(prompt) :] = prompt
    together = model.generate(padded, attention_mask=(padded != 63).long(), **settings)
    for row, expected in enumerate(alone):
        assert together[row, 8 - len(prompts[row]) :].tolist() == expected.tolist()


def test_training_reaches_the_parts_alone() -> None:
    model = llama()
    pool = GrownPool.attach(model, settings=SMALL)
    pool.grow_(name="new")
    with pool.only("new"):
        tokens_BT = half_of(1, 4, 12)
        model(tokens_BT, labels=tokens_BT).loss.backward()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert sum(parameter.grad is not None for parameter in pool.open_parameters()) > 10
    pool.settle_()
    assert all(parameter.requires_grad for parameter in model.parameters())
