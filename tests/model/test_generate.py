"""Generation: the cache changes nothing, rows do not see each other, sampling respects its limits.

Shape letters: N tokens of one row, L layers, K experts per token, V vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from somelab.core.seeding import generator
from somelab.errors import ConfigError
from somelab.model import generate
from somelab.model.generate import GenerationError, Sampling
from tests.model.builders import BACKBONES, VOCABULARY, assert_bit_equal, buffers_of, decoder_of, tokens_of

PROMPTS = [[3, 1, 4, 1, 5], [9], [2, 6, 5, 3, 5, 8, 9]]


@pytest.mark.parametrize("parts", BACKBONES.values(), ids=BACKBONES)
@pytest.mark.parametrize("feed_forward", ["some", "moe", "dense"])
def test_greedy_with_cache_equals_the_full_forward(parts: dict[str, Any], feed_forward: str):
    """Token for token, past the trained length of 16, for prompts of different lengths."""
    model = decoder_of({**parts, "feed_forward": feed_forward}, seed=2)
    cached = generate(model, PROMPTS, max_new_tokens=20, temperature=0)
    for prompt, row in zip(PROMPTS, cached.tokens):
        expected = list(prompt)
        for _ in range(20):
            expected.append(int(model.eval()(torch.tensor([expected])).logits_BTV[0, -1].argmax()))
        assert row == expected
    assert generate(model, PROMPTS, max_new_tokens=20, temperature=0, use_cache=False).tokens == cached.tokens
    assert [len(row) for row in cached.continuations] == [20, 20, 20]


def test_rows_do_not_depend_on_their_neighbours():
    model = decoder_of({"embedding_std": 3.0})
    together = generate(model, PROMPTS, max_new_tokens=12, seed=7)
    assert generate(model, PROMPTS[0], max_new_tokens=12, seed=7).tokens == together.tokens[:1]
    assert generate(model, [PROMPTS[0], [8, 8]], max_new_tokens=12, seed=7).tokens[0] == together.tokens[0]


def test_the_seed_decides_and_the_global_stream_is_left_alone():
    model = decoder_of()
    state = torch.get_rng_state()
    first = generate(model, [5, 6], max_new_tokens=15, seed=1).tokens
    assert torch.equal(torch.get_rng_state(), state)
    assert generate(model, [5, 6], max_new_tokens=15, seed=1).tokens == first
    assert generate(model, [5, 6], max_new_tokens=15, seed=2).tokens != first
    same_prompt_twice = generate(model, [[5, 6], [5, 6]], max_new_tokens=15, seed=1).tokens
    assert same_prompt_twice[0] != same_prompt_twice[1]


@pytest.mark.parametrize("training", [True, False])
def test_generation_leaves_the_model_as_it_was(training: bool):
    model = decoder_of({"dropout": 0.3}).train(training)
    before = buffers_of(model)
    assert (
        generate(model, PROMPTS, max_new_tokens=8, temperature=0, trace=True).tokens
        == generate(model.eval(), PROMPTS, max_new_tokens=8, temperature=0).tokens
    )
    assert_bit_equal(before, buffers_of(model))
    model.train(training)
    generate(model, PROMPTS, max_new_tokens=1)
    assert all(module.training is training for module in model.modules())
    output = model.train()(tokens_of(1, 6))  # nothing that generation made stands in the way of training
    output.logits_BTV.sum().backward()


def test_mode_is_restored_after_an_error():
    model = decoder_of({"feed_forward": "dense"}).train()
    with pytest.raises(ConfigError, match="trace"):
        generate(model, [1], max_new_tokens=1, trace=True)
    assert model.training


def test_stop_token_ends_its_row_only():
    model = decoder_of(seed=2)
    free = generate(model, PROMPTS, max_new_tokens=20, temperature=0)
    stop = free.continuations[0][3]
    stopped = generate(model, PROMPTS, max_new_tokens=20, temperature=0, stop_token=stop)
    for row, ended in zip(free.continuations, stopped.continuations):
        assert ended == (row[: row.index(stop) + 1] if stop in row else row)
    assert len(stopped.continuations[0]) <= 4
    assert len({len(row) for row in stopped.continuations}) > 1


@pytest.mark.parametrize("feed_forward", ["some", "moe"])
@pytest.mark.parametrize("use_cache", [True, False])
def test_trace_tells_what_each_token_went_to(feed_forward: str, use_cache: bool):
    model = decoder_of({"feed_forward": feed_forward, "num_layers": 3}, seed=2)
    stop = generate(model, PROMPTS[1], max_new_tokens=3, temperature=0).tokens[0][-1]
    made = generate(
        model, PROMPTS, max_new_tokens=6, temperature=0, stop_token=stop, use_cache=use_cache, trace=True
    )
    assert made.traces is not None
    for row, trace in zip(made.tokens, made.traces):
        routings = model.eval()(torch.tensor([row])).routings
        assert trace.experts_NLK.shape == trace.gates_NLK.shape == (len(row), 3, 2)
        assert torch.equal(
            trace.experts_NLK, torch.stack([selection.indices_TK for selection in routings], dim=1)
        )
        torch.testing.assert_close(
            trace.gates_NLK,
            torch.stack([selection.gates_TK for selection in routings], dim=1),
            rtol=1e-4,
            atol=1e-5,
        )


def shares(sampling: Sampling, logits: list[float], num_draws: int = 800) -> torch.Tensor:
    rng = generator(0, "test")
    drawn = [sampling.draw(torch.tensor(logits), rng) for _ in range(num_draws)]
    return torch.bincount(torch.tensor(drawn), minlength=len(logits)) / num_draws


def test_sampling_follows_the_probabilities():
    logits = [0.0, 2.0, 1.0, -1.0]
    torch.testing.assert_close(shares(Sampling(), logits), torch.tensor(logits).softmax(0), rtol=0, atol=0.05)
    cold = torch.tensor(logits).mul(2).softmax(0)
    torch.testing.assert_close(shares(Sampling(temperature=0.5), logits), cold, rtol=0, atol=0.05)


def test_top_k_and_top_p_by_hand():
    logits = torch.tensor([0.1, 0.5, 0.15, 0.25]).log().tolist()
    assert shares(Sampling(top_k=2), logits).nonzero().flatten().tolist() == [1, 3]
    torch.testing.assert_close(shares(Sampling(top_k=2), logits)[1], torch.tensor(2 / 3), rtol=0, atol=0.05)
    # 0.5 does not reach 0.6, 0.5 + 0.25 does.
    assert shares(Sampling(top_p=0.6), logits).nonzero().flatten().tolist() == [1, 3]
    assert shares(Sampling(top_p=0.01), logits).tolist() == [0, 1, 0, 0]
    assert shares(Sampling(top_p=1.0), logits).count_nonzero() == 4
    assert shares(Sampling(top_k=100), logits).count_nonzero() == 4
    # Of the three likeliest, renormalised to 0.56, 0.28, 0.17, two reach 0.8.
    assert shares(Sampling(top_k=3, top_p=0.8), logits).nonzero().flatten().tolist() == [1, 3]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_rows_are_drawn_each_from_its_own_stream(temperature: float):
    sampling, logits = Sampling(temperature, top_k=5), torch.randn(3, 9, generator=generator(1, "test"))
    together = sampling.draw_rows(logits, [generator(row, "test") for row in range(3)])
    assert together == [sampling.draw(logits[row], generator(row, "test")) for row in range(3)]


def test_prompts_in_every_form():
    model = decoder_of()
    expected = generate(model, [[1, 2, 3]], max_new_tokens=3, temperature=0).tokens
    for form in (
        [1, 2, 3],
        (1, 2, 3),
        torch.tensor([1, 2, 3]),
        torch.tensor([[1, 2, 3]]),
        [torch.tensor([1, 2, 3])],
        list(np.array([1, 2, 3])),
    ):
        assert generate(model, form, max_new_tokens=3, temperature=0).tokens == expected


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("tokens", {"tokens": []}),
        ("tokens[1]", {"tokens": [[1], []]}),
        ("tokens[0]", {"tokens": [1, VOCABULARY]}),
        ("tokens[0]", {"tokens": [-1]}),
        ("max_new_tokens", {"max_new_tokens": 0}),
        ("temperature", {"temperature": -0.1}),
        ("temperature", {"temperature": float("nan")}),
        ("temperature", {"temperature": float("inf")}),
        ("temperature", {"temperature": 1e-40}),
        ("temperature", {"temperature": 5e-324}),
        ("max_new_tokens", {"max_new_tokens": 10**15}),
        ("top_k", {"top_k": 0}),
        ("top_p", {"top_p": 0.0}),
        ("top_p", {"top_p": 1.5}),
        ("stop_token", {"stop_token": VOCABULARY}),
    ],
)
def test_bad_arguments_name_their_field(field: str, arguments: dict[str, Any]):
    with pytest.raises(ConfigError) as caught:
        generate(decoder_of(), **{"tokens": [1], "max_new_tokens": 1, **arguments})
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("temperature", [0.0, 1e-6, 0.8, 1e30])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3e38])
def test_a_model_of_weights_that_are_no_numbers_is_refused(temperature: float, value: float):
    model = decoder_of()
    with torch.no_grad():
        model.embedding.weight.fill_(value)
    with pytest.raises(GenerationError, match="not finite"):
        generate(model, [1, 2], max_new_tokens=2, temperature=temperature)


@pytest.mark.parametrize("temperature", [1e-6, 1e-3, 1e30])
def test_temperatures_at_the_ends_draw(temperature: float):
    (tokens,) = generate(decoder_of(), [1, 2], max_new_tokens=5, temperature=temperature, top_p=0.9).tokens
    assert len(tokens) == 7
    assert all(0 <= token < VOCABULARY for token in tokens)
