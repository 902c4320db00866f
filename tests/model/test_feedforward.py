"""The baselines: each against its formula, with the parameters it should have, and in the same shell.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from somelab.core.experts.initialisers import default_
from somelab.core.seeding import generator
from somelab.model.count import count_parameters
from somelab.model.feedforward import Dense, FrozenDense, LearnedMixture, build_feed_forward
from tests.model.builders import config_of, decoder_of, tokens_of

X_TD = torch.randn(2, 7, 24, generator=torch.Generator().manual_seed(1))


def test_dense_is_as_wide_as_the_active_experts():
    dense = build_feed_forward(config_of({"feed_forward": "dense"}), layer=0, seed=0)
    assert isinstance(dense, Dense)
    assert dense.down.weight.shape == (2 * 20, 24)
    expected = F.gelu(X_TD @ dense.down.weight.T + dense.down.bias) @ dense.up.weight.T + dense.up.bias
    torch.testing.assert_close(dense(X_TD), expected)
    assert all(p.requires_grad for p in dense.parameters())
    own = build_feed_forward(config_of({"feed_forward": "dense", "d_dense": 11}), layer=0, seed=0)
    assert isinstance(own, Dense)
    assert own.down.weight.shape == (11, 24)


def test_a_dense_block_can_normalise_its_hidden_features():
    plain = Dense(12, 20, bias=True, layer=0, seed=0)
    normed = Dense(12, 20, bias=True, layer=0, seed=0, norm=True)
    x_BTD = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(0))
    hidden = F.linear(x_BTD, plain.down.weight, plain.down.bias)
    hidden = hidden / hidden.pow(2).mean(dim=-1, keepdim=True).sqrt()
    torch.testing.assert_close(normed(x_BTD), F.linear(F.gelu(hidden), plain.up.weight, plain.up.bias))
    assert not torch.allclose(normed(x_BTD), plain(x_BTD))
    block = build_feed_forward(config_of({"feed_forward": "dense", "dense_norm": True}), layer=0, seed=0)
    assert isinstance(block, Dense)
    assert block.norm


def test_a_dense_block_can_have_a_trained_gate():
    config = config_of({"feed_forward": "dense", "dense_gate": True, "d_dense": 16})
    block = build_feed_forward(config, layer=0, seed=0)
    assert isinstance(block, Dense)
    assert block.gate is not None
    gated = F.silu(X_TD @ block.gate.weight.T + block.gate.bias)
    hidden = gated * (X_TD @ block.down.weight.T + block.down.bias)
    torch.testing.assert_close(block(X_TD), hidden @ block.up.weight.T + block.up.bias)
    wide = config_of({"feed_forward": "dense", "d_dense": 24})
    matrices = [count_parameters(one).trainable for one in (config, wide)]
    biases = 2 * 16 - 24  # of the hidden units, in every layer
    assert matrices[0] - matrices[1] == biases * config.model.num_layers


def test_frozen_dense_follows_the_law_of_the_experts():
    config = config_of({"feed_forward": "frozen_dense", "d_dense": 30})
    frozen = build_feed_forward(config, layer=1, seed=9)
    assert isinstance(frozen, FrozenDense)
    down, up = torch.empty(30, 24), torch.empty(24, 30)
    default_(down, up, generator(9, "expert", 1, 0))
    torch.testing.assert_close(frozen(X_TD), F.gelu(X_TD @ down.T) @ up.T)
    assert not any(p.requires_grad for p in frozen.parameters())
    sparse = build_feed_forward(
        config_of({"feed_forward": "frozen_dense"}, experts={"init": "sparse"}), layer=1, seed=9
    )
    assert isinstance(sparse, FrozenDense)
    assert sparse.pool.down_EFD.count_nonzero() == sparse.pool.down_EFD.numel() // 2


def test_gradient_passes_through_a_frozen_block():
    frozen = build_feed_forward(config_of({"feed_forward": "frozen_dense"}), layer=0, seed=0)
    x = X_TD.clone().requires_grad_()
    frozen(x).square().sum().backward()
    assert x.grad.abs().min() > 0


@pytest.mark.parametrize("backbone", ["published", "modern"])  # with and without biases
def test_moe_written_out_token_by_token(backbone: str):
    mixture = build_feed_forward(config_of({"feed_forward": "moe", "backbone": backbone}), layer=0, seed=0)
    assert isinstance(mixture, LearnedMixture)
    output = mixture(X_TD, None)
    pool = mixture.pool
    for token, x_D in enumerate(X_TD.view(-1, 24)):
        probabilities = mixture.router(x_D).softmax(dim=0)
        best = probabilities.topk(2)
        gates = best.values / best.values.sum()
        expected = sum(
            gate
            * (pool.up_EDF[e] @ F.gelu(pool.down_EFD[e] @ x_D + pool.down_bias_EF[e]) + pool.up_bias_ED[e])
            for gate, e in zip(gates, best.indices)
        )
        torch.testing.assert_close(output.mixture.view(-1, 24)[token], expected, rtol=1e-4, atol=1e-6)
        assert output.selection.indices_TK[token].tolist() == best.indices.tolist()
        torch.testing.assert_close(output.selection.gates_TK[token], gates.detach())
    assert (mixture.router.bias is None) is (backbone == "modern")


def test_everything_in_a_moe_is_trained():
    """Even where the config says that SoME's experts are frozen, sparse, and kept in bf16."""
    experts = {"init": "sparse", "trainability": "frozen", "storage": "bfloat16"}
    mixture = build_feed_forward(config_of({"feed_forward": "moe"}, experts=experts), layer=0, seed=0)
    assert isinstance(mixture, LearnedMixture)
    mixture(X_TD, None).mixture.square().sum().backward()
    for name, parameter in mixture.named_parameters():
        assert parameter.dtype == torch.float32, name
        assert parameter.grad.count_nonzero() > 0, name
    assert mixture.pool.down_EFD.count_nonzero() == mixture.pool.down_EFD.numel()


