"""Grown pools: keys by hand, nothing old changes to the bit, the same tokens with and without a cache."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from somelab.errors import ConfigError, SomelabError
from somelab.model import Decoder, generate
from somelab.model.growth import ContextKeys, GrownPool, GrowthSettings, Novelty, places_of
from somelab.model.growth.record import Generation
from somelab.model.loss import next_token_loss, token_nats
from tests.model.builders import VOCABULARY, assert_bit_equal, buffers_of, decoder_of, tokens_of

SMALL = {"width": 8, "rank": 4, "embedding_rank": 4, "head_rank": 4, "num_pairs": 512}


def half_of(half: int, num_rows: int, num_tokens: int, seed: int = 0) -> Tensor:
    """Tokens of one half of the vocabulary."""
    return tokens_of(num_rows, num_tokens, seed) // 2 + half * (VOCABULARY // 2)


def stirred_(pool: GrownPool, seed: int = 0) -> None:
    """Every number of the newest generation's parts as training could have left it."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in pool.open_parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=rng))


def grown(model: Decoder, *, stir: bool = True, **changes: Any) -> GrownPool:
    """A pool with one generation, whose text is the upper half of the vocabulary."""
    pool = GrownPool.attach(model.eval(), settings={**SMALL, **changes})
    pool.read_(half_of(0, 8, 16))
    pool.grow_(name="upper")
    pool.read_(half_of(1, 8, 16))
    if stir:
        stirred_(pool)
    pool.settle_()
    return pool


def keys_with(texts: list[list[int]], **changes: Any) -> ContextKeys:
    keys = ContextKeys(4, GrowthSettings.of({"num_pairs": 1000, "smallest_gate": 0.0, **changes}))
    for expert, text in enumerate(texts):
        if expert:
            keys.add_()
        if text:
            tokens_BT = torch.tensor([text])
            keys.attract_(expert, keys.read(tokens_BT, None), torch.ones_like(tokens_BT))
    return keys


def test_evidence_and_gates_by_hand() -> None:
    keys = keys_with([[0, 1, 0, 1], [2, 3, 2, 3]], smoothing=2.0)
    reading = keys.read(torch.tensor([[0, 1, 2]]), None)
    # p_0(0) = (2 + 0.1) / (4 + 0.4); at the start of a document one of one first token was 0.
    first = (1 + 2 * 2.1 / 4.4) / (1 + 2)
    # The pair (0, 1) was there twice, after 0 had been there twice.
    second = (2 + 2 * 2.1 / 4.4) / (2 + 2)
    third = (0 + 2 * 0.1 / 4.4) / (2 + 2)
    found = keys.evidence(reading)[0, :, 0].exp().tolist()
    assert found == pytest.approx([first, second, third])
    other = [2 * 0.1 / 4.4 / 3, 2 * 0.1 / 4.4 / 2, (0 + 2 * 2.1 / 4.4) / (0 + 2)]
    assert keys.evidence(reading)[0, :, 1].exp().tolist() == pytest.approx(other)
    gates = keys.gates(reading)[0]
    assert gates[0, 0].item() == pytest.approx(first / (first + other[0]))
    both = (first * second, other[0] * other[1])
    assert gates[1, 0].item() == pytest.approx(both[0] / sum(both))
    assert gates.sum(-1).tolist() == pytest.approx([1, 1, 1])


def test_evidence_restarts_with_each_document() -> None:
    keys = keys_with([[0, 1, 0, 1], [2, 3, 2, 3]])
    together = keys.gates(keys.read(torch.tensor([[0, 1, 0, 2, 3]]), torch.tensor([[0, 0, 0, 1, 1]])))
    alone = keys.gates(keys.read(torch.tensor([[2, 3]]), None))
    torch.testing.assert_close(together[:, 3:], alone)


