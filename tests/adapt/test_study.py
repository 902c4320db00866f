"""The domain-shift study: the gradient's way and key noise leave no trace, move what they should, and sum up over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.adapt import AdaptationSettings
from somelab.adapt.figure import draw_study
from somelab.adapt.movement import angles
from somelab.adapt.noise import KeyNoise, step_of
from somelab.adapt.study import METHODS, Text, study_run, summarise
from somelab.adapt.tuning import Tuning
from somelab.errors import ConfigError
from tests.adapt.builders import stream_of
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of

SETTINGS = AdaptationSettings(rules=("attraction",), rate=50.0, every=64)
TEXT = Text(lambda: stream_of("alternating", 24), lambda: stream_of("random", 8, seed=9), back_tokens=64)


@pytest.mark.parametrize("part", ["router", "all"])
@pytest.mark.parametrize("kind", ["none", "mlp"])
def test_tuning_learns_and_goes_back_to_the_bit(part: str, kind: str) -> None:
    model = decoder_of(router={"kind": kind})
    before, switches = buffers_of(model), [parameter.requires_grad for parameter in model.parameters()]
    gains = [layer.output_gain for layer in model.some_layers()]
    batch = stream_of(num_rows=4)[0]
    with Tuning(model, part, 0.05, every=64) as tuning:
        at_rest = tuning.measure([batch])
        first, *_, last = list(tuning.read([batch] * 8))
        assert tuning.num_tuned > 0
        if part == "router":
            assert tuning.num_tuned < 20 * 24 * 24
            assert torch.equal(model.embedding.weight.detach(), before["embedding.weight"])
        assert first == at_rest, "scored before learned from"
        assert last.loss < first.loss
    assert_bit_equal(before, buffers_of(model))
    assert switches == [parameter.requires_grad for parameter in model.parameters()]
    assert gains == [layer.output_gain for layer in model.some_layers()]
    assert all(parameter.grad is None for parameter in model.parameters())


def test_what_cannot_be_tuned_is_refused() -> None:
    with pytest.raises(ConfigError, match="part"):
        Tuning(decoder_of(), "keys")
    with pytest.raises(ConfigError, match="no router"):
        Tuning(decoder_of({"feed_forward": "dense"}), "router")


def test_noise_turns_each_key_by_the_given_angle() -> None:
    model = decoder_of()
    with model.adapting(rules=("attraction",), rate=200.0, every=64) as adaptation:
        list(adaptation.read(stream_of()))
        step = step_of(adaptation)
        active = [layer.keystore.keys_ED.clone() for layer in model.some_layers()]
    before = buffers_of(model)
    with model.adapting(rules=()) as adaptation:
        KeyNoise(adaptation, seed=0).apply_(step)
        for layer, (angle_E, length_E), place, keys_ED in zip(model.some_layers(), step, adaptation.places, active):
            found_ED = layer.keystore.keys_ED
            assert torch.allclose(angles(found_ED, place.home.keys_ED).float(), angle_E, atol=1e-3)
            assert torch.allclose(found_ED.norm(dim=1), length_E, atol=1e-5)
            assert not torch.allclose(found_ED, keys_ED, atol=1e-3)
    assert_bit_equal(before, buffers_of(model))


def test_a_study_of_one_run() -> None:
    model = decoder_of(gravity={"load_bias": 0.001})
    before = buffers_of(model)
    found = study_run(model, TEXT, SETTINGS, METHODS, learning_rates={"all": 0.01})
    assert list(found) == list(METHODS)
    assert_bit_equal(before, buffers_of(model))
    assert found["frozen"]["forgetting"] == 0.0
    assert found["active"]["movement"]["mean_angle"] == pytest.approx(found["noise"]["movement"]["mean_angle"], rel=0.01)
    for report in found.values():
        assert report["new"]["num_tokens"] == 24 * 16
        assert report["back"]["num_tokens"] == 64
        assert report["home_before"] == found["frozen"]["home_before"]
    assert found["all"]["new"]["val_loss"] < found["frozen"]["new"]["val_loss"]
    assert found["cache"]["new"]["val_loss"] < found["frozen"]["new"]["val_loss"], "half of the words at a time: easy to remember"


def test_noise_needs_to_know_how_far() -> None:
    with pytest.raises(ValueError, match="active"):
        study_run(decoder_of(), TEXT, SETTINGS, ("noise",))


def report_of(loss: float, forgotten: float) -> dict[str, Any]:
    window = {"val_loss": loss}
    return {
        "new": window,
        "second_half": window,
        "windows": [window, window],
        "back": window,
        "back_windows": [window],
        "forgetting": forgotten,
    }


def test_the_summary_is_paired_by_run(tmp_path: Path) -> None:
    runs = [
        {"frozen": report_of(loss, 0.0), "active": report_of(loss - gain, 0.1)}
        for loss, gain in ((4.0, 0.1), (6.0, 0.2), (5.0, 0.3))
    ]
    summary = summarise(runs)
    assert summary["active"]["gain"]["mean"] == pytest.approx(0.2)
    # t = 4.3027 for two degrees of freedom; the spread of the gains is 0.1, whatever that of the losses.
    assert summary["active"]["gain"]["high"] == pytest.approx(0.2 + 4.3027 * 0.1 / 3**0.5, abs=1e-4)
    assert summary["active"]["forgetting"]["mean"] == pytest.approx(0.1)
    assert summarise(runs[:1])["active"]["gain"]["low"] is None
    pytest.importorskip("matplotlib")
    draw_study(summary, tmp_path / "figure.svg", "a title")
    drawn = (tmp_path / "figure.svg").read_bytes()
    draw_study(summary, tmp_path / "again.svg", "a title")
    assert drawn == (tmp_path / "again.svg").read_bytes()
    assert len(drawn) > 5000
