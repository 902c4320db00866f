"""Folders of sweeps and continual studies become parts of a page: the numbers of their files, whatever else
lies in them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.experiments.streams.plan import MEASURES
from somelab.experiments.streams.summary import COUNTS
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.halving import Halving
from somelab.experiments.tuning.search import Trial
from somelab.view.live.messages import RunList
from somelab.view.page.groups import is_light, page_of
from somelab.view.page.heavy import Options
from somelab.view.page.results import band_of, exact, kind_of
from somelab.view.page.studies import study_of
from somelab.view.page.sweeps import curves_of, sweep_of
from somelab.view.report import data_of, inlined, static_page
from somelab.view.schema.results import Study, Sweep
from tests.browser.serving import serving
from tests.view.builders import append, synthetic_run
from tests.view.result_builders import CURVES, LOSSES, WORDS, write_results, write_study, write_sweep

QUICK = Options(maps=("pca",), tokens=0)
HALF = 4.302653 * 0.1 / 3**0.5  # t(0.975, 2) * s / sqrt(n)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep and a study in it. Do not change it."""
    return write_results(tmp_path_factory.mktemp("results"))


@pytest.fixture
def sweep(results: Path) -> Sweep:
    return sweep_of(results / "sweeps" / "widths", "widths", lambda run: f"{run.parent.name}-{run.name}")


@pytest.fixture
def study(results: Path) -> Study:
    return study_of(results / "kinds", "kinds")


def test_arms_hold_the_intervals_of_the_table_and_every_seed(sweep: Sweep) -> None:
    assert (sweep.problem, sweep.name, sweep.title, sweep.scale, sweep.seeds) == (
        None,
        "widths",
        "a plan by hand",
        "micro",
        [0, 1, 2],
    )
    assert sweep.settings == {"train.steps": "4"}
    x, y, z = sweep.arms
    loss = x.figures["val_loss"]
    assert (loss.mean, loss.num, loss.values) == (pytest.approx(4.1), 3, [4.0, 4.1, 4.2])
    assert (loss.low, loss.high) == (pytest.approx(4.1 - HALF), pytest.approx(4.1 + HALF))
    assert y.base == "x"
    assert y.differences["val_loss"].values == pytest.approx([-0.1, -0.2, -0.3])
    assert y.differences["val_loss"].mean == pytest.approx(-0.2)
    assert y.differences["val_loss"].high == pytest.approx(-0.2 + HALF)
    assert (z.figures["val_loss"].low, z.figures["val_loss"].values) == (None, [5.0])
    assert z.differences["val_loss"].values == pytest.approx([0.9])
    assert x.sizes == {"d_model": 256, "num_layers": 4, "num_experts": 8, "d_ffn": 1024, "top_k": 2}


def test_remarks_of_the_table_are_kept_and_an_older_table_has_none(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "widths")
    table = json.loads((folder / "table.json").read_text())
    assert table["remarks"] == []
    (folder / "table.json").write_text(json.dumps({**table, "remarks": ["x, y have one shape here"]}))
    assert sweep_of(folder, "widths", lambda path: None).remarks == ["x, y have one shape here"]
    del table["remarks"]
    (folder / "table.json").write_text(json.dumps(table))
    older = sweep_of(folder, "widths", lambda path: None)
    assert (older.problem, older.remarks) == (None, [])


def test_a_tuned_sweep_has_a_line_an_arm_and_the_choice(tmp_path: Path) -> None:
    tuned = sweep_of(write_sweep(tmp_path / "widths", CURVES), "widths", lambda path: None)
    chart = tuned.tuning
    assert chart is not None
    assert (chart.x_label, chart.log, chart.labels) == ("train.learning_rate", True, [])
    x, y, z = chart.lines
    assert [(point.x, point.y, point.ended) for point in x.points] == [
        (0.002, 4.5, True), (0.004, 4.0, True), (0.008, 4.25, True), (0.016, 5.6, False)
    ]  # fmt: skip
    assert (x.chosen, y.chosen, z.chosen) == (0.004, 0.064, None)
    assert z.points[-1].model_dump() == {"x": 0.016, "y": None, "ended": True, "note": "z at 0.016: diverged"}
    assert x.points[-1].note == "x at 0.016: 5.6000, stopped at step 25 of 100"
    standings = {arm.name: arm.tuning.standing for arm in tuned.arms if arm.tuning}
    assert standings == {"x": "tuned", "y": "at the edge", "z": "unfinished"}
    first, _, last = (arm.tuning for arm in tuned.arms)
    assert first is not None
    assert last is not None
    assert (first.chosen, first.num_runs, last.chosen) == ("0.004", 3.25, "")