def test_a_key_without_text_is_not_selected() -> None:
    keys = keys_with([[0, 1], []])
    assert keys.gates(keys.read(torch.tensor([[3, 2]]), None)).tolist() == [[[1, 0], [1, 0]]]
    none = keys_with([[], []])
    assert none.gates(none.read(torch.tensor([[3]]), None)).tolist() == [[[1, 0]]]


def test_small_gates_are_dropped_and_the_largest_stays() -> None:
    keys = keys_with([[0, 1, 0, 1], [0, 1, 0, 1], [3, 3, 3, 3]], smallest_gate=0.4)
    gates = keys.gates(keys.read(torch.tensor([[0, 1]]), None))
    assert gates.tolist() == [[[0.5, 0.5, 0], [0.5, 0.5, 0]]]
    many = keys_with([[0, 1]] * 5, smallest_gate=0.4)
    assert many.gates(many.read(torch.tensor([[0]]), None)).sum().item() == pytest.approx(1)


def test_documents_are_won_as_wholes_and_new_keys_begin_where_loss_is_high() -> None:
    keys = keys_with([[0], [], []])
    tokens_BT = torch.tensor([[0, 1, 0, 1, 2, 3], [2, 3, 2, 3, 2, 3]])
    reading = keys.read(tokens_BT, torch.tensor([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]]))
    nats_BT = torch.tensor([[1.0, 1, 1, 1, 9, 9], [5.0, 5, 5, 5, 5, 5]])
    won_BTE = keys.winners(reading, [1, 2], nats_BT)
    assert won_BTE[0, 4:, 1].tolist() == [1, 1]
    assert won_BTE[1, :, 2].tolist() == [1] * 6
    assert won_BTE.sum(-1).tolist() == [[1] * 6] * 2


@pytest.mark.parametrize("kind", ["some", "dense"])
@pytest.mark.parametrize("backbone", ["published", "modern"])
def test_without_a_generation_outputs_are_bit_equal(kind: str, backbone: str) -> None:
    model = decoder_of({"feed_forward": kind, "backbone": backbone}).eval()
    tokens_BT = tokens_of(3, 12)
    before = model(tokens_BT)
    pool = GrownPool.attach(model, settings=SMALL)
    pool.read_(tokens_BT)
    assert torch.equal(model(tokens_BT).logits_BTV, before.logits_BTV)
    pool.grow_()
    with pool.only("growth-1"):
        torch.testing.assert_close(model(tokens_BT).logits_BTV, before.logits_BTV)  # new parts add nothing
    with pool.only("base"):
        assert torch.equal(model(tokens_BT).logits_BTV, before.logits_BTV)
    pool.detach_()
    assert torch.equal(model(tokens_BT).logits_BTV, before.logits_BTV)
    assert any(parameter.requires_grad for parameter in model.parameters())


def test_keys_select_the_expert_of_a_text() -> None:
    model = decoder_of()
    own, new = half_of(0, 4, 12, seed=1), half_of(1, 4, 12, seed=2)
    before = {id(text): model.eval()(text).logits_BTV for text in (own, new)}
    pool = grown(model)
    assert pool.gates(own)[:, 4:, 0].min() > 0.9
    assert pool.gates(new)[:, 4:, 1].min() > 0.9
    # First tokens may belong to either text, and later ones attend to them; so old text changes a little.
    changes = [(model(text).logits_BTV - before[id(text)])[:, -1].abs().mean() for text in (own, new)]
    assert changes[0] < 0.15 * changes[1]


def test_the_extended_head_is_the_low_rank_sum() -> None:
    """logits = (W + U A) h + b + b_e for the expert alone, from the same hidden state."""
    model = decoder_of()
    pool = grown(model, width=0, rank=0, embedding_rank=0, norms=False)
    tokens_BT = half_of(1, 2, 8)
    with pool.only("base"):
        hidden_BTD, plain = (model(tokens_BT, hidden_only=True).hidden_BTD, model(tokens_BT).logits_BTV)
    parts = pool.tensors("upper")
    name = "0.parts.final_norm"
    weight_VD = parts[f"{name}.weight_OR"] @ parts[f"{name}.factor_RD"]
    with pool.only("upper"):
        found = model(tokens_BT).logits_BTV
    torch.testing.assert_close(found, plain + hidden_BTD @ weight_VD.T + parts[f"{name}.bias_O"])


