"""The key store: exact to go back to, exact to save, and moved by nothing but its rules.

Shape letters: T tokens, D model width, E experts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from somelab.config import GravityConfig
from somelab.core.keystore import KeyStore
from somelab.core.layer import SomeLayer
from tests.core.builders import small_layer, tokens_of

LIVELY: dict[str, Any] = {
    "alpha": 0.005,
    "beta": 0.001,
    "delta": 0.3,
    "warmup_steps": 2,
    "theta_percentile": 0.5,
    "norm": "clamp",
    "respawn": True,
    "respawn_threshold": 0.5,
    "load_bias": 0.01,
    "key_ema": 0.5,
}


def train_(layer: SomeLayer, steps: range) -> None:
    for step in steps:
        layer(tokens_of(30, 16, seed=step))
        layer.apply_gravity_()


def lively_layer(seed: int = 0) -> SomeLayer:
    return small_layer(router={"centre_queries": True}, gravity=LIVELY, seed=seed)


def test_keys_start_as_random_directions() -> None:
    store = KeyStore(200, 50, GravityConfig(), seed=0)
    torch.testing.assert_close(store.keys_ED.norm(dim=1), torch.ones(200))
    cosine_EE = (store.keys_ED @ store.keys_ED.T).fill_diagonal_(0)
    assert cosine_EE.abs().max() < 6 / 50**0.5
    assert store.keys_ED.mean(dim=0).norm() < 0.15
    assert not store.usage_E.any()
    assert (store.born_E == -1).all()


@pytest.mark.parametrize("change", [{"seed": 1}, {"layer": 1}])
def test_seed_and_layer_decide_the_keys(change: dict[str, int]) -> None:
    first = KeyStore(8, 4, GravityConfig(), seed=0)
    assert KeyStore(8, 4, GravityConfig(), seed=0).digest() == first.digest()
    other = KeyStore(8, 4, GravityConfig(), **{"seed": 0, **change}, num_layers=2)
    assert not torch.equal(other.keys_ED, first.keys_ED)


def test_snapshot_and_restore_are_exact() -> None:
    layer = lively_layer()
    train_(layer, range(5))
    store = layer.keystore
    digest, snapshot = store.digest(), store.snapshot()
    places = {name: buffer.data_ptr() for name, buffer in store.named_buffers()}
    train_(layer, range(5, 10))
    later = store.digest()
    assert later != digest
    assert store.step == 10
    store.restore_(snapshot)
    assert store.digest() == digest
    assert store.step == 5
    assert places == {name: buffer.data_ptr() for name, buffer in store.named_buffers()}, "in place"
    train_(layer, range(5, 10))
    assert store.digest() == later, "the same future"
    assert len(store.born_E.unique()) > 1, "some keys were reborn, some only moved"


def test_a_snapshot_is_a_copy() -> None:
    layer = lively_layer()
    snapshot = layer.keystore.snapshot()
    kept = {name: value.clone() for name, value in snapshot.items()}
    train_(layer, range(2))
    assert all(torch.equal(snapshot[name], kept[name]) for name in kept)


@pytest.mark.parametrize(
    "name",
    ["keys_ED", "usage_E", "mass_E", "load_bias_E", "query_mean_D", "born_E", "average_ED", "respawns"],
)
def test_the_digest_sees_every_buffer(name: str) -> None:
    store = KeyStore(4, 3, GravityConfig(key_ema=0.5), seed=0)
    digest = store.digest()
    getattr(store, name).view(-1).view(torch.uint8)[0] ^= 1
    assert store.digest() != digest


def test_the_digest_sees_the_step() -> None:
    store = KeyStore(4, 3, GravityConfig(), seed=0)
    digest = store.digest()
    store.step = 1
    assert store.digest() != digest


def test_a_state_dict_carries_all_of_it() -> None:
    layer, other = lively_layer(seed=0), lively_layer(seed=1)
    train_(layer, range(4))
    state = layer.state_dict()
    assert all(isinstance(value, torch.Tensor) for value in state.values()), "fits a tensors-only file"
    other.load_state_dict(state)
    assert other.keystore.digest() == layer.keystore.digest()
    assert other.keystore.step == 4


def test_keys_by_gradient() -> None:
    layer = small_layer(router={"temperature": 0.1}, gravity={"keys": "gradient"})
    keys_ED = layer.keystore.keys_ED
    assert isinstance(keys_ED, nn.Parameter)
    before_ED = keys_ED.detach().clone()
    (layer(tokens_of(20, 16)) * tokens_of(20, 16, seed=1)).sum().backward()
    assert keys_ED.grad is not None
    assert keys_ED.grad.any()
    report = layer.apply_gravity_()
    assert torch.equal(keys_ED.detach(), before_ED), "the rules rest"
    assert report is not None
    assert report.max_drift == 0
    assert layer.keystore.usage_E.any()
    torch.optim.SGD([keys_ED], lr=0.1).step()
    assert not torch.equal(keys_ED.detach(), before_ED)


@pytest.mark.parametrize("keys", ["moved", "fixed"])
def test_other_keys_are_no_parameters(keys: str) -> None:
    layer = small_layer(gravity={"keys": keys})
    assert not list(layer.keystore.parameters())
    layer(tokens_of(5, 16)).sum().backward()
    assert layer.keystore.keys_ED.grad is None


def test_fixed_keys_stay_and_their_use_is_tracked() -> None:
    layer = small_layer(gravity={**LIVELY, "keys": "fixed", "key_ema": 0.0})
    before_ED = layer.keystore.keys_ED.clone()
    train_(layer, range(4))
    assert torch.equal(layer.keystore.keys_ED, before_ED)
    assert layer.keystore.usage_E.sum() > 0
    assert layer.keystore.mass_E.sum() > 0
    assert layer.keystore.step == 4


def test_a_report_says_what_happened() -> None:
    layer = small_layer(gravity={"norm": "none", "peer_pull": False, "alpha": 0.3, "decay": False})
    before_ED = layer.keystore.keys_ED.clone()
    layer.keystore.step = 7
    routing = layer(tokens_of(20, 16), details=True).routing
    report = layer.apply_gravity_()
    assert report is not None
    drift_E = (layer.keystore.keys_ED - before_ED).norm(dim=1)
    assert report.step == 7
    assert report.count_E.tolist() == torch.bincount(routing.indices_TK.flatten(), minlength=8).tolist()
    assert float(report.mass_E.sum()) == pytest.approx(20, rel=1e-5)
    assert report.mean_drift == pytest.approx(float(drift_E.mean()), rel=1e-5)
    assert report.max_drift == pytest.approx(float(drift_E.max()), rel=1e-5)
    entropy_T = -(routing.gates_TK * routing.gates_TK.log()).sum(dim=1)
    assert report.gate_entropy == pytest.approx(float(entropy_T.mean().detach()), rel=1e-5)
    assert report.reborn == ()


def test_every_third_step() -> None:
    layer = small_layer(gravity={"every": 3, "alpha": 0.3, "ema_decay": 0.5})
    moved: list[bool] = []
    for step in range(7):
        before_ED = layer.keystore.keys_ED.clone()
        layer(tokens_of(10, 16, seed=step))
        assert bool(layer.statistics.count_E.any()) == (step % 3 == 0), "other steps are not gathered"
        report = layer.apply_gravity_()
        assert (report is not None) == (step % 3 == 0)
        moved.append(not torch.equal(layer.keystore.keys_ED, before_ED))
    assert moved == [True, False, False, True, False, False, True]
    assert layer.keystore.step == 7


def test_routing_follows_the_average_of_the_keys() -> None:
    layer = small_layer(gravity={"alpha": 0.5, "key_ema": 0.9})
    store = layer.keystore
    first_ED = store.keys_ED.clone()
    assert torch.equal(store.routing_keys_ED, first_ED)
    train_(layer, range(1))
    torch.testing.assert_close(store.routing_keys_ED, 0.9 * first_ED + 0.1 * store.keys_ED)
    x_TD = tokens_of(20, 16, seed=9)
    routing = layer.eval()(x_TD, details=True).routing
    wanted_TK = (routing.queries_TD @ store.average_ED.T).topk(3, dim=1).indices
    assert torch.equal(routing.indices_TK, wanted_TK)


def test_progress_reaches_one_at_the_last_step() -> None:
    store = KeyStore(4, 3, GravityConfig(), seed=0)
    for step, wanted in ((0, 0.0), (5, 0.5), (10, 1.0), (20, 1.0)):
        store.set_progress_(step, 11)
        assert store.progress == wanted
        assert store.step == step
    store.set_progress_(0, 1)
    assert store.progress == 0.0


def test_the_meta_device_allocates_nothing() -> None:
    """Sixteen trillion weights: a layer of this size can be counted, not held."""
    with torch.device("meta"):
        layer = small_layer(
            d_model=4096,
            experts={"num_experts": 2**18, "d_ffn": 8192, "train_output_gain": True},
            router={"kind": "mlp", "learnable_temperature": True},
            gravity={"respawn": True, "key_ema": 0.5},
        )
    assert all(tensor.is_meta for tensor in (*layer.parameters(), *layer.buffers()))
    frozen = sum(weight.numel() for weight in layer.experts.parameters())
    assert frozen == 2**18 * (2 * 4096 * 8192 + 4096 + 8192)
    for trainability in ("gains", "readout", "lora", "full"):
        with torch.device("meta"):
            pool = small_layer(
                d_model=4096, experts={"num_experts": 2**18, "d_ffn": 8192, "trainability": trainability}
            ).experts
        assert all(weight.is_meta for weight in pool.parameters())
