"""Credit: the key of an expert that reduces the loss more than the others moves towards the query. By hand,
and against autograd.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from somelab.config import GravityConfig
from somelab.core.gravity.credit import credit, merits
from somelab.core.layer import SomeLayer
from somelab.core.statistics import RoutingStatistics
from tests.core.builders import (
    QUIET,
    buffers_of,
    moment_of,
    routing_of,
    same_bits,
    small_layer,
    state_of,
    tokens_of,
)

KEYS = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
ROUTING = routing_of([[0, 1], [0, 1]], [[0.6, 0.8], [1.0, 0.0]], [[0.75, 0.25], [0.5, 0.5]])
HELPFULNESS = torch.tensor([[1.0, -1.0], [0.0, 2.0]])


def test_merits_are_what_is_beyond_the_mean_of_the_selected_experts() -> None:
    # Means 0.75 - 0.25 = 0.5 and 0 + 1 = 1: merits 0.75 * 0.5, 0.25 * -1.5 and 0.5 * -1, 0.5 * 1.
    merit_TK = merits(HELPFULNESS, ROUTING.gates_TK)
    torch.testing.assert_close(merit_TK, torch.tensor([[0.375, -0.375], [-0.5, 0.5]]))
    # Gates that do not add up to 1 change only the size; a single selected expert gets 0.
    torch.testing.assert_close(merits(HELPFULNESS, 2 * ROUTING.gates_TK), 2 * merit_TK)
    assert merits(HELPFULNESS[:, :1], ROUTING.gates_TK[:, :1]).tolist() == [[0.0], [0.0]]


def seen_of(config: GravityConfig, counted: list[bool] | None = None) -> RoutingStatistics:
    seen = RoutingStatistics(3, 2, config)
    counted_T = None if counted is None else torch.tensor(counted)
    merit_TK = merits(HELPFULNESS, ROUTING.gates_TK)
    seen.add_credit_(ROUTING, merit_TK, step=0, counted_T=counted_T, token_index_T=None)
    return seen


def test_keys_turn_towards_queries_that_they_served_well() -> None:
    # C_0 = 0.375 (0.6, 0.8) - 0.5 (1, 0) = (-0.275, 0.3), C_1 = -C_0. Square to their keys: (0, 0.3) and
    # (0.275, 0), of which the direction counts. Expert 2 was not selected and stays.
    config, state = GravityConfig(**QUIET, credit=0.1), state_of(KEYS)
    seen = seen_of(config)
    torch.testing.assert_close(seen.credit_ED, torch.tensor([[-0.275, 0.3], [0.275, -0.3], [0.0, 0.0]]))
    after_ED = credit(state, seen, moment_of(config, state)).keys_ED
    torch.testing.assert_close(after_ED, torch.tensor([[1.0, 0.1], [0.1, 1.0], [-1.0, 0.0]]))
    # The first token alone: C_0 = 0.375 (0.6, 0.8), C_1 the opposite, which turns its key away.
    after_ED = credit(state, seen_of(config, [True, False]), moment_of(config, state)).keys_ED
    torch.testing.assert_close(after_ED, torch.tensor([[1.0, 0.1], [-0.1, 1.0], [-1.0, 0.0]]))


def test_the_step_is_annealed() -> None:
    config, state = GravityConfig(**QUIET, credit=0.1, credit_final=0.0), state_of(KEYS)
    for progress, step in ((0.0, 0.1), (0.75, 0.025), (1.0, 0.0)):
        after_ED = credit(state, seen_of(config), moment_of(config, state, progress=progress)).keys_ED
        torch.testing.assert_close(after_ED[:2], torch.tensor([[1.0, step], [step, 1.0]]))


def layer_of(keys: str = "moved", **more: Any) -> SomeLayer:
    gravity = {**QUIET, "norm": "unit", "keys": keys, "credit": 0.05, **more.pop("gravity", {})}
    router = {"kind": "linear", "temperature": 0.25, "centre_queries": True, **more.pop("router", {})}
    return small_layer(experts={"reads": "query", "mixer": True, **more}, router=router, gravity=gravity)


@pytest.mark.parametrize(
    "more", [{}, {"output_gain": 0.5}, {"trainability": "readout"}, {"mixer": False, "reads": "token"}]
)
def test_credit_is_what_a_gradient_on_the_keys_would_be_if_the_error_were_the_layers_own(
    more: dict[str, Any],
) -> None:
    """With the error of its own output in place of a broadcast one, credit is minus the temperature times the
    gradient."""
    x_TD, error_TD = tokens_of(40, 16), tokens_of(40, 16, seed=1)
    layer, trained = layer_of(**more), layer_of("gradient", **more)
    layer(x_TD)
    layer.credit_(error_TD)
    (-(trained(x_TD) * error_TD).sum()).backward()
    gradient_ED = trained.keystore.keys_ED.grad
    assert gradient_ED is not None
    torch.testing.assert_close(layer.statistics.credit_ED, -0.25 * gradient_ED, rtol=1e-4, atol=1e-5)
    assert trained.statistics.wants_credit is False


@pytest.mark.parametrize(
    "more", [{}, {"trainability": "readout"}, {"trainability": "lora", "engine": "grouped_mm"}]
)
def test_kept_outputs_give_the_same_merits_as_recomputed_ones(more: dict[str, Any]) -> None:
    keeping, again = layer_of(**more), layer_of(**more)
    again.keeps_outputs = False
    for layer in (keeping, again):
        layer(tokens_of(40, 16))
        assert layer._passed is not None
        assert (layer._passed.outputs_TKO is not None) == layer.keeps_outputs
        layer.credit_(tokens_of(40, 16, seed=1))
        assert layer._passed is None, "nothing is held beyond the error"
    assert keeping.statistics.credit_ED.any()
    assert torch.equal(keeping.statistics.credit_ED, again.statistics.credit_ED)


def test_micro_batches_and_shares_add_up() -> None:
    whole, split = (layer_of(gravity={"token_fraction": 0.6}) for _ in range(2))
    x_TD, error_TD, index_T = tokens_of(40, 16), tokens_of(40, 16, seed=1), torch.arange(40)
    counted_T = torch.rand(40, generator=torch.Generator().manual_seed(2)) < 0.8
    whole(x_TD, counted=counted_T, token_index=index_T)
    whole.credit_(error_TD)
    for rows in (slice(0, 25), slice(25, 40)):
        split(x_TD[rows], counted=counted_T[rows], token_index=index_T[rows])
        split.credit_(error_TD[rows])
    assert whole.statistics.credit_ED.any()
    torch.testing.assert_close(split.statistics.credit_ED, whole.statistics.credit_ED, rtol=1e-5, atol=1e-5)


def test_each_key_moves_by_the_step_and_keeps_its_length() -> None:
    layer = layer_of(gravity={"norm": "none"})
    before_ED = layer.keystore.keys_ED.clone()
    layer(tokens_of(200, 16))
    layer.credit_(tokens_of(200, 16, seed=1))
    layer.apply_gravity_()
    moved_ED = layer.keystore.keys_ED - before_ED
    torch.testing.assert_close(moved_ED.norm(dim=1), torch.full((8,), 0.05))
    torch.testing.assert_close((moved_ED * before_ED).sum(dim=1), torch.zeros(8), rtol=0, atol=1e-6)


def keys_after(layer: SomeLayer, error_TD: Tensor) -> Tensor:
    layer.credit_(error_TD)
    layer.apply_gravity_()
    return layer.keystore.keys_ED.clone()


def test_an_error_that_comes_twice_late_or_in_evaluation_changes_nothing() -> None:
    x_TD, error_TD = tokens_of(40, 16), tokens_of(40, 16, seed=1)
    layer, once = layer_of(), layer_of()
    for one in (layer, once):
        one(x_TD)
        one.credit_(error_TD)
    # The second word is not heard.
    assert torch.equal(keys_after(layer, error_TD), keys_after(once, torch.zeros_like(error_TD)))
    before = layer.keystore.keys_ED.clone()
    layer(x_TD)
    with pytest.warns(UserWarning, match="move by credit, and no error arrived: set gravity.credit_from"):
        layer.apply_gravity_()  # the step ends without an error: it is forgotten
    torch.testing.assert_close(keys_after(layer, error_TD), before)
    layer.eval()
    before = buffers_of(layer)
    layer(x_TD)
    layer.credit_(error_TD)
    assert same_bits(buffers_of(layer), before)


@pytest.mark.parametrize("gravity", [{"credit": 0.0}, {"keys": "fixed"}])
def test_where_credit_is_off_nothing_is_kept(gravity: dict[str, Any]) -> None:
    layer = layer_of(gravity=gravity)
    layer(tokens_of(40, 16))
    assert layer._passed is None
    layer.credit_(tokens_of(40, 16, seed=1))
    assert layer.statistics.credit_ED.numel() == 0


def test_a_key_whose_credit_is_noise_stays() -> None:
    # N_0 = 0.375^2 + 0.5^2 = 0.390625 is more than |C_0|^2 = 0.275^2 + 0.3^2 = 0.165625: no signal, both keys
    # stay.
    config, state = GravityConfig(**QUIET, credit=0.1, credit_scale="signal"), state_of(KEYS)
    seen = seen_of(config)
    torch.testing.assert_close(seen.credit_noise_E, torch.tensor([0.390625, 0.390625, 0.0]))
    assert torch.equal(credit(state, seen, moment_of(config, state)).keys_ED, state.keys_ED)
    # Four tokens of the same query and merit agree: |C|^2 = 16 m^2, N = 4 m^2, so three quarters of |C|^2 are
    # signal.
    seen.zero_()
    routing = routing_of([[0, 1]] * 4, [[0.6, 0.8]] * 4, [[0.5, 0.5]] * 4)
    seen.add_credit_(routing, torch.tensor([[0.2, -0.2]] * 4), step=0, counted_T=None, token_index_T=None)
    after_ED = credit(state, seen, moment_of(config, state)).keys_ED
    step = 0.1 * 0.75**0.5
    torch.testing.assert_close(after_ED, torch.tensor([[1.0, step], [-step, 1.0], [-1.0, 0.0]]))


@pytest.mark.parametrize("keeps", [True, False])
def test_credit_from_backward_needs_no_further_call(keeps: bool) -> None:
    """The hook on the layer's output hands the gradient over, once a micro-batch; the sum is what `credit_`
    would give."""
    x_TD, error_TD = tokens_of(40, 16), tokens_of(40, 16, seed=1)
    told, alone = layer_of(), layer_of(gravity={"credit_from": "backward"})
    alone.keeps_outputs = keeps
    assert (told.wants_error, alone.wants_error) == (True, False)
    for rows in (slice(0, 25), slice(25, 40)):
        told(x_TD[rows])
        told.credit_(error_TD[rows])
        (-(alone(x_TD[rows]) * error_TD[rows]).sum()).backward()
        assert alone._passed is None
    assert told.statistics.credit_ED.any()
    torch.testing.assert_close(alone.statistics.credit_ED, told.statistics.credit_ED)
    before_ED = alone.keystore.keys_ED.clone()
    report = alone.apply_gravity_()
    assert report is not None
    assert not torch.equal(alone.keystore.keys_ED, before_ED)
    # Evaluation has no backward, and leaves nothing behind.
    alone.eval()
    alone(x_TD)
    assert alone._passed is None
