"""`attach`: keys move after each optimizer step, whoever runs the loop."""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from somelab import SomeLayer, attach
from somelab.errors import ConfigError
from tests.library.builders import keys_of, loss_of, optimizer_of, small, tokens, train_


def test_it_does_what_calls_by_hand_do() -> None:
    """Bit for bit: progress, backward, optimizer, rules."""
    model, by_hand = small(), small()
    optimizer = optimizer_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attachment = attach(model, optimizer, num_steps=5)
        train_(model, optimizer, range(5))
    optimizer = optimizer_of(by_hand)
    for step in range(5):
        for layer in by_hand.layers:
            layer.set_progress_(step, 5)
        train_(by_hand, optimizer, range(step, step + 1))
        for layer in by_hand.layers:
            layer.apply_gravity_()
    for one, other in zip(model.layers, by_hand.layers):
        assert one.keystore.digest() == other.keystore.digest()
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), by_hand.parameters()))
    assert attachment.step == 5


def test_keys_move_by_credit_until_the_run_ends() -> None:
    model = small()
    optimizer, before = optimizer_of(model), keys_of(model)
    attachment = attach(model, optimizer, num_steps=4)
    train_(model, optimizer, range(1))
    first = [report.mean_drift for report in attachment.reports if report is not None]
    assert len(first) == 2
    assert all(drift > 0.01 for drift in first)
    train_(model, optimizer, range(1, 4))
    last = [report.mean_drift for report in attachment.reports if report is not None]
    assert all(drift < 0.001 for drift in last), "credit's step falls to 0 over the run"
    assert not any(torch.equal(keys, start) for keys, start in zip(keys_of(model), before))


def test_micro_batches_are_one_step() -> None:
    whole, parts = small(), small()
    for model, accumulation in ((whole, 1), (parts, 4)):
        optimizer = optimizer_of(model)
        attachment = attach(model, optimizer, num_steps=3, accumulation=accumulation)
        train_(model, optimizer, range(1), accumulation)
        assert attachment.step == 1
        assert [layer.aux_scale for layer in model.layers] == [1 / accumulation] * 2
    for one, other in zip(whole.layers, parts.layers):
        assert torch.equal(one.keystore.usage_E, other.keystore.usage_E)
        torch.testing.assert_close(one.keys, other.keys)


def test_it_continues_after_a_checkpoint() -> None:
    straight, stopped = small(), small()
    optimizer = optimizer_of(straight)
    attach(straight, optimizer, num_steps=6)
    train_(straight, optimizer, range(6))
    first = optimizer_of(stopped)
    attach(stopped, first, num_steps=6)
    train_(stopped, first, range(3))
    again = small()
    again.load_state_dict(stopped.state_dict())
    second = optimizer_of(again)
    second.load_state_dict(first.state_dict())
    assert attach(again, second, num_steps=6).step == 3
    train_(again, second, range(3, 6))
    for one, other in zip(straight.layers, again.layers):
        assert one.keystore.digest() == other.keystore.digest()


def test_detached_keys_stay() -> None:
    model = small()
    optimizer = optimizer_of(model)
    attachment = attach(model, optimizer, num_steps=4)
    train_(model, optimizer, range(1))
    attachment.detach()
    before = keys_of(model)
    train_(model, optimizer, range(1, 3))
    assert all(torch.equal(keys, start) for keys, start in zip(keys_of(model), before))


def test_a_copy_and_a_detached_model_can_be_attached() -> None:
    model = small()
    optimizer = optimizer_of(model)
    attachment = attach(model, optimizer, num_steps=4)
    train_(model, optimizer, range(1))
    copied = copy.deepcopy(model)
    assert attach(copied, optimizer_of(copied), num_steps=4).step == 1
    attachment.detach()
    again = attach(model, optimizer, num_steps=4)
    train_(model, optimizer, range(1, 2))
    assert again.step == 2


def test_the_optimizer_inside_a_wrapper_counts() -> None:
    model = small()
    optimizer = optimizer_of(model)
    attachment = attach(model, SimpleNamespace(optimizer=optimizer), num_steps=2)
    train_(model, optimizer, range(1))
    assert attachment.step == 1


def test_what_cannot_be_attached_is_refused() -> None:
    model = small()
    optimizer = optimizer_of(model)
    with pytest.raises(ConfigError, match=r"^model = 'Linear': has no SomeLayer; add one, or somelab\.graft"):
        attach(nn.Linear(2, 2), optimizer)
    with pytest.raises(
        ConfigError, match=r"^num_steps = None: gravity\.credit changes over the run; give the number"
    ):
        attach(model, optimizer)
    with pytest.raises(ConfigError, match=r"^accumulation = 0: is not a number of micro-batches"):
        attach(model, optimizer, num_steps=3, accumulation=0)
    with pytest.raises(ConfigError, match=r"^optimizer = 'str': is no torch optimizer"):
        attach(model, "adam", num_steps=3)  # type: ignore[arg-type]
    attach(small(gravity={"credit_final": None}), optimizer)
    attach(model, optimizer, num_steps=3)
    with pytest.raises(
        ConfigError, match=r"2 of its layers are attached already, and their keys would move twice"
    ):
        attach(model, optimizer, num_steps=3)


def test_a_gradient_that_is_not_finite_leaves_the_keys_whole() -> None:
    """A scaled loss may overflow; such a step is skipped by the optimizer, and its credit is of no use."""
    layer = SomeLayer(16, {"num_experts": 8, "top_k": 2})
    x = torch.randn(20, 16, generator=torch.Generator().manual_seed(0))
    (layer(x).sum() * torch.inf).backward()
    layer.apply_gravity_()
    assert torch.isfinite(layer.keys).all()
    layer(x).square().sum().backward()
    report = layer.apply_gravity_()
    assert report is not None
    assert report.mean_drift > 0


def test_checkpointed_activations_count_once() -> None:
    """`torch.utils.checkpoint` runs a block twice: the statistics have its tokens once, and its credit."""
    from torch.utils.checkpoint import checkpoint

    layer, again = (SomeLayer(16, {"num_experts": 8, "top_k": 2}) for _ in range(2))
    x = torch.randn(20, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    layer(x).square().sum().backward()
    checkpoint(again, x, use_reentrant=False).square().sum().backward()
    assert torch.equal(layer.statistics.count_E, again.statistics.count_E)
    assert torch.equal(layer.statistics.credit_ED, again.statistics.credit_ED)


def test_it_fits_a_loop_that_skips_a_step() -> None:
    """A step that the optimizer does not make moves no key."""
    model = small()
    optimizer = optimizer_of(model)
    attachment = attach(model, optimizer, num_steps=4)
    before = keys_of(model)
    loss_of(model, tokens(0)).backward()
    optimizer.zero_grad()
    assert attachment.step == 0
    assert all(torch.equal(keys, start) for keys, start in zip(keys_of(model), before))