def test_values_in_words_have_places_and_wide_numbers_a_logarithm(tmp_path: Path) -> None:
    chart = sweep_of(write_sweep(tmp_path / "words", WORDS), "words", lambda path: None).tuning
    assert chart is not None
    assert (chart.log, chart.labels, chart.lines[0].chosen) == (False, ["moved", "fixed", "gradient"], 0.0)
    assert [point.x for point in chart.lines[0].points] == [0.0, 1.0, 2.0]

    def log_of(*values: float | None) -> tuple[bool, list[str]]:
        search = Halving(values, 100)
        trials = {place: Trial(value, {25: 4.0}) for place, value in enumerate(values)}
        curves = {name: Curve(name, "train.clip", search, trials, 1000, "digest") for name in "xyz"}
        folder = write_sweep(tmp_path / str(len(list(tmp_path.iterdir()))), curves)
        made = sweep_of(folder, "s", lambda path: None).tuning
        assert made is not None
        return made.log, made.labels

    assert log_of(0.1, 0.2) == (False, [])
    assert log_of(0.1, 0.8) == (True, [])
    assert log_of(0.0, 0.1, 0.8) == (False, [])
    assert log_of(0.5, None) == (False, ["0.5", "null"])


def test_a_sweep_that_tunes_nothing_has_no_chart(sweep: Sweep) -> None:
    assert sweep.tuning is None
    assert all(arm.tuning is None for arm in sweep.arms)


