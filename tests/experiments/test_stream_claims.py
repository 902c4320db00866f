"""Claims about continual learning: verdicts from figures by hand, by the rules of the ledger; a learning rate
at the edge of its grid leaves no verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from somelab.cli.main import main
from somelab.errors import ConfigError
from somelab.experiments.streams import records
from somelab.experiments.streams.claims import CLAIMS, STREAMS, STUDIES, TOPIC, study_of
from somelab.experiments.streams.plan import StreamSettings, base_configs, stream_plan
from somelab.experiments.sweeps.table import rows_of
from tests.view.result_builders import tuning_curve


def study(grown: float, forgetting: float, *, standing: str = "tuned", base: str = "tuned") -> dict[str, Any]:
    """Three seeds that differ by 0.001; others end at 4.0, joint at 3.8."""
    losses = {"some-grow": grown, "dense": 4.0, "dense-ewc": 4.0, "dense-replay": 4.0, "joint": 3.8}
    return {
        "scale": "micro",
        "tokens_per_experience": 50_000,
        "date": "2026-01-02",
        "bases": {"base-dense": {"rate": 0.016, "standing": base}},
        "learners": {
            name: {
                "rate": 0.004,
                "standing": standing if name == "some-grow" else "tuned",
                "figures": {
                    str(seed): {"average_loss": loss + 0.001 * seed, "final_forgetting": forgetting}
                    for seed in (0, 1, 2)
                },
            }
            for name, loss in losses.items()
        },
    }


def verdicts(**studies: dict[str, Any]) -> dict[str, str]:
    return {result.claim.id: result.verdict for result in records.results(studies)}


def test_verdicts_by_hand() -> None:
    found = verdicts(builtin=study(3.9, 0.01))
    assert found["grown-pool-forgets-little-builtin"] == "supported"
    assert found["grown-pool-beats-dense-builtin"] == "supported"  # 0.1 lower
    assert found["grown-pool-near-joint-builtin"] == "supported"  # 3.9 < 1.03 x 3.8 = 3.914
    assert found["grown-pool-near-joint-real"] == "not run"
    found = verdicts(builtin=study(4.2, 0.03))
    assert found["grown-pool-forgets-little-builtin"] == "refuted"
    assert found["grown-pool-beats-dense-replay-builtin"] == "refuted"
    assert found["grown-pool-near-joint-builtin"] == "refuted"


@pytest.mark.parametrize(("standing", "base"), [("at the edge", "tuned"), ("tuned", "at the edge")])
def test_a_rate_at_the_edge_blocks_the_verdict(standing: str, base: str) -> None:
    found = records.results({"real": study(3.9, 0.01, standing=standing, base=base)})
    result = next(one for one in found if one.claim.id == "grown-pool-forgets-little-real")
    assert result.verdict == "untuned"
    assert "at the edge of its grid" in result.note
    assert not result.is_tuned or base != "tuned"


def test_a_study_on_record_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(records, "FILE", tmp_path / "results.json")
    content = {"format": 1, "studies": {"builtin": study(3.9, 0.01)}}
    records.FILE.write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    assert main(["evidence", "--list", "--json", "grown-pool-beats-dense-builtin"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["topic"], one["verdict"], one["tuned"]) == (TOPIC, "supported", True)
    assert (one["tokens"], one["date"], one["scale"], one["seeds"]) == (50_000, "2026-01-02", "micro", 3)
    assert one["rates"] == {"builtin/some-grow": 0.004, "builtin/dense": 0.004}
    assert one["effect"] == pytest.approx(-0.1)
    assert main(["evidence", "--list", "--json"]) == 0
    assert set(CLAIMS) <= {one["claim"] for one in json.loads(capsys.readouterr().out)}
    assert main(["evidence", "grown-pool-beats-dense-builtin"]) == 2
    assert "is measured on a stream" in capsys.readouterr().err


def test_recording_keeps_figures_rates_and_curves(tmp_path: Path) -> None:
    plan = stream_plan(StreamSettings(("builtin",), ("dense",)))
    curves = {"dense": tuning_curve("dense", {-4: 4.5, -2: 4.0, 0: 4.25, 2: 5.0}, {})}
    rows = rows_of(plan, {"dense": {0: {"average_loss": 4.0, "final_forgetting": 0.5}}}, curves=curves)
    path = tmp_path / "results.json"
    records.record(plan, rows, 49_152, {"base-dense": {"chosen": 0.016, "standing": "tuned"}}, path)
    found = records.read(path)["builtin"]["learners"]["dense"]
    assert found["figures"] == {"0": {"average_loss": 4.0, "final_forgetting": 0.5}}
    assert (found["standing"], found["tuning_runs"]) == ("tuned", 4)
    assert found["curve"] == [[0.002, 4.5], [0.004, 4.0], [0.008, 4.25], [0.016, 5.0]]


def test_only_streams_of_claims_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert records.stream_of(STREAMS["real"]) == "real"
    with pytest.raises(ConfigError, match="is no stream of a claim"):
        records.stream_of("a > b")
    assert main(["continual", "builtin:story,recipe", "--record"]) == 2
    assert "is no stream of a claim" in capsys.readouterr().err


def test_fresh_seeds_and_larger_models_have_claims_of_their_own() -> None:
    found = verdicts(**{"builtin": study(3.9, 0.01), "builtin-fresh": study(4.2, 0.03)})
    assert found["grown-pool-forgets-little-builtin"] == "supported"
    assert found["grown-pool-forgets-little-builtin-fresh"] == "refuted"
    assert found["grown-pool-beats-dense-replay-builtin-fresh"] == "refuted"
    assert found["grown-pool-beats-joint-builtin-large"] == "not run"
    found = verdicts(**{"builtin": study(3.9, 0.01), "builtin-large": study(9.0, 0.5)})
    assert found["grown-pool-beats-joint-builtin-large"] == "refuted"  # 3.9 against 3.8 of joint
    assert found["grown-pool-beats-dense-replay-builtin-large"] == "supported"
    assert {study_of(claim) for claim in CLAIMS.values()} == set(STUDIES)


def test_recorded_rates_keep_their_standing_beside_the_study(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"format": 1, "studies": {"builtin": study(3.9, 0.01)}}))
    rates = records.rates_of("builtin", path)
    assert rates["dense-replay"] == 0.004
    with pytest.raises(ConfigError, match="has no study on record"):
        records.rates_of("real", path)
    settings = StreamSettings(("builtin",), ("dense-replay",), num_seeds=2, first_seed=3, rates=rates)
    plan = stream_plan(settings)
    assert plan.seeds == (3, 4)
    assert plan.arms[0].config.train.learning_rate == 0.004
    assert base_configs(settings)["dense"].train.learning_rate == 0.016
    rows = rows_of(plan, {"dense-replay": {3: {"average_loss": 4.0}, 4: {"average_loss": 4.1}}})
    bases = {"base-dense": {"chosen": 0.016, "standing": "untuned"}}
    records.record(plan, rows, 50_000, bases, path, label="fresh")
    found = records.read(path)
    assert found["builtin"] == study(3.9, 0.01)
    fresh = found["builtin-fresh"]
    assert fresh["bases"]["base-dense"] == {"rate": 0.016, "standing": "tuned"}
    one = fresh["learners"]["dense-replay"]
    assert (one["rate"], one["standing"]) == (0.004, "tuned")
    assert one["figures"] == {"3": {"average_loss": 4.0}, "4": {"average_loss": 4.1}}
    with pytest.raises(ConfigError, match="is no study of builtin"):
        records.record(plan, rows, 50_000, bases, path, label="other")


@pytest.mark.parametrize("rate", [0.016, 0.032])
def test_learners_are_added_to_a_study_of_the_same_bases(tmp_path: Path, rate: float) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"format": 1, "studies": {"builtin": study(3.9, 0.01)}}))
    plan = stream_plan(StreamSettings(("builtin",), ("dense-adapters",)))
    rows = rows_of(plan, {"dense-adapters": {0: {"average_loss": 3.0}}})
    records.record(plan, rows, 50_000, {"base-dense": {"chosen": rate, "standing": "tuned"}}, path)
    learners = records.read(path)["builtin"]["learners"]
    assert learners["dense-adapters"]["figures"] == {"0": {"average_loss": 3.0}}
    assert ("some-grow" in learners) == (rate == 0.016)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--first-seed", "-1"], "--first-seed = -1: is negative"),
        (["--recorded-rates", "--tune"], "leave one of the two out"),
        (["--record", "--label", "other"], "is no study of builtin"),
    ],
)
def test_bad_seeds_rates_and_labels_are_one_line(
    capsys: pytest.CaptureFixture[str], more: list[str], problem: str
) -> None:
    assert main(["continual", "builtin", "--learners", "dense", *more]) == 2
    assert problem in capsys.readouterr().err.strip().splitlines()[-1]
