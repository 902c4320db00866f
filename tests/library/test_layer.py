"""The layer as a user meets it: a width in, a tensor out, settings by name, warnings where keys would not
move."""

from __future__ import annotations

import warnings

import pytest
import torch

from somelab import Config, SomeLayer
from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.errors import ConfigError
from tests.library.builders import loss_of, optimizer_of, small, tokens


def test_a_width_is_enough() -> None:
    layer = SomeLayer(32)
    x = torch.randn(2, 5, 32)
    assert layer(x).shape == x.shape
    assert layer.keys.shape == (128, 32)
    assert not any(weight.requires_grad for weight in layer.experts.parameters())
    assert layer(x, details=True).routing.indices_TK.shape == (10, 8)


def test_a_small_pool_has_no_more_experts_per_token_than_experts() -> None:
    few = SomeLayer(24, {"num_experts": 3})
    assert few(torch.randn(5, 24), details=True).routing.indices_TK.shape == (5, 3)


def test_settings_are_changes_or_whole_groups() -> None:
    changed = SomeLayer(32, {"num_experts": 16, "top_k": 2}, gravity={"credit": 0.05})
    assert changed.keys.shape == (16, 32)
    assert changed.keystore.config.credit == 0.05
    assert changed.keystore.config.credit_from == "backward", "the rest is as recommended"
    assert changed.router.config.centre_queries
    whole = SomeLayer(32, ExpertsConfig(num_experts=16, d_ffn=8), RouterConfig(), GravityConfig())
    assert whole.keystore.config == GravityConfig()
    mixed = SomeLayer(32, {"num_experts": 16}, gravity=GravityConfig(alpha=0.5))
    assert (mixed.keystore.config.alpha, mixed.keystore.config.credit) == (0.5, Config().gravity.credit)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"experts": {"num_expert": 8}},
            "experts.num_expert = 8: is not a setting; did you mean experts.num_experts?",
        ),
        ({"experts": {"num_experts": 2, "top_k": 4}}, "experts.top_k = 4: is more than num_experts = 2"),
        ({"experts": {"num_experts": "many"}}, "experts.num_experts = 'many': "),
        ({"experts": {"num_experts": 0}}, "experts.num_experts = 0: "),
        (
            {"router": {"kind": "none"}},
            "experts.reads = 'query': with router.kind = none the query is the token itself",
        ),
        ({"router": RouterConfig(kind="none")}, "experts.reads = 'query'"),
    ],
)
def test_bad_settings_are_refused_in_one_line(settings: dict[str, object], line: str) -> None:
    with pytest.raises(ConfigError) as error:
        SomeLayer(32, **settings)  # type: ignore[arg-type]
    assert str(error.value).startswith(line)
    assert len(str(error.value).splitlines()) == 1


def test_a_width_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^d_model = 0: is not a width"):
        SomeLayer(0)


def test_the_auxiliary_loss_is_in_the_gradient() -> None:
    """`layer(x)` adds it in backward; with details, the caller does: the same gradients, to rounding."""
    gradients: list[torch.Tensor] = []
    for details in (False, True):
        layer = SomeLayer(16, {"num_experts": 8, "top_k": 2}, {"balance_loss": 0.5}, seed=1)
        x = torch.randn(20, 16, generator=torch.Generator().manual_seed(0))
        if details:
            output = layer(x, details=True)
            (output.mixture.square().mean() + 0.25 * output.aux_loss).backward()
        else:
            layer.aux_scale = 0.25
            layer(x).square().mean().backward()
        weight = layer.router.linears[0].weight
        assert isinstance(weight, torch.Tensor)
        assert weight.grad is not None
        gradients.append(weight.grad)
    torch.testing.assert_close(gradients[0], gradients[1])
    plain = SomeLayer(16, {"num_experts": 8, "top_k": 2}, seed=1)
    x = torch.randn(20, 16, generator=torch.Generator().manual_seed(0))
    plain(x).square().mean().backward()
    without = dict(plain.router.named_parameters())["linears.0.weight"].grad
    assert without is not None
    assert not torch.allclose(without, gradients[0])


def test_two_forward_passes_before_their_backward_both_give_credit() -> None:
    together, apart = small(), small()
    (loss_of(together, tokens(0)) + loss_of(together, tokens(1))).backward()
    for seed in (0, 1):
        loss_of(apart, tokens(seed)).backward()
    for one, other in zip(together.layers, apart.layers):
        assert float(one.statistics.credit_ED.norm()) > 0
        torch.testing.assert_close(one.statistics.credit_ED, other.statistics.credit_ED)


def test_keys_that_nobody_moves_are_told_of_once() -> None:
    model = small(num_layers=1)
    optimizer = optimizer_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss_of(model, tokens(0)).backward()
        loss_of(model, tokens(1)).backward()  # accumulation: no step was made yet
        optimizer.step()
    with pytest.warns(
        UserWarning,
        match=r"its keys have not moved: add somelab\.attach\(model, optimizer, num_steps=\.\.\.\)",
    ):
        loss_of(model, tokens(2)).backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss_of(model, tokens(3)).backward()
        model.eval()
        model(tokens(4))