def test_balance_loss_counts_tokens_that_carry_loss():
    config = config_of({"feed_forward": "moe"}, router={"balance_loss": 0.1})
    mixture = build_feed_forward(config, layer=0, seed=0)
    counted = torch.zeros(2, 7, dtype=torch.bool)
    counted[0, :3] = True
    output = mixture(X_TD, counted)
    kept_TD = X_TD[counted]
    logits_TE = mixture.router(kept_TD)
    load_E = torch.bincount(logits_TE.topk(2).indices.flatten(), minlength=6) / 6
    expected = 0.1 * 6 * (load_E * logits_TE.softmax(dim=1).mean(dim=0)).sum()
    torch.testing.assert_close(output.aux_loss, expected)
    output.aux_loss.backward()
    assert mixture.router.weight.grad.count_nonzero() > 0
    assert mixture.eval()(X_TD, counted).aux_loss.item() == 0


def test_without_a_feed_forward_part_its_norm_is_gone_too():
    names = {name for name, _ in decoder_of({"feed_forward": "none"}).named_parameters()}
    assert not any("feed_forward" in name for name in names)


@pytest.mark.parametrize("backbone", ["published", "modern"])
@pytest.mark.parametrize("feed_forward", ["none", "dense", "frozen_dense", "moe"])
def test_the_shell_is_the_same(backbone: str, feed_forward: str):
    """Beside the second branch, every weight of a baseline has the bits of the SoME decoder of the same seed;
    all are used."""
    some = dict(decoder_of({"backbone": backbone}).named_parameters())
    model = decoder_of({"backbone": backbone, "feed_forward": feed_forward})
    baseline = dict(model.named_parameters())
    shell = {name for name in some if ".feed_forward" not in name}
    assert {name for name in baseline if ".feed_forward" not in name} == shell
    assert all(torch.equal(some[name], baseline[name]) for name in shell)
    output = model(tokens_of(2, 8))
    output.logits_BTV.square().sum().backward()
    for name, parameter in baseline.items():
        assert (parameter.grad is not None) is parameter.requires_grad, name
    assert all((selection is None) is (feed_forward != "moe") for selection in output.routings)