def test_losses_and_gradients_reach_the_newest_generation_alone() -> None:
    model = decoder_of(gravity={"credit": 0.1})
    pool = grown(model)
    pool.grow_(name="next", start_from="upper")
    frozen = {**buffers_of(model), **{f"pool/{name}": one for name, one in pool.tensors("upper").items()}}
    frozen = {name: tensor.clone() for name, tensor in frozen.items()}
    optimizer = torch.optim.AdamW(pool.open_parameters(), lr=0.01)
    tokens_BT = tokens_of(4, 13, seed=5)
    losses: list[float] = []
    for _ in range(8):
        with pool.only("next"):
            hidden_BTD = model(tokens_BT[:, :-1], hidden_only=True).hidden_BTD
            loss = next_token_loss(model, hidden_BTD, tokens_BT[:, 1:], with_error=True)
        assert loss.error_BTD is not None
        assert loss.error_BTD.shape[-1] == model.config.model.d_model
        loss.nats.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.nats.item())
    assert losses[-1] < losses[0]
    after = {**buffers_of(model), **{f"pool/{name}": one for name, one in pool.tensors("upper").items()}}
    assert_bit_equal(frozen, after)


@settings(max_examples=12)
@given(
    numbers=st.lists(st.integers(1, 2), min_size=1, max_size=3),
    places=st.sampled_from([None, ["feed_forward"], ["attention", "final_norm"], ["embedding"]]),
    removed=st.integers(0, 2),
)
def test_everything_old_is_bit_equal_before_and_after_any_growth(
    numbers: list[int], places: list[str] | None, removed: int
) -> None:
    model = decoder_of().eval()
    pool = GrownPool.attach(model, places, SMALL)
    pool.read_(half_of(0, 4, 12))
    trunk, texts = buffers_of(model), [half_of(number % 2, 3, 12, seed=number) for number in range(4)]
    states: list[tuple[dict[str, dict[str, Tensor]], list[Tensor]]] = []
    for number, num in enumerate(numbers):
        kept = {name: _copied(pool.tensors(name)) for name in ["base", *_names(pool)]}
        states.append((kept, [model(text).logits_BTV for text in texts]))
        pool.grow_(num, name=f"g{number}", start_from=pool.names[-1])
        stirred_(pool, number)
        pool.read_(texts[number])
        pool.settle_()
        for name, tensors in kept.items():
            assert_bit_equal(tensors, pool.tensors(name))
    assert_bit_equal(trunk, buffers_of(model))
    # Undoing growth by growth gives back every output; a generation that returns is the same again.
    final = [model(text).logits_BTV for text in texts]
    taken: list[tuple[Generation, dict[str, Tensor]]] = []
    for (_, outputs), name in zip(reversed(states), reversed(_names(pool)), strict=True):
        taken.append((pool.generation(name), _copied(pool.tensors(name))))
        pool.remove_(name)
        for text, output in zip(texts, outputs, strict=True):
            assert torch.equal(model(text).logits_BTV, output)
    for record, tensors in reversed(taken):
        pool.insert_(record, tensors)
    for text, output in zip(texts, final, strict=True):
        assert torch.equal(model(text).logits_BTV, output)
    # One from the middle can go without a change of the others.
    middle = _names(pool)[min(removed, len(numbers) - 1)]
    others = {name: _copied(pool.tensors(name)) for name in _names(pool) if name != middle}
    pool.remove_(middle)
    for name, one in others.items():
        assert_bit_equal(one, pool.tensors(name))
    assert_bit_equal(trunk, buffers_of(model))


def _names(pool: GrownPool) -> list[str]:
    return [record.name for record in pool.generations]


def _copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}


