"""The search for a setting's best value, by losses that are worked out by hand: on a grid that grows, among
given values, and from run folders."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from somelab.config import Config, override
from somelab.experiments.runner.job import JobOutcome, write_outcome
from somelab.experiments.runner.plan import Job
from somelab.experiments.tuning.curve import Curve, trials_of
from somelab.experiments.tuning.halving import Halving
from somelab.experiments.tuning.method import Method
from somelab.experiments.tuning.search import Search, Trial, first_values
from somelab.experiments.tuning.text import line, num_runs
from somelab.experiments.tuning.tuner import SEED, Tuner
from somelab.experiments.tuning.value import folder_name, shown
from tests.experiments.builders import write_run

STEPS = 100
Loss = Callable[[Any, int], float]
"""The loss of a value after a step; infinite: its run diverges before that step."""


def train(search: Method, index: int, step: int, loss: Loss) -> Trial:
    """A run as far as it was asked for, evaluated every quarter."""
    value, losses = search.value(index), dict[int, float]()
    for place in [*range(25, step + 1, 25)]:
        if math.isinf(loss(value, place)):
            return Trial(value, losses, ended=True, failed="training diverged")
        losses[place] = loss(value, place)
    return Trial(value, losses, ended=step == STEPS)


def searched(search: Method, loss: Loss) -> tuple[dict[int, Trial], list[dict[int, int]]]:
    """A search to its end, and what it asked for on the way."""
    trials, asked = dict[int, Trial](), list[dict[int, int]]()
    while wanted := search.wanted(trials):
        assert len(asked) < 50, "the search does not end"
        asked.append(wanted)
        trials.update({index: train(search, index, step, loss) for index, step in wanted.items()})
    return trials, asked


def curve_of(search: Method, trials: dict[int, Trial]) -> Curve:
    return Curve("arm", "train.learning_rate", search, trials, SEED, "digest")


def valley(best: float) -> Loss:
    """Lowest at `best`, one nat more for a factor of two on either side; falls as training goes on."""
    return lambda value, step: abs(math.log2(value / best)) + 5 - step / 100


GRID = Search(0.008, first_values(0), STEPS)


def test_an_optimum_inside_the_first_values_takes_three_and_a_quarter_runs() -> None:
    trials, asked = searched(GRID, valley(0.004))
    # Index 2 is a factor of two. All four for a quarter; then 0.004 and its neighbours to the end.
    assert asked == [{-4: 25, -2: 25, 0: 25, 2: 25}, {-4: 100, -2: 100, 0: 100}]
    curve = curve_of(GRID, trials)
    assert (curve.standing, curve.best, curve.best_index) == ("tuned", 0.004, -2)
    assert curve.points == [(0.002, 5.0), (0.004, 4.0), (0.008, 5.0)]
    assert curve.num_runs == 3.25
    assert num_runs(curve) == "3.25"
    assert [one["ended"] for one in curve.last_losses] == [True, True, True, False]
    assert curve.last_losses[-1] == {
        "value": 0.016,
        "label": "0.016",
        "loss": 6.75,
        "step": 25,
        "ended": False,
    }


@pytest.mark.parametrize(("best", "index"), [(0.064, 6), (0.0005, -8)])
def test_the_grid_grows_to_an_optimum_on_either_side(best: float, index: int) -> None:
    trials, asked = searched(GRID, valley(best))
    curve = curve_of(GRID, trials)
    assert (curve.standing, curve.best_index, curve.best) == ("tuned", index, best)
    # A neighbour a time beyond the first bracket, and a worse run behind the best.
    edge = max(trials) if index > 0 else min(trials)
    assert abs(edge) == abs(index) + 2
    assert all(len(more) == 1 for more in asked[2:])
    assert trials[edge].final == pytest.approx(5.0)


def test_a_ranking_on_the_way_does_not_decide() -> None:
    """High rates look bad until the schedule lowers them: at a quarter 0.002 leads, at the end 0.016."""
    finals = {0.001: 5.3, 0.002: 5.2, 0.004: 5.1, 0.008: 4.5, 0.016: 4.0, 0.032: 4.2}

    def loss(value: float, step: int) -> float:
        return finals[value] if step == STEPS else 5 + value

    trials, _ = searched(GRID, loss)
    assert curve_of(GRID, trials).best == 0.016
    assert curve_of(GRID, trials).standing == "tuned"


@pytest.mark.parametrize(("sign", "last"), [(-1, 18), (1, -20)])
def test_an_optimum_beyond_reach_is_at_the_edge(sign: int, last: int) -> None:
    trials, _ = searched(GRID, lambda value, step: 20 + sign * math.log2(value) - step / 100)
    curve = curve_of(GRID, trials)
    # 16 indices, a factor of 256, beyond the first values -4 to 2.
    assert (curve.standing, curve.best_index) == ("at the edge", last)
    assert curve.best == pytest.approx(0.008 * 2 ** (last / 2), rel=2e-3)
    assert curve.is_over
    assert not curve.is_tuned


def test_limits_of_the_setting_bound_the_grid_and_do_not_stop_the_climb() -> None:
    search = Search(0.8, first_values(-2), STEPS, limits=(-12, 0))
    trials, asked = searched(search, valley(0.8))
    assert max(trials) == 0
    assert curve_of(search, trials).standing == "at the edge"
    # After a quarter the value at the limit leads; in the end one further down is best.
    finals = {0.8: 5.0, 0.4: 4.0, 0.2: 4.5, 0.1: 5.0}
    trials, asked = searched(search, lambda value, step: finals[value] if step == STEPS else 6 - value)
    assert asked == [{-6: 25, -4: 25, -2: 25, 0: 25}, {-2: 100, 0: 100}, {-4: 100}]
    assert (curve_of(search, trials).standing, curve_of(search, trials).best) == ("tuned", 0.4)


def test_values_that_diverge_are_worse_than_all_others() -> None:
    trials, _ = searched(GRID, lambda value, step: math.inf if value > 0.003 else valley(0.0005)(value, step))
    curve = curve_of(GRID, trials)
    assert (curve.standing, curve.best) == ("tuned", 0.0005)
    assert "0.008: diverged" in line(curve)


def test_where_every_value_diverges_the_search_goes_down_and_fails_in_the_end() -> None:
    trials, asked = searched(GRID, lambda value, step: math.inf)
    assert asked[:2] == [{-4: 25, -2: 25, 0: 25, 2: 25}, {-6: 100}]
    assert min(trials) == -20
    curve = curve_of(GRID, trials)
    assert (curve.standing, curve.best_index, curve.problem) == ("failed", None, "no value has a loss")
    trials, _ = searched(Halving((0.1, 0.2), STEPS), lambda value, step: math.inf)
    assert curve_of(Halving((0.1, 0.2), STEPS), trials).standing == "failed"


def test_fine_adds_the_values_halfway() -> None:
    search = Search(0.008, first_values(0), STEPS, fine=True)
    trials, asked = searched(search, valley(0.0055))
    # Of the whole steps 0.004 is best; the values halfway to its neighbours are 0.00283 and 0.00566.
    assert asked[:2] == [{-4: 25, -2: 25, 0: 25, 2: 25}, {-4: 100, -2: 100, 0: 100}]
    assert set(trials) == {-4, -3, -2, -1, 0, 2}
    assert (curve_of(search, trials).best, curve_of(search, trials).standing) == (0.00566, "tuned")


def test_a_good_guess_saves_the_climb() -> None:
    """At a quarter 0.002 leads; the guess 0.016 is right and costs its bracket alone."""
    finals = {0.002: 5.2, 0.004: 5.1, 0.008: 4.5, 0.0113: 4.2, 0.016: 4.0, 0.0226: 4.1, 0.032: 4.2, 0.064: 6}

    def loss(value: float, step: int) -> float:
        return finals[value] if step == STEPS else 5 + value

    guess = Search(0.008, first_values(2), STEPS, start=2)
    trials, asked = searched(guess, loss)
    assert asked == [{-2: 25, 0: 25, 2: 25, 4: 25}, {0: 100, 2: 100, 4: 100}]
    assert (curve_of(guess, trials).standing, curve_of(guess, trials).best) == ("tuned", 0.016)
    fine = Search(0.008, first_values(2, fine=True), STEPS, fine=True, start=2)
    trials, asked = searched(fine, loss)
    assert asked == [{0: 25, 2: 25, 4: 25}, {1: 100, 2: 100, 3: 100}]
    assert (curve_of(fine, trials).standing, curve_of(fine, trials).best) == ("tuned", 0.016)
    # What another search has found counts, wherever that one began.
    known = {index: trial for index, trial in trials.items() if trial.ended} | {-6: Trial(0.001, {25: 6.0})}
    assert Search(0.008, first_values(8, fine=True), STEPS, fine=True, start=8).wanted(known) == {}


def test_a_wrong_guess_is_left_by_the_climb() -> None:
    search = Search(0.008, first_values(4, fine=True), STEPS, fine=True, start=4)
    trials, _ = searched(search, valley(0.008))
    assert (curve_of(search, trials).standing, curve_of(search, trials).best) == ("tuned", 0.008)
    assert not {index for index, trial in trials.items() if trial.ended} - {-1, 0, 1, 2, 3, 4, 5}


def test_halving_keeps_the_better_half_rounded_up() -> None:
    losses = {
        "a": {25: 4.0, 50: 3.5},
        "b": {25: 5.0},
        "c": {25: 3.0, 50: 3.2, 75: 3.1, 100: 3.1},
        "d": {25: 4.5, 50: 3.4, 75: 3.1, 100: 2.9},
        "e": {25: 6.0},
    }
    search = Halving(tuple(losses), STEPS)
    trials, asked = searched(search, lambda value, step: losses[value][step])
    # Of five three go on (c, a, d), of those two (c at 3.2, d at 3.4), and both run to the end.
    assert asked == [{0: 25, 1: 25, 2: 25, 3: 25, 4: 25}, {0: 50, 2: 50, 3: 50}, {2: 100, 3: 100}]
    assert search.rungs == (25, 50)
    curve = curve_of(search, trials)
    assert (curve.best, curve.standing) == ("d", "tuned")  # a and c led on the way
    assert curve.num_runs == 2 + 0.5 + 2 * 0.25


def test_ties_go_by_the_order_given() -> None:
    forwards, backwards = Halving(("x", "y", "z"), STEPS), Halving(("z", "y", "x"), STEPS)
    for search, first in ((forwards, "x"), (backwards, "z")):
        trials, asked = searched(search, lambda value, step: 4.0)
        assert [len(wanted) for wanted in asked] == [3, 2, 1]
        assert curve_of(search, trials).best == first


@pytest.mark.parametrize(
    ("values", "best", "standing"),
    [
        ((0.1, 0.2, 0.4), 0.1, "at the edge"),
        ((0.1, 0.2, 0.4), 0.2, "tuned"),
        ((0.1, 0.2, 0.4), 0.4, "at the edge"),
        ((0.4, 0.1, 0.2), 0.2, "tuned"),  # the edge is that of the numbers, not of the list
        ((4, 2, 8), 8, "at the edge"),
        ((None, 0.5, 1.0), None, "tuned"),  # null lies on no axis
        ((None, 0.5, 1.0), 1.0, "at the edge"),
        ((True, False), True, "tuned"),
        (("fixed", "moved"), "fixed", "tuned"),
    ],
)
def test_only_numbers_have_an_edge(values: tuple[Any, ...], best: Any, standing: str) -> None:
    search = Halving(values, STEPS)
    trials, _ = searched(search, lambda value, step: 3.0 if value == best else 4.0)
    curve = curve_of(search, trials)
    assert (curve.best, curve.standing) == (best, standing)
    assert set(trials) == set(range(len(values)))  # never extended


def test_a_value_that_diverges_late_makes_room_for_the_next_best() -> None:
    search = Halving((0.1, 0.2, 0.4, 0.8), STEPS)
    quarter = {0.1: 5.0, 0.2: 4.0, 0.4: 3.0, 0.8: 2.0}

    def loss(value: float, step: int) -> float:
        return math.inf if value >= 0.4 and step > 25 else quarter[value]

    trials, asked = searched(search, loss)
    assert asked[1] == {2: 50, 3: 50}
    assert asked[2] == {0: 50, 1: 50}
    assert curve_of(search, trials).best == 0.2
    assert curve_of(search, trials).standing == "tuned"


@pytest.mark.parametrize(("steps", "rungs"), [(1, ()), (2, (1,)), (3, (1, 2)), (11, (2, 4)), (100, (25, 50))])
def test_rungs_lie_where_a_run_is_evaluated(steps: int, rungs: tuple[int, ...]) -> None:
    assert Halving((1, 2), steps).rungs == rungs
    config = override(Config(), {"train.steps": steps})
    tuner = Tuner("x", config, Path(), anchor=1, values=(1, 2), setting="gravity.every")
    every = tuner.config.train.eval_every
    assert every is not None
    assert all(rung % every == 0 for rung in rungs)
    assert Search(1.0, first_values(0), steps).screening_step % every == 0


def test_what_is_wanted_follows_from_the_losses_alone() -> None:
    halving = Halving((0.1, 0.2, 0.4, 0.8, 1.6), STEPS)
    for search in (GRID, halving):
        trials, _ = searched(search, valley(0.3))
        some = dict(list(trials.items())[:2])
        for known in (trials, some):
            backwards = dict(reversed(list(known.items())))
            assert search.wanted(known) == search.wanted(backwards)
            assert search.best(known) == search.best(backwards)


def test_a_curve_comes_back_from_its_record() -> None:
    for search in (GRID, Halving((None, 0.5, 1.0), STEPS)):
        trials, _ = searched(search, lambda value, step: round(4.0 + (value or 0) - step / 100, 5))
        record = json.loads(json.dumps(curve_of(search, trials).record()))
        assert trials_of(record, search) == trials


def test_values_have_safe_and_distinct_folders() -> None:
    assert [folder_name(value) for value in (0.0006, 1e-05, 16, True, None, "fixed")] == [
        "0.0006",
        "1e-05",
        "16",
        "true",
        "null",
        "fixed",
    ]
    odd = ["../up", "/root", "a b", "a/b", ".", "", "ä"]
    names = [folder_name(value) for value in odd]
    assert len(set(names)) == len(odd)
    assert all(Path("x", name).resolve().parent == Path("x").resolve() for name in names)
    assert [shown(value) for value in (False, None, 2.0)] == ["false", "null", "2"]


def config(**more: Any) -> Config:
    return override(override(Config(), {"train.steps": STEPS}), more)


def tuner_in(folder: Path, **more: Any) -> Tuner:
    return Tuner("x", config(), folder, **{"anchor": 0.008, "first": first_values(0), **more})


def write_trial(job: Job, loss: Loss, value: Any) -> None:
    """The run folder of a job as training leaves it, with the losses of a function."""
    step = job.pause_at or STEPS
    if job.folder.exists():
        for path in sorted(job.folder.rglob("*"), reverse=True):
            path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
        job.folder.rmdir()
    write_run(job.folder, job.config, {"val_loss": loss(value, step)}, finished=step == STEPS)
    kinds = [(place, "final" if place == STEPS else "evaluation") for place in range(25, step + 1, 25)]
    records = [{"kind": kind, "step": place, "val_loss": loss(value, place)} for place, kind in kinds]
    (job.folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    write_outcome(job, JobOutcome(job.arm, job.seed, "finished" if step == STEPS else "paused"))


def test_a_search_is_read_from_its_folders_and_goes_on_where_it_was(tmp_path: Path) -> None:
    rounds: list[list[str]] = []
    while jobs := tuner_in(tmp_path).jobs():  # a new Tuner each time: nothing is remembered but the folders
        rounds.append([f"{job.arm} to {job.pause_at}" for job in jobs])
        for job in jobs:
            write_trial(job, valley(0.004), job.config.train.learning_rate)
        assert len(rounds) < 9
    assert rounds == [
        ["x@0.002 to 25", "x@0.004 to 25", "x@0.008 to 25", "x@0.016 to 25"],
        ["x@0.002 to None", "x@0.004 to None", "x@0.008 to None"],
    ]
    curve = tuner_in(tmp_path).curve()
    assert (curve.standing, curve.best, curve.num_runs) == ("tuned", 0.004, 3.25)
    # Explicit values share the folders of the same configuration: what is finished is not trained again.
    words = tuner_in(tmp_path, values=(0.002, 0.004, 0.03))
    assert [job.arm for job in words.jobs()] == ["x@0.03"]


def test_explicit_values_in_folders_and_folders_of_other_values_are_left_alone(tmp_path: Path) -> None:
    values = (None, 0.5, 1.0)

    def tuner() -> Tuner:
        return Tuner("x", config(), tmp_path, setting="train.clip", anchor=1.0, values=values)

    def loss(value: float | None, step: int) -> float:
        return 4.0 if value is None else 5.0 - value / 2

    while jobs := tuner().jobs():
        for job in jobs:
            write_trial(job, loss, job.config.train.clip)
    curve = tuner().curve()
    assert (curve.best_index, curve.best, curve.standing) == (0, None, "tuned")
    assert line(curve) == "x (tuned, 1.75 runs): 0.5: 4.7500 (stopped at step 25 of 100), " + (
        "1: 4.5000 (stopped at step 50 of 100), null: 4.0000"
    )
    # A grid over the same setting finds folders that are not on it: null, and numbers between its values.
    grid = Tuner("x", config(), tmp_path, setting="train.clip", anchor=1.0, first=first_values(0))
    assert {trial.value for trial in grid.curve().trials.values()} == {0.5, 1.0}


def test_the_names_of_a_grid_stay_what_they_are(tmp_path: Path) -> None:
    """Stores of tuning runs outlive a version: the digest and the folders of a grid must not change."""
    tuner = tuner_in(tmp_path)
    assert tuner.digest == "9307c10a37fa"
    assert tuner.job(-3).folder == tmp_path / "x-9307c10a" / "0.00283" / "seed-1000"
    assert tuner.config.train.eval_every == 25


def test_a_run_that_fails_for_another_reason_stops_the_search_until_the_next_call(tmp_path: Path) -> None:
    tuner = tuner_in(tmp_path)
    first, second, *_ = tuner.jobs()
    write_outcome(first, JobOutcome(first.arm, SEED, "failed", "MemoryError: none left; see the log", 5.0))
    write_outcome(second, JobOutcome(second.arm, SEED, "failed", "training diverged: loss nan; lower it"))
    curve = tuner.curve()
    assert (curve.standing, curve.problem) == ("failed", "x@0.002: MemoryError: none left")
    assert tuner.jobs() == []
    tuner.forgive_()
    assert tuner.curve().standing == "unfinished"
    assert tuner.jobs()[0] == first
    assert [outcome.seconds for outcome in tuner.outcomes()] == [5.0, 0.0]
    assert [outcome.status for outcome in tuner.outcomes()] == ["interrupted", "failed"]


def test_a_run_without_a_last_loss_has_diverged(tmp_path: Path) -> None:
    tuner = tuner_in(tmp_path)
    job = tuner.job(0)
    write_trial(job, valley(0.004), 0.008)
    records = [
        {"kind": "evaluation", "step": 25, "val_loss": 5.0},
        {"kind": "final", "step": 100, "val_loss": None},
    ]
    (job.folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    trial = tuner.curve().trials[0]
    assert (trial.ended, trial.final) == (True, math.inf)
