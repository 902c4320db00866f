"""`somelab sweep --tune` with real runs: every arm is searched, then judged at its own value; it all
resumes."""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from somelab.analysis.intervals import Interval
from somelab.cli.main import main
from somelab.config import Config, override
from somelab.errors import SomelabError
from somelab.experiments.runner.drive import Prepared, drive
from somelab.experiments.runner.estimate import Size
from somelab.experiments.runner.job import JobOutcome, read_outcome, write_outcome
from somelab.experiments.runner.plan import Arm, Job, Plan
from somelab.experiments.sweeps import sweep as sweeping
from somelab.experiments.sweeps.sweep import run_sweep
from somelab.experiments.sweeps.table import as_csv, as_record, at_a_glance, markdown, rows_of, tuning_lines
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.request import parse_request
from somelab.experiments.tuning.search import Search, Trial, first_values
from somelab.runs import RunFolder
from tests.experiments.builders import arm_of, plain, plan_of
from tests.training.builders import SMALL, flags_of

RATES = parse_request("train.learning_rate=0.0001,0.003,3000")


def small_plan(text: Path) -> Plan:
    """Two arms that train in a second; at a learning rate of 3000 both diverge."""
    wild = {"train__clip": None, "train__steps": 8, "train__warmup_fraction": 0.0}
    return plan_of(
        text,
        arm_of("plain", text, **wild),
        arm_of("no-beta", text, "plain", gravity__peer_pull=False, **wild),
        seeds=(0,),
    )