def test_a_settled_generation_is_frozen() -> None:
    pool = grown(decoder_of())
    assert pool.open_parameters() == []
    assert not any(parameter.requires_grad for parameter in pool.parameters())
    with pytest.raises(ConfigError, match="settled"):
        pool.read_(tokens_of(1, 4))


@pytest.mark.parametrize("backbone", ["published", "modern"])
def test_generation_with_a_cache_gives_the_same_tokens(backbone: str) -> None:
    model = decoder_of({"backbone": backbone})
    pool = grown(model)
    prompts = [half_of(1, 1, 5)[0].tolist(), half_of(0, 1, 9)[0].tolist(), half_of(1, 1, 2)[0].tolist()]
    cached = generate(model, prompts, max_new_tokens=12, temperature=0.0)
    full = generate(model, prompts, max_new_tokens=12, temperature=0.0, use_cache=False)
    assert cached.tokens == full.tokens
    with pool.only("base"):
        alone = generate(model, prompts, max_new_tokens=12, temperature=0.0)
    assert alone.tokens != full.tokens


def test_generations_move_between_pools_on_the_same_trunk() -> None:
    pool, other = grown(decoder_of()), GrownPool.attach(decoder_of().eval(), settings=SMALL)
    other.load_("base", pool.tensors("base"))
    other.take_(pool, "upper")
    assert_bit_equal(pool.tensors("upper"), other.tensors("upper"))
    text = half_of(1, 2, 9)
    assert torch.equal(pool.model(text).logits_BTV, other.model(text).logits_BTV)
    stranger = GrownPool.attach(decoder_of(seed=1).eval(), settings=SMALL)
    with pytest.raises(ConfigError, match="another trunk"):
        stranger.take_(pool, "upper")
    with pytest.raises(SomelabError, match="other settings"):
        GrownPool.attach(decoder_of().eval(), settings={**SMALL, "rank": 2}).take_(pool, "upper")


def test_names() -> None:
    pool = grown(decoder_of())
    pool.rename_("upper", "verse")
    pool.grow_(2)
    assert pool.names == ["base", "verse", "growth-2.0", "growth-2.1"]
    assert pool.experts_of("growth-2") == [2, 3]
    for name, problem in (("verse", "taken"), ("base", "taken"), ("a b", "no name"), ("", "no name")):
        with pytest.raises(ConfigError, match=problem):
            pool.grow_(name=name)
    with pytest.raises(ConfigError, match="did you mean verse"):
        pool.remove_("vers")
    with pytest.raises(ConfigError, match="adds nothing"):
        pool.grow_(0)


def test_records_count_parameters_and_bytes() -> None:
    pool = grown(decoder_of())
    record = pool.generation("upper")
    assert record.num_parameters == sum(parameter.numel() for parameter in pool.experts.parameters())
    assert record.num_bytes == 4 * (record.num_parameters + 2 * VOCABULARY + 512)
    assert record.num_tokens == 8 * 16


def test_settings_are_checked() -> None:
    model = decoder_of()
    for changes, problem in (
        ({"rank": -1}, "rank = -1"),
        ({"widht": 3}, "did you mean width"),
        ({"smoothing": 0}, "positive"),
        ({"smallest_gate": 0.6}, "could drop every gate"),
    ):
        with pytest.raises(ConfigError, match=problem):
            GrownPool.attach(model, settings=changes)
    with pytest.raises(ConfigError, match="no place of this model"):
        GrownPool.attach(model, ["feedforward"])
    GrownPool.attach(model)
    with pytest.raises(ConfigError, match="has a grown pool already"):
        GrownPool.attach(model)