def test_a_tuned_sweep_as_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `figures` is not installed")
    folder, figures = write_sweep(tmp_path / "widths", CURVES), tmp_path / "figures"
    argv = ["report", str(folder), "--maps", "pca", "--figures", str(figures), "-o", str(tmp_path / "r.html")]
    assert main(argv) == 0
    assert (figures / "widths-tuning.svg").stat().st_size > 1000
    with (figures / "widths-tuning.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows if row["chosen"] == "True"] == ["0.004", "0.064"]
    assert len(rows) == 4 + 6 + 3


def test_published_figures_stand_beside_the_measures_they_are_of(sweep: Sweep) -> None:
    assert sweep.arms[0].published == {
        "loss_with_padding": 0.7629,
        "ppl_with_padding": 2.14,
        "training_gini_with_padding": 0.7912,
        "training_entropy_bits_with_padding": 4.0851,
    }
    assert sweep.arms[1].published == {}
    beside = {measure.name: measure.published for measure in sweep.measures if measure.published}
    assert beside == {
        "val_loss": "val_loss",
        "val_ppl": "val_ppl",
        "ppl_with_padding": "ppl_with_padding",
        "gini_middle": "gini",
        "entropy_bits_middle": "entropy_bits",
    }
    digits = {measure.name: measure.digits for measure in sweep.measures}
    assert (digits["val_loss"], digits["ppl_with_padding"], digits["tokens"]) == (4, 3, 0)


def test_runs_that_failed_or_are_not_there_are_told(sweep: Sweep) -> None:
    assert [(run.seed, run.run_id, run.failure) for run in sweep.arms[2].runs] == [
        (0, None, "training diverged: loss nan"), (1, "z-seed-1", None), (2, None, None)
    ]  # fmt: skip
    assert [run.run_id for run in sweep.arms[0].runs] == ["x-seed-0", "x-seed-1", "x-seed-2"]


def test_curves_are_means_over_seeds_between_the_least_and_the_most(sweep: Sweep) -> None:
    measured = sweep.arms[0].curves["val_loss"]
    assert measured.tokens == [200, 400]
    assert measured.mean == pytest.approx([4.6, 4.1])
    assert (measured.low, measured.high) == ([4.5, 4.0], [4.7, 4.2])
    train = sweep.arms[0].curves["loss"]
    assert train.tokens == [100, 200, 300, 400]
    assert train.mean == pytest.approx([4.1 + 1 / step for step in (1, 2, 3, 4)], rel=1e-5)
    assert train.low[0] == 5.0


def test_curves_of_unequal_runs_keep_the_steps_that_all_have(tmp_path: Path) -> None:
    for name, steps in (("a", range(1, 701)), ("b", range(1, 1001))):
        run = synthetic_run(tmp_path / name, records=0)
        append(
            run,
            "metrics",
            [{"kind": "train", "step": step, "loss": float(step), "tokens": step} for step in steps],
        )
    band = curves_of([tmp_path / "a", tmp_path / "b", tmp_path / "nowhere"])["loss"]
    # 700 steps in 300 points at most: blocks of three, whose means are their middles, and one step that is
    # left.
    assert len(band.tokens) == 234
    assert (band.tokens[:2], band.mean[:2], band.mean[-1]) == ([3, 6], [2, 5], 700)
    assert curves_of([]) == {}


def test_what_is_not_finite_leaves_a_gap() -> None:
    band = band_of([1, 2, 3], [[1.0, None, None], [3.0, 5.0, None]])
    assert (band.mean, band.low, band.high) == ([2, 5, None], [1, 5, None], [3, 5, None])
    assert (exact(1853632), exact(float("nan")), exact("4")) == (1853632, None, None)


def test_learners_hold_the_measures_of_every_seed(study: Study) -> None:
    assert (study.problem, study.name, study.scale) == (None, "kinds", "micro")
    assert [measure.name for measure in study.measures] == [
        measure.name for measure in MEASURES.all if measure.name not in COUNTS
    ]
    some, dense = study.learners
    assert (some.name, some.num_trainable, some.seeds) == ("some-keys", 0, [0, 1])
    assert some.about.startswith("No gradient: the keys move by gravity")
    # By hand, see MATRICES: (5 + 4 + 2) / 3; story rose by 2 and recipe by 1 above their best, and stayed
    # there.
    assert dense.figures["average_loss"].values == pytest.approx([11 / 3, 11 / 3 + 0.2])
    assert dense.figures["average_loss"].mean == pytest.approx(11 / 3 + 0.1)
    assert dense.figures["average_loss"].high == pytest.approx(11 / 3 + 0.1 + 12.7062 * 0.1, rel=1e-5)
    assert dense.figures["forgetting"].mean == pytest.approx(1.5)
    assert dense.figures["backward_transfer"].mean == pytest.approx(-1.5)
    assert dense.figures["forward_transfer"].mean == pytest.approx(0.2)
    assert some.figures["forgetting"].mean == pytest.approx(0.05)
    assert dense.matrix[2] == pytest.approx([5.1, 4.1, 2.1])


def test_the_stream_begins_behind_the_base(study: Study) -> None:
    assert study.experiences == ["story", "recipe", "weather"]
    assert study.rows == ["base: story", "recipe", "weather"]
    assert study.learned == ["recipe", "weather"]
    band = study.learners[0].online
    assert band.tokens == [250, 750, 1250, 1750]
    assert (band.low, band.mean, band.high) == ([6, 5, 7, 6.5], [6.5, 5.5, 7.5, 7], [7, 6, 8, 7.5])


def test_from_scratch_every_experience_is_of_the_stream(results: Path, tmp_path: Path) -> None:
    summary = json.loads((results / "kinds" / "summary.json").read_text())
    for result in summary["results"]:
        result["online"] = [[5.0, 4.0], *result["online"]]
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(summary))
    study = study_of(folder, "scratch")
    assert study.rows == study.learned == study.experiences
    assert len(study.learners[0].online.tokens) == 6


def test_folders_are_known_by_their_files(results: Path, tmp_path: Path) -> None:
    assert kind_of(results / "sweeps" / "widths") == "sweep"
    assert kind_of(results / "kinds") == "continual"
    assert kind_of(results) is None
    assert kind_of(synthetic_run(tmp_path / "run").path) is None
    for name, content in (
        ("summary.json", {"seconds": 3}),
        ("table.json", [1]),
        ("plan.json", {"name": "other tool"}),
    ):
        (tmp_path / name).write_text(json.dumps(content))
        assert kind_of(tmp_path) is None
    (tmp_path / "table.json").unlink()
    (tmp_path / "plan.json").write_text(json.dumps({"name": "p", "arms": [], "seeds": [0]}))
    assert kind_of(tmp_path) == "sweep"
    assert "has no table yet" in str(sweep_of(tmp_path, "p", lambda run: None).problem)
    (tmp_path / "plan.json").unlink()
    (tmp_path / "study.json").write_text(json.dumps({"stream": ["builtin"], "tokens": 1, "eval_tokens": 1}))
    assert kind_of(tmp_path) == "continual"


