"""How long, how fast, how often: worked out by hand."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
import torch

from somelab.config import TrainConfig
from somelab.training.budget import Budget, Cadence
from somelab.training.optimizer import build_optimizer, learning_rate
from tests.training.builders import SMALL, config_of, state_of, trainer_of


def config(**settings: float | None) -> TrainConfig:
    return TrainConfig.model_validate(
        {"learning_rate": 0.8, "warmup_fraction": 0.2, "final_lr_fraction": 0.25, **settings}
    )


@pytest.mark.parametrize(
    ("progress", "rate"),
    [
        (0.0, 0.0),
        (0.05, 0.2),  # a quarter of the warm-up
        (0.1, 0.4),
        (0.2, 0.8),  # the peak
        (0.6, 0.5),  # half of the cosine: between the peak and its quarter
        (0.4, 0.2 + 0.6 * (1 + math.sqrt(0.5)) / 2),  # cos 45 degrees
        (1.0, 0.2),
        (1.5, 0.2),  # a clock that ran over
    ],
)
def test_the_learning_rate(progress: float, rate: float) -> None:
    assert learning_rate(config(), progress) == pytest.approx(rate)


def test_the_learning_rate_at_the_limits_of_the_warm_up() -> None:
    assert learning_rate(config(warmup_fraction=0.0), 0.0) == 0.8
    assert learning_rate(config(warmup_fraction=0.0, final_lr_fraction=0.0), 1.0) == pytest.approx(0.0)
    assert learning_rate(config(warmup_fraction=1.0), 0.5) == 0.4
    assert learning_rate(config(warmup_fraction=1.0), 1.0) == 0.8


def test_weight_decay_is_for_matrices_only(text: Path, tmp_path: Path) -> None:
    model = trainer_of(config_of(text), tmp_path / "run").model
    optimizer = build_optimizer(model, config())
    matrices, vectors = optimizer.param_groups
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.1, 0.0)
    assert {p.dim() for p in vectors["params"]} == {0, 1}, "a learned temperature has no dimension"
    assert min(p.dim() for p in matrices["params"]) == 2
    listed = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert listed == {id(p) for p in model.parameters() if p.requires_grad}
    assert all(id(p) not in listed for layer in model.some_layers() for _, p in layer.experts.drawn_weights())


def test_a_budget_of_steps() -> None:
    budget = Budget.of(config(epochs=None, steps=40), batches_per_epoch=7)
    assert budget == Budget(steps=40)
    assert [budget.progress(step, 1e9) for step in (0, 10, 40, 41)] == [0.0, 0.25, 1.0, 1.0]
    assert (budget.is_over(39, 1e9), budget.is_over(40, 0.0)) == (False, True)
    assert budget.num_steps(3, 1e9) == 40


@pytest.mark.parametrize(
    ("epochs", "batches", "steps"), [(4, 10, 40), (0.25, 10, 3), (0.01, 10, 1), (1.5, 3, 5)]
)
def test_a_budget_of_epochs_is_rounded_up(epochs: float, batches: int, steps: int) -> None:
    assert Budget.of(config(epochs=epochs), batches) == Budget(steps=steps)


def test_a_budget_of_minutes() -> None:
    budget = Budget.of(config(epochs=None, minutes=2), 10)
    assert budget == Budget(seconds=120)
    assert [budget.progress(7, seconds) for seconds in (0.0, 30.0, 120.0, 121.0)] == [0.0, 0.25, 1.0, 1.0]
    assert (budget.is_over(10**6, 119.9), budget.is_over(0, 120.0)) == (False, True)
    assert budget.num_steps(10, 30.0) == 40, "ten steps in a quarter of the time"
    assert budget.num_steps(10, 120.0) == 11, "at least the step at hand"
    assert budget.num_steps(0, 0.0) >= 10**6, "before the first step nobody knows"


def test_a_cadence_by_steps() -> None:
    cadence = Cadence(3, times=100)
    assert [step for step in range(1, 11) if cadence.is_due(step, 0.0, 1.0)] == [3, 6, 9]


@pytest.mark.parametrize(
    ("times", "num_steps", "due"),
    [
        (5, 10, [2, 4, 6, 8, 10]),
        (4, 10, [3, 5, 8, 10]),  # the first steps at or behind 2.5, 5, 7.5, 10
        (20, 3, [1, 2, 3]),  # more often than there are steps: every step once
    ],
)
def test_a_cadence_by_progress(times: int, num_steps: int, due: list[int]) -> None:
    cadence = Cadence(None, times)
    assert [
        s for s in range(1, num_steps + 1) if cadence.is_due(s, (s - 1) / num_steps, s / num_steps)
    ] == due


def test_minutes_end_by_the_clock(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that shows a quarter of a second more at each look: a step takes just that, and with what is
    around it three quarters, all of which count."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.25
        return now

    monkeypatch.setattr(time, "perf_counter", clock)
    config = config_of(
        text,
        {
            **SMALL,
            "train.steps": None,
            "train.minutes": 0.1,
            "train.warmup_fraction": 0.5,
            "train.final_lr_fraction": 0.0,
        },
    )
    outcome = trainer_of(config, tmp_path / "run").fit()
    assert (outcome.reason, outcome.state.step, outcome.state.seconds) == ("finished", 8, 6.0)
    assert state_of(tmp_path / "run")["state"]["finished"]
    records = [r for r in trainer_records(tmp_path / "run") if r["kind"] == "train"]
    peak = config.train.learning_rate
    assert [records[step]["learning_rate"] for step in (0, 2, 4)] == pytest.approx([0.0, peak / 2, peak])
    evaluations = [r["step"] for r in trainer_records(tmp_path / "run") if r["kind"] == "evaluation"]
    assert evaluations == [2, 3, 4, 5, 6, 7, 8], "at the step behind each tenth of the time"


def trainer_records(run: Path) -> list[dict[str, float]]:
    from somelab.runs import RunFolder

    return RunFolder(run).records("metrics")


def test_a_seed_decides_everything(text: Path, tmp_path: Path) -> None:
    """The same seed, the same run, whatever torch's own generator stood at; another seed, another run."""
    losses: list[list[float]] = []
    for number, seed in enumerate((3, 3, 4)):
        torch.manual_seed(number)
        trainer_of(
            config_of(text, {**SMALL, "model.dropout": 0.2, "train.steps": 3, "train.seed": seed}),
            tmp_path / str(number),
        ).fit()
        losses.append([r["loss"] for r in trainer_records(tmp_path / str(number)) if r["kind"] == "train"])
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
