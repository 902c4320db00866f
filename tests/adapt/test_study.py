"""The domain-shift study: the gradient's way and key noise leave no trace, move what they should, and sum up
over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.adapt import AdaptationSettings, adapting
from somelab.adapt.domain_shift.noise import KeyNoise, step_of
from somelab.adapt.domain_shift.study import (
    METHODS,
    Text,
    at_rates,
    best_tuned,
    study_run,
    summarise,
    tuned_part,
)
from somelab.adapt.domain_shift.tuning import Tuning
from somelab.adapt.reading.movement import angles
from somelab.errors import ConfigError
from somelab.experiments.probes.shift_figure import draw_study
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
    with pytest.raises(ConfigError, match="no SoME router"):
        Tuning(decoder_of({"feed_forward": "dense"}), "router")


def test_noise_turns_each_key_by_the_given_angle() -> None:
    model = decoder_of()
    with adapting(model, rules=("attraction",), rate=200.0, every=64) as adaptation:
        list(adaptation.read(stream_of()))
        step = step_of(adaptation)
        active = [layer.keystore.keys_ED.clone() for layer in model.some_layers()]
    before = buffers_of(model)
    with adapting(model, rules=()) as adaptation:
        KeyNoise(adaptation, seed=0).apply_(step)
        for layer, (angle_E, length_E), place, keys_ED in zip(
            model.some_layers(), step, adaptation.places, active
        ):
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
    assert found["active"]["movement"]["mean_angle"] == pytest.approx(
        found["noise"]["movement"]["mean_angle"], rel=0.01
    )
    for report in found.values():
        assert report["new"]["num_tokens"] == 24 * 16
        assert report["back"]["num_tokens"] == 64
        assert report["home_before"] == found["frozen"]["home_before"]
    assert found["all"]["new"]["val_loss"] < found["frozen"]["new"]["val_loss"]
    assert found["cache"]["new"]["val_loss"] < found["frozen"]["new"]["val_loss"], (
        "half of the words at a time: easy to remember"
    )
    assert found["bigram"]["new"]["val_loss"] < found["frozen"]["new"]["val_loss"]


def test_fine_tuning_at_several_rates() -> None:
    assert at_rates(("frozen", "all"), "all", ["1e-3"]) == ["frozen", "all"]
    methods = at_rates(("frozen", "all", "cache"), "all", ["1e-4", "1e-2"])
    assert methods == ["frozen", "all@1e-4", "all@1e-2", "cache"]
    assert tuned_part("all@1e-4") == ("all", 1e-4)
    found = study_run(decoder_of({"feed_forward": "dense"}), TEXT, SETTINGS, methods)
    assert [found[method]["learning_rate"] for method in methods[1:3]] == [1e-4, 1e-2]
    losses = {method: report["new"]["val_loss"] for method, report in found.items()}
    assert losses["all@1e-2"] < losses["all@1e-4"] < losses["frozen"]
    assert best_tuned(losses) == "all@1e-2", "the cache reads it better still, and is no fine-tuning"
    assert best_tuned({"frozen": 1.0}) is None
    # A rate in the name is the one that is used, and the one for the whole part where the name has none.
    one = study_run(
        decoder_of({"feed_forward": "dense"}), TEXT, SETTINGS, ["all"], learning_rates={"all": 1e-2}
    )
    assert one["all"]["new"] == found["all@1e-2"]["new"]


def test_reading_back_can_be_left_out() -> None:
    text = Text(TEXT.stream, TEXT.home, back_tokens=0)
    found = study_run(decoder_of(), text, SETTINGS, ["active", "all"])
    for report in found.values():
        assert report["back"]["num_tokens"] == 0
        assert report["back_windows"] == []
        assert report["home_after"]["num_tokens"] == 8 * 16


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


def test_the_figure_names_its_lines_and_draws_the_best_rate(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    gains = {"frozen": 0.0, "memory": 1.0, "all@1e-3": 0.3, "all@1e-2": 0.8}
    runs = [{method: report_of(loss - gain, gain) for method, gain in gains.items()} for loss in (4.0, 4.1)]
    dense = [{method: run[method] for method in ("frozen", "all@1e-3", "all@1e-2")} for run in runs]
    with_names = tmp_path / "named.svg"
    draw_study(summarise(runs), with_names, "a title", summarise(dense))
    drawn = with_names.read_text()  # matplotlib writes what a text says as a comment before its outlines
    for said in (
        "frozen",
        "memory by expert",
        "fine-tuning at 1e-2",
        "dense: fine-tuning at 1e-2",
        "reading new text",
    ):
        assert f"<!-- {said} -->" in drawn
    assert "<!-- fine-tuning at 1e-3 -->" not in drawn
    assert "<!-- 1e-3 -->" in drawn, "its point in the trade is named"