def without_measures(table: str) -> str:
    return json.dumps({name: value for name, value in json.loads(table).items() if name != "measures"})


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda table: table[:100], "table.json: cannot be read (JSONDecodeError)"),
        (without_measures, "of an earlier version; give its `somelab sweep` command again"),
        (lambda table: table.replace('"values"', '"other"'), "its table cannot be read (KeyError"),
        (lambda table: "[" * 100_000, "cannot be read (RecursionError)"),
    ],
)
def test_a_damaged_table_is_one_line(
    sweep: Sweep, damage: Callable[[str], str], line: str, tmp_path: Path
) -> None:
    (tmp_path / "table.json").write_text(damage((Path(sweep.path) / "table.json").read_text()))
    found = sweep_of(tmp_path, "damaged", lambda run: None)
    assert found.problem is not None
    assert line in found.problem
    assert "\n" not in found.problem
    assert found.arms == []


def test_a_damaged_summary_is_one_line(tmp_path: Path) -> None:
    assert "has no summary yet" in str(study_of(tmp_path, "s").problem)
    (tmp_path / "summary.json").write_text('{"kind": "continual", "experiences": [], "learners": {}}')
    assert "its summary cannot be read (KeyError" in str(study_of(tmp_path, "s").problem)


def test_no_name_in_a_table_leads_out_of_its_folder(results: Path, tmp_path: Path) -> None:
    synthetic_run(tmp_path / "secret" / "seed-0")
    table = (
        (results / "sweeps" / "widths" / "table.json")
        .read_text()
        .replace('"name": "x"', '"name": "../secret"')
    )
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "table.json").write_text(table)
    found = sweep_of(folder, "s", lambda run: run.name)
    assert found.arms[0].name == "../secret"
    assert [run.run_id for run in found.arms[0].runs] == [None, None, None]
    assert found.arms[0].curves == {}
    assert page_of([folder], QUICK).runs == []


def test_the_runs_of_a_sweep_come_along_lightly(results: Path) -> None:
    folder = results / "sweeps" / "widths"
    page = page_of([folder, results / "kinds", folder / "y" / "seed-1"], QUICK)
    assert page.title == "widths, kinds, y seed 1"
    assert [run.id for run in page.runs][:3] == ["y-seed-1", "x-seed-0", "x-seed-1"]
    assert len(page.runs) == 7
    named, *light = page.runs
    assert not is_light(named)
    assert named.galaxies
    assert all(is_light(run) and run.galaxies == [] and run.curves.train.step for run in light)
    (sweep,), (study,) = page.sweeps, page.studies
    assert [run.run_id for run in sweep.arms[1].runs] == ["y-seed-0", "y-seed-1", "y-seed-2"]
    assert study.id == "kinds"
    assert data_of(inlined(page, static_page())) == page