@pytest.fixture(scope="module")
def tuned(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tuned sweep. Do not change it: copy it."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    result = run_sweep(small_plan(text), out, tune=RATES, num_workers=1)
    # A value that diverges is no failure of the sweep.
    assert [outcome.status for outcome in result.driven.outcomes].count("failed") == 2
    assert result.exit_code == 0
    return out


def test_every_arm_is_judged_at_its_own_value(tuned: Path) -> None:
    table = json.loads((tuned / "table.json").read_text())
    assert table["tuning"] == {
        "setting": "train.learning_rate",
        "values": [0.0001, 0.003, 3000.0],
        "seed": 1000,
    }
    assert json.loads((tuned / "plan.json").read_text())["tune"]["setting"] == "train.learning_rate"
    for arm in table["arms"]:
        tuning = arm["tuning"]
        # 0.003 learns more in eight steps than 0.0001, and lies inside the list.
        assert (tuning["chosen"], tuning["standing"]) == (0.003, "tuned")
        assert [(one["value"], one["ended"]) for one in tuning["curve"]] == [
            (0.0001, False),
            (0.003, True),
            (3000, True),
        ]
        assert tuning["curve"][2]["loss"] is None
        # Steps 4 of 8 before it was dropped, a whole run, and one that diverged, which counts as a whole.
        assert tuning["runs"] == 2.5
        run = RunFolder(tuned / arm["name"] / "seed-0")
        assert run.config().train.learning_rate == 0.003
        assert (run.config().train.seed, run.config().data.purpose) == (0, "judge")
    for run in (tuned / "tuning").glob("*/*/seed-*/run.json"):
        config = RunFolder(run.parent).config()
        assert (config.train.seed, config.data.purpose) == (1000, "tune")


def test_a_second_call_trains_nothing_and_writes_the_same(text: Path, tuned: Path, tmp_path: Path) -> None:
    out = shutil.copytree(tuned, tmp_path / "out", symlinks=True)
    before = {
        name: (out / name).read_bytes() for name in ("table.md", "table.csv", "table.json", "plan.json")
    }
    again = run_sweep(small_plan(text), out, tune=RATES, num_workers=1)
    assert again.driven.outcomes == []
    assert {name: (out / name).read_bytes() for name in before} == before
    times = json.loads((out / "times.json").read_text())
    assert {one["arm"] for one in times} == {
        name + value for name in ("plain", "no-beta") for value in ("", "@0.0001", "@0.003", "@3000")
    }


def test_what_is_missing_goes_on_and_what_broke_is_tried_again(
    text: Path, tuned: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(tuned, tmp_path / "out", symlinks=True)
    shutil.rmtree(out / "plain")
    (broken,) = (out / "tuning").glob("no-beta-*/0.003/seed-1000")
    shutil.rmtree(broken)
    job = Job("no-beta@0.003", 1000, Config(), broken)
    outcome = read_outcome(job)
    assert outcome is not None
    write_outcome(job, replace(outcome, status="failed", reason="MemoryError: none left"))
    result = run_sweep(small_plan(text), out, tune=RATES, num_workers=1)
    assert result.exit_code == 0
    # The search of no-beta takes its one run through both rungs again; its judged run is there already.
    assert [(one.arm, one.status) for one in result.driven.outcomes if one.arm != "plain"] == [
        ("no-beta@0.003", "paused"),
        ("no-beta@0.003", "paused"),
        ("no-beta@0.003", "finished"),
    ]
    assert [(one.arm, one.status) for one in result.driven.outcomes if one.arm == "plain"] == [
        ("plain", "finished")
    ]
    assert (out / "table.json").read_bytes() == (tuned / "table.json").read_bytes()


def test_a_folder_that_was_tuned_otherwise_is_refused_before_any_run(
    text: Path, tuned: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(tuned, tmp_path / "out", symlinks=True)
    other = parse_request("train.learning_rate=0.0001,0.003")
    with pytest.raises(
        SomelabError, match=r"runs of a sweep with train\.learning_rate tuned in another way; give"
    ):
        run_sweep(small_plan(text), out, tune=other)
    changed = small_plan(text).changed({"experts.top_k": "1"})
    with pytest.raises(SomelabError, match=r"another configuration \(experts\.top_k 2, now 1\)"):
        run_sweep(changed, out, tune=RATES)
    (out / "plan.json").unlink()
    with pytest.raises(SomelabError, match="runs of a sweep without --tune"):
        run_sweep(small_plan(text), out, tune=RATES)


def test_an_arm_whose_values_all_diverge_fails_and_the_others_go_on(text: Path, tmp_path: Path) -> None:
    wild = {"train__clip": None, "train__steps": 4, "train__warmup_fraction": 0.0}
    plan = plan_of(
        text,
        arm_of("wild", text, train__learning_rate=3000.0, **wild),
        arm_of("calm", text, "wild", gravity__peer_pull=False, train__learning_rate=0.001, **wild),
        seeds=(0,),
    )
    result = run_sweep(plan, tmp_path, tune=parse_request("train.weight_decay=0,0.1"), num_workers=1)
    assert result.exit_code == 1
    record = {arm["name"]: arm["tuning"] for arm in json.loads((tmp_path / "table.json").read_text())["arms"]}
    assert (record["wild"]["standing"], record["wild"]["problem"]) == ("failed", "no value has a loss")
    assert record["calm"]["standing"] == "at the edge"  # one of two numbers always is
    assert not (tmp_path / "wild").exists()
    assert (tmp_path / "calm" / "seed-0" / "run.json").exists()
    assert "| wild *untuned* |" in (tmp_path / "table.md").read_text()
    # The next call has nothing to train, and is no success either.
    assert run_sweep(plan, tmp_path, tune=parse_request("train.weight_decay=0,0.1")).exit_code == 1


def test_a_grid_grows_around_the_arms_own_value(text: Path, tmp_path: Path) -> None:
    plan = plan_of(text, arm_of("plain", text, train__steps=4, train__learning_rate=0.01), seeds=(0,))
    result = run_sweep(plan, tmp_path, tune=parse_request("train.learning_rate"), num_workers=1)
    (row,) = result.rows
    assert row.tuning is not None
    assert row.tuning.standing == "tuned"
    values = [trial.value for trial in row.tuning.ordered]
    assert {0.0025, 0.005, 0.01, 0.02} <= set(values)
    factors = [high / low for low, high in itertools.pairwise(values)]
    assert factors == pytest.approx([2] * len(factors))
    # The chosen value has a worse one on either side, measured at full length.
    losses = dict(row.tuning.points)
    place = values.index(row.tuning.best)
    assert losses[values[place - 1]] > losses[values[place]] < losses[values[place + 1]]
    assert RunFolder(tmp_path / "plain" / "seed-0").config().train.learning_rate == row.tuning.best
    outcomes = [one.status for one in result.driven.outcomes]
    assert outcomes[:4] == ["paused"] * 4
    assert set(outcomes[4:]) == {"finished"}


def test_words_by_the_command(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    argv = ["sweep", "plan-c", "--seeds", "1", "--data", str(text), "--workers", "1", "--out", str(out)]
    argv += flags_of({**SMALL, "train.steps": 4})
    assert main([*argv, "--tune", "gravity.attraction=true,false"]) == 0
    said, progress = capsys.readouterr()
    assert "## Tuning" in said
    assert "mvp-v3@true seed 1000: paused" in progress
    table = json.loads((out / "table.json").read_text())
    assert {arm["tuning"]["standing"] for arm in table["arms"]} == {"tuned"}
    assert all(isinstance(arm["tuning"]["chosen"], bool) for arm in table["arms"])
    record = json.loads((out / "plan.json").read_text())["tune"]
    assert record == {"setting": "gravity.attraction", "values": ["true", "false"], "seed": 1000}


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--tune", "train.learning_rat"], "did you mean train.learning_rate?"),
        (["--tune", "train.seed"], "tune = 'train.seed': selecting a random seed by its loss is overfitting"),
        (
            ["--tune", "data.purpose=judge,tune"],
            "tune = 'data.purpose': the text is what arms are compared on",
        ),
        (
            ["--tune", "train.learning_rate"],
            "train.steps = None: a search compares runs of equal length in steps",
        ),
        (
            ["--tune", "train.clip", "--tune=router.width"],
            "'train.clip, router.width': one setting is tuned at a time",
        ),
        (
            ["--tune", "train.clip", "--minutes-per-arm", "3"],
            "minutes-per-arm = 3.0: a search compares runs of equal",
        ),
        (
            ["--tune", "model.dropout", "--train.steps", "4"],
            "model.dropout = 0.0: a geometric grid needs a value above",
        ),
        (["--tune", "gravity.keys", "--train.steps", "4"], "--tune gravity.keys=moved,fixed,gradient"),
        (["--tune"], "--tune has no value"),
    ],
)
def test_bad_input_is_one_line(argv: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "plan-c", *argv]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line
    assert "; " in line or "--help" in line


def test_the_help_says_what_tuning_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--help"]) == 0
    said = " ".join(plain(capsys.readouterr().out).replace("│", " ").split())
    assert "--tune FIELD[=V1,V2,...]" in said
    assert "each arm is trained at its own best value of a setting" in said


# The table, by hand: x is tuned, y at the edge, z (compared with y) tuned, w unfinished.
STEPS = 100


def curve(arm: str, losses: dict[int, float], stopped: dict[int, float] | None = None) -> Curve:
    """Final losses by index on the grid around 0.008, and the losses of runs stopped after a quarter."""
    search = Search(0.008, first_values(0), STEPS, limits=(-4, 2))
    trials = {
        index: Trial(search.value(index), {25: loss + 1, STEPS: loss}, ended=True)
        for index, loss in losses.items()
    }
    trials |= {index: Trial(search.value(index), {25: loss}) for index, loss in (stopped or {}).items()}
    return Curve(arm, "train.learning_rate", search, trials, 1000, "digest")


CURVES = {
    "x": curve("x", {-4: 4.5, -2: 4.0, 0: 4.2}, {2: 6.0}),
    "y": curve("y", {-2: 5.0, 0: 4.4, 2: 4.1}, {-4: 6.0}),
    "z": curve("z", {-4: 4.5, -2: 4.0, 0: 4.2}, {2: 6.0}),
    "v": curve("v", {-4: 4.5, -2: 4.0, 0: 4.2}, {2: 6.0}),
    "w": curve("w", {}, {-4: 6.0}),
}
PLAN = Plan(
    "p",
    tuple(
        Arm(name, Config(), base=base)
        for name, base in (("x", None), ("y", "x"), ("z", "y"), ("v", "x"), ("w", "x"))
    ),
    (0, 1, 2),
)
FIGURES: dict[str, Any] = {
    name: {seed: {"val_loss": loss + 0.1 * seed + 0.01 * (seed == 1) * place} for seed in (0, 1, 2)}
    for place, (name, loss) in enumerate({"x": 4.0, "y": 3.0, "z": 2.0, "v": 3.5}.items())
}


def test_only_differences_of_two_tuned_arms_are_bold() -> None:
    rows = {row.arm.name: row for row in rows_of(PLAN, FIGURES, curves=CURVES)}
    assert {name: row.tuning.standing for name, row in rows.items() if row.tuning} == {
        "x": "tuned", "y": "at the edge", "z": "tuned", "v": "tuned", "w": "unfinished"
    }  # fmt: skip
    assert all(isinstance(rows[name].differences["val_loss"], Interval) for name in "yzv")
    assert all(rows[name].differences["val_loss"].excludes_zero for name in "yzv")
    page = markdown(PLAN, list(rows.values()))
    assert "| y - x *untuned* | 3 | -0.9967 ±" in page
    assert "| z - y *untuned* | 3 | -0.9967 ±" in page  # z is tuned, what it is compared with is not
    assert "| v - x | 3 | **-0.4900 ±" in page
    assert "bold where the interval excludes zero and both arms are tuned" in page


def test_tables_hold_value_standing_runs_and_the_curve() -> None:
    rows = rows_of(PLAN, FIGURES, curves=CURVES)
    page = markdown(PLAN, rows)
    assert "| arm | D/L/E/F/K | seeds | train.learning_rate | tuning | tuning runs | val_loss |" in page
    assert "| x | 256/4/64/1024/4 | 3 | 0.004 | tuned | 3.25 | 4.1000" in page
    assert "| y *untuned* | 256/4/64/1024/4 | 3 | 0.016 | at the edge | 3.25 |" in page
    assert "| w *untuned* | 256/4/64/1024/4 | 0 |  | unfinished | 0.25 |" in page
    stopped = "0.016: 6.0000 (stopped at step 25 of 100)"
    assert f"- x (tuned, 3.25 runs): 0.002: 4.5000, **0.004: 4.0000**, 0.008: 4.2000, {stopped}\n" in page
    assert "- w (unfinished, 0.25 runs): 0.002: 6.0000 (stopped at step 25 of 100)\n" in page
    heads, body = at_a_glance(PLAN.measures, rows)
    assert heads[:5] == ["arm", "D/L/E/F/K", "seeds", "learning_rate", "val_loss"]
    assert [cells[3] for cells in body] == ["0.004", "0.016 (at the edge)", "0.004", "0.004", "(unfinished)"]
    assert tuning_lines(rows)[0].startswith("x (tuned, 3.25 runs): 0.002: 4.5000, 0.004: 4.0000")
    lines = list(csv.DictReader(io.StringIO(as_csv(PLAN, rows))))
    assert [(one["tuned_value"], one["tuning"], one["tuning_runs"]) for one in lines[:2]] == [
        ("0.004", "tuned", "3.25"), ("0.016", "at the edge", "3.25")
    ]  # fmt: skip
    record = as_record(PLAN, rows)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["tuning"] == {"setting": "train.learning_rate", "values": None, "seed": 1000}
    point = record["arms"][0]["tuning"]["curve"][1]
    assert point == {"value": 0.004, "label": "0.004", "loss": 4.0, "step": 100, "ended": True}
    assert (record["arms"][4]["tuning"]["chosen"], record["arms"][4]["tuning"]["standing"]) == (
        None,
        "unfinished",
    )


def test_a_sweep_that_tunes_nothing_has_the_table_it_had() -> None:
    rows = rows_of(PLAN, FIGURES)
    assert "tuning" not in as_record(PLAN, rows)
    assert "tuning" not in as_record(PLAN, rows)["arms"][0]
    assert "uning" not in markdown(PLAN, rows) + as_csv(PLAN, rows)
    assert "tune" not in sweeping._plan_record(PLAN)


class OneByOne:
    """An executor whose jobs fail at once."""

    def __init__(self) -> None:
        self.running: list[Job] = []
        self.started: list[str] = []

    def start(self, job: Job) -> None:
        self.running.append(job)
        self.started.append(job.arm)

    def ended(self) -> list[JobOutcome]:
        ended, self.running = self.running, []
        return [JobOutcome(job.arm, job.seed, "failed", "training diverged") for job in ended]

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_a_failed_job_is_not_started_again_in_the_same_call(tmp_path: Path) -> None:
    config = override(Config(), {"train.steps": 4})
    jobs = [Prepared(Job(name, 0, config, tmp_path / name), "new", Size(4, 1.0)) for name in "ab"]
    executor = OneByOne()
    driven = drive(jobs[:1], executor, 1, following=lambda: jobs)
    assert executor.started == ["a", "b"]
    assert len(driven.failed) == 2