class Llama(nn.Module):
    """Names and shapes of a Hugging Face decoder, without attention."""

    def __init__(self) -> None:
        super().__init__()
        self.model: Any = nn.ModuleDict({"embed_tokens": nn.Embedding(20, 8)})
        layer = nn.ModuleDict({"q_proj": nn.Linear(8, 8)})
        layer["mlp"] = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        layer["input_layernorm"] = nn.LayerNorm(8)
        self.model["layers"] = nn.ModuleList([layer])
        self.lm_head = nn.Linear(8, 20, bias=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.model["embed_tokens"](input_ids)
        layer = self.model["layers"][0]
        x = layer["q_proj"](layer["input_layernorm"](x))
        return self.lm_head((x + layer["mlp"](x))[:, -2:])


@torch.no_grad()  # without a bias, torch's linear layer has other kernels where a gradient is wanted
def test_any_model_with_the_usual_names_can_grow() -> None:
    model = Llama()
    assert [(place.path, place.kind) for place in places_of(model)] == [
        ("model.embed_tokens", "embedding"),
        ("model.layers.0.q_proj", "linear"),
        ("model.layers.0.mlp", "feed_forward"),
        ("model.layers.0.input_layernorm", "norm"),
        ("lm_head", "linear_head"),
    ]
    tokens_BT = torch.randint(0, 10, (2, 6), generator=torch.Generator().manual_seed(0))
    before = model(input_ids=tokens_BT)
    pool = GrownPool.attach(model, settings=SMALL)
    pool.read_(tokens_BT)
    assert torch.equal(model(input_ids=tokens_BT), before)
    pool.grow_(name="new")
    pool.read_(tokens_BT + 10)
    stirred_(pool)
    assert not torch.allclose(model(input_ids=tokens_BT + 10), before)
    pool.remove_("new")
    assert torch.equal(model(tokens_BT), before)


def test_novelty_by_hand() -> None:
    watch = Novelty(threshold=0.5, rate=0.5)
    assert not watch.see_(4.0, {"base": 1.0})
    assert not watch.see_(4.4, {"base": 1.0})
    assert watch.expected == {"base": pytest.approx(4.2)}
    assert watch.see_(4.8, {"base": 1.0})
    watch.begin_("new", 6.0)
    assert not watch.see_(5.0, {"base": 0.05, "new": 0.95})
    assert watch.expected["new"] == pytest.approx(5.5)
    # Text that returns: its own expert serves it as well as ever, although the text before was easier.
    watch.begin_("easy", 1.0)
    assert not watch.see_(4.3, {"base": 0.97, "new": 0.0, "easy": 0.03})
    assert watch.see_(4.3, {"base": 0.05, "new": 0.0, "easy": 0.95})


def test_a_single_batch_of_high_loss_is_not_new_text() -> None:
    watch = Novelty(threshold=0.5, patience=3)
    base = {"base": 1.0}
    losses = [4.0, 9.0, 9.0, 4.0, 9.0, 9.0, 9.0]
    assert [watch.see_(loss, base) for loss in losses] == [False] * 6 + [True]
    assert watch.expected == {"base": pytest.approx(4.0)}
    watch.begin_("new", 9.0)
    assert watch.num_novel == 0


def test_text_that_an_expert_serves_badly_does_not_change_what_is_expected_of_it() -> None:
    watch = Novelty(threshold=0.5)
    watch.see_(3.0, {"base": 1.0})
    watch.begin_("new", 6.0)
    # The new expert's key has read little yet: most of its text goes to the base, at the loss of new text.
    assert not watch.see_(5.5, {"base": 0.7, "new": 0.3})
    assert watch.expected == {"base": pytest.approx(3.0), "new": pytest.approx(6.0)}
    assert watch.see_(5.0, {"base": 1.0, "new": 0.0})


def test_token_losses_use_the_extended_head() -> None:
    model = decoder_of()
    grown(model)
    tokens_BT = half_of(1, 2, 9)
    output = model(tokens_BT[:, :-1])
    nats_BT = token_nats(model, output.hidden_BTD, tokens_BT[:, 1:])
    expected = -output.logits_BTV.log_softmax(-1).gather(-1, tokens_BT[:, 1:, None])[..., 0]
    torch.testing.assert_close(nats_BT, expected)
    assert math.isfinite(nats_BT.sum().item())