def test_the_command_takes_runs_sweeps_and_studies(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "strange").mkdir()
    folders = [str(results / "sweeps" / "widths"), str(results / "kinds"), str(tmp_path / "strange")]
    out, figures = tmp_path / "page.json", tmp_path / "figures"
    assert main(["report", *folders, "--maps", "pca", "--data-only", str(out)]) == 0
    said = capsys.readouterr().out
    assert "widths (sweep): 3 arms, 7 finished runs" in said
    assert "kinds (continual): 2 learners, 3 experiences" in said
    assert "strange (foreign): run" in said
    assert "is no run, sweep or continual study" in said
    assert "x seed 0" not in said
    pytest.importorskip("matplotlib", reason="the extra `figures` is not installed")
    assert main(["report", *folders[:2], "--maps", "pca", "--figures", str(figures), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["kind"], one["problem"]) for one in told["results"]] == [
        ("widths", "sweep", None), ("kinds", "continual", None)
    ]  # fmt: skip
    plots = {path.stem for path in figures.glob("*.svg")}
    assert {"widths-forest-val_loss", "widths-forest-val_loss-difference", "widths-curve-val_loss"} <= plots
    assert {"kinds-forest-forgetting", "kinds-matrices", "kinds-online"} <= plots
    assert not [name for name in plots if name.startswith("x-seed")]
    with (figures / "widths-arms.csv").open(newline="", encoding="utf-8") as file:
        rows = {(row["arm"], row["figure"], row["kind"]): row for row in csv.DictReader(file)}
    assert float(rows["y", "val_loss", "difference"]["mean"]) == pytest.approx(-0.2)
    assert rows["x", "ppl_with_padding", "published"]["mean"] == "2.14"
    with (figures / "kinds-matrix.csv").open(newline="", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    assert (last["learner"], last["after"], float(last["story"])) == ("dense", "weather", pytest.approx(5.1))


def test_the_server_lists_and_answers_them(results: Path, study: Study) -> None:
    with serving([results]) as server:
        listed = RunList.model_validate_json(server.ask("/api/runs").body)
        assert [(one.id, one.kind, one.problem) for one in listed.results] == [
            ("kinds", "continual", None), ("widths", "sweep", None)
        ]  # fmt: skip
        assert listed.results[1].about == "3 arms · 3 seeds · micro scale · a plan by hand"
        assert listed.results[0].about == "2 learners · story > recipe > weather"
        # The runs of a sweep in runs/sweeps/NAME lie four levels deep, and are found all the same.
        assert {run.id for run in listed.runs} == {f"{arm}-seed-{seed}" for arm, seed in LOSSES}
        found = Sweep.model_validate_json(server.ask("/api/sweeps/widths").body)
        assert [run.run_id for run in found.arms[0].runs] == ["x-seed-0", "x-seed-1", "x-seed-2"]
        assert Study.model_validate_json(server.ask("/api/studies/kinds").body) == study
        assert server.ask("/api/sweeps/nowhere").status == 404
        assert "has no table yet" in server.ask("/api/sweeps/x-seed-0").json["problem"]


def test_a_sweep_can_be_served_itself(results: Path) -> None:
    with serving([results / "sweeps" / "widths"]) as server:
        listed = RunList.model_validate_json(server.ask("/api/runs").body)
    assert [one.id for one in listed.results] == ["widths"]
    assert len(listed.runs) == len(LOSSES)


def test_a_tuned_study_has_its_searches_costs_and_generations(tmp_path: Path) -> None:
    study = study_of(write_study(tmp_path / "grown", grows=True), "grown")
    assert study.problem is None
    keys, dense, grown = study.learners
    assert keys.tuning is None
    assert dense.tuning is not None
    assert grown.tuning is not None
    assert (dense.tuning.standing, dense.tuning.chosen) == ("tuned", "0.004")
    assert (grown.tuning.standing, grown.tuning.chosen) == ("at the edge", "0.064")
    assert (keys.learning_rate, dense.learning_rate) == (None, 0.004)
    assert (dense.cpu_seconds, keys.cpu_seconds) == (40.5, None)
    assert (dense.parameters_added, dense.bytes_added) == (0, 4938268)
    assert [(one.name, one.at_experience, one.at_token) for one in grown.generations] == [
        ("gen1", 1, 128), ("gen2", 2, 0)
    ]  # fmt: skip
    assert grown.served_by == ["base", "gen1", "gen2"]
    assert grown.served[2] == [0.0, 0.25, 0.75]
    assert study.tuning is not None
    assert [line.name for line in study.tuning.lines] == ["dense", "some-grow"]
    assert study.tuning.lines[0].chosen == 0.004
    assert study.bases["base-dense"].chosen == "0.016"


def test_a_damaged_file_of_times_costs_only_the_times(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "grown", grows=True)
    (folder / "times.json").write_text("[{}]")
    study = study_of(folder, "grown")
    assert study.problem is None
    assert all(learner.cpu_seconds is None for learner in study.learners)


def test_published_curves_stand_behind_the_curves_that_are_measured_alike(sweep: Sweep) -> None:
    x, y, _ = sweep.arms
    assert x.published_curves.keys() == {
        "loss",
        "loss_with_padding",
        "training_gini_with_padding",
        "training_entropy_bits_with_padding",
    }
    behind = x.published_curves["loss_with_padding"]
    assert (behind.share, behind.value) == ([0.25, 0.5, 0.75, 1.0], [0.8872, 0.8054, 0.77, 0.7629])
    assert y.published_curves == {}


def test_usage_in_training_is_drawn_where_there_is_something_to_hold_it_against(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "run", layers=3)
    tokens = {record["step"]: record["tokens"] for record in run.records("metrics") if "tokens" in record}
    layers = [
        {"step": step, "layers": [{"gini": 0.1 * layer, "entropy_bits": 2.0} for layer in range(3)]}
        for step in (1, 3)
    ]
    (run.path / "layers.jsonl").write_text("".join(json.dumps(record) + "\n" for record in layers))
    assert "training_gini" not in curves_of([run.path])
    found = curves_of([run.path], balance=True)["training_gini"]
    assert (found.tokens, found.mean) == ([tokens[1], tokens[3]], [0.1, 0.1])
    assert "training_gini_with_padding" not in curves_of([run.path], balance=True)
    append(run, "metrics", [{"kind": "final", "step": 9, "tokens": 90, "loss_with_padding": 0.75}])
    assert curves_of([run.path])["loss_with_padding"].mean[-1] == 0.75
