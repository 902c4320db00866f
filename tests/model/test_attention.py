"""Attention against torch's own module and against loops written out, and the cache slot by slot.

Shape letters: B sequences, T tokens, S key slots, D model width, H heads, C head width."""

from __future__ import annotations

import math

import torch
from torch import nn

from somelab.model.attention import Attention, Surroundings, additive_mask, alibi_bias, visible_slots
from somelab.model.kv_cache import SLOTS_PER_BLOCK, KeyValueCache
from somelab.model.positions import alibi_slopes


def test_equals_torch_multihead_attention():
    ours = Attention(24, 4, bias=True, layer=0, seed=3)
    theirs = nn.MultiheadAttention(24, 4, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.load_state_dict(ours.out.state_dict())
    x_BTD = torch.randn(3, 7, 24)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1)
    expected = theirs(x_BTD, x_BTD, x_BTD, attn_mask=future, need_weights=False)[0]
    torch.testing.assert_close(ours(x_BTD, Surroundings()), expected, rtol=1e-5, atol=1e-6)
    assert (
        sum(p.numel() for p in ours.parameters())
        == sum(p.numel() for p in theirs.parameters())
        == 4 * (24 * 24 + 24)
    )


def test_alibi_equals_the_sum_written_out():
    attention = Attention(8, 2, bias=False, layer=0, seed=1)
    x_TD = torch.randn(5, 8)
    queries, keys, values = attention.qkv(x_TD).chunk(3, dim=-1)
    expected = torch.zeros(5, 8)
    for head, slope in enumerate(alibi_slopes(2)):
        columns = slice(4 * head, 4 * head + 4)
        for token in range(5):
            scores = [
                queries[token, columns] @ keys[j, columns] / math.sqrt(4) - slope * (token - j)
                for j in range(token + 1)
            ]
            weights = torch.softmax(torch.stack(scores), dim=0)
            expected[token, columns] = weights @ values[: token + 1, columns]
    indices = torch.arange(5)[None]
    mask = additive_mask(visible_slots(indices, 5), alibi_bias(indices, indices, 2), torch.float32)
    answered = attention(x_TD[None], Surroundings(mask, is_causal=False))[0]
    torch.testing.assert_close(answered, attention.out(expected), rtol=1e-5, atol=1e-6)


def test_visible_slots_of_packed_documents():
    visible = visible_slots(torch.arange(4)[None], 4, torch.tensor([[0, 0, 1, 1]]))[0, 0]
    assert visible.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


def test_additive_mask_takes_the_wanted_dtype():
    mask = additive_mask(torch.tensor([[[[True, False]]]]), None, torch.bfloat16)
    assert mask.dtype == torch.bfloat16
    assert mask.flatten().tolist() == [0.0, -math.inf]


def test_cache_places_rows_by_their_own_length():
    cache = KeyValueCache(num_layers=1, num_rows=2)
    prompt = torch.arange(1.0, 7.0).view(2, 1, 3, 1)
    cache.write_(0, prompt, -prompt)
    cache.advance_(3)
    cache.truncate_([3, 1])
    keys, values = cache.write_(
        0, torch.tensor([50.0, 60.0]).view(2, 1, 1, 1), torch.tensor([-50.0, -60.0]).view(2, 1, 1, 1)
    )
    cache.advance_(1)
    assert cache.lengths == [4, 2]
    assert keys[0].flatten().tolist() == [1, 2, 3, 50]
    assert keys[1].flatten()[:2].tolist() == [4, 60]  # the padding behind the prompt is overwritten
    assert torch.equal(values, -keys)


def test_cache_grows_by_blocks_and_keeps_what_it_holds():
    cache = KeyValueCache(num_layers=1, num_rows=1)
    written = torch.randn(1, 2, 2 * SLOTS_PER_BLOCK + 5, 3)
    for part in written.split([3, SLOTS_PER_BLOCK, SLOTS_PER_BLOCK, 2], dim=2):
        keys, values = cache.write_(0, part, 2 * part)
        cache.advance_(part.shape[2])
    assert torch.equal(keys, written)
    assert torch.equal(values, 2 * written)
    # Three blocks, two heads of three floats.
    assert keys.untyped_storage().nbytes() == 3 * SLOTS_PER_BLOCK * 2 * 3 * 4


def test_an_announced_cache_makes_room_once():
    cache = KeyValueCache(num_layers=1, num_rows=1)
    cache.announce_(SLOTS_PER_BLOCK + 1)
    places = set[int]()
    for _ in range(SLOTS_PER_BLOCK + 1):
        keys, _ = cache.write_(0, torch.ones(1, 2, 1, 3), torch.ones(1, 2, 1, 3))
        places.add(keys.data_ptr())
        cache.advance_(1)
    assert len(places) == 1
    assert keys.untyped_storage().nbytes() == 2 * SLOTS_PER_BLOCK * 2 * 3 * 4
