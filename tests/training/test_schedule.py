"""How long, how fast, how often: worked out by hand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.config import TrainConfig
from somelab.data.prepare import prepare
from somelab.training import loop
from somelab.training.budget import Budget, Cadence
from somelab.training.optimizer import build_optimizer, learning_rate
from somelab.training.side_work import SideWork
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


@pytest.mark.parametrize("is_tied", [True, False])
def test_embedding_and_head_may_have_a_rate_of_their_own(text: Path, tmp_path: Path, is_tied: bool) -> None:
    changed = {**SMALL, "train.embedding_rate": 4.0, "train.learning_rate": 0.01, "train.steps": 1}
    trainer = trainer_of(config_of(text, {**changed, "model.tied_head": is_tied}), tmp_path / "run")
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    trainer.fit()
    rate = trainer_records(tmp_path / "run")[0]["learning_rate"]
    rates = {
        names[id(parameter)]: group["lr"] / rate
        for group in trainer.optimizer.param_groups
        for parameter in group["params"]
    }
    own = {"embedding.weight", "head_weight", "head_bias"} & rates.keys()
    assert ("head_weight" in own) is not is_tied
    assert {name for name, one in rates.items() if one == pytest.approx(4.0)} == own
    assert [one for name, one in rates.items() if name not in own] == pytest.approx(
        [1.0] * (len(rates) - len(own))
    )


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


class Clock:
    """Time passes only where a test says so: 3 ms for a trained token, 1 ms for an evaluated one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        self._slow(monkeypatch, loop.Trainer, "_forward_backward_", lambda found: 3e-3 * found[2])
        self._slow(monkeypatch, loop, "evaluate", lambda found: 1e-3 * found.num_tokens)
        self._slow(monkeypatch, loop, "with_padding_loss", lambda found: 1e-3 * found.num_tokens)

    def _slow(
        self, patch: pytest.MonkeyPatch, owner: Any, name: str, seconds: Callable[[Any], float]
    ) -> None:
        plain = getattr(owner, name)

        def slow(*arguments: Any, **named: Any) -> Any:
            found = plain(*arguments, **named)
            self.now += seconds(found)
            return found

        patch.setattr(owner, name, slow)


@pytest.mark.parametrize(("share", "num_evaluations"), [(0.01, 9), (0.03, 2), (0.1, 0), (0.6, 0)])
def test_minutes_include_the_last_evaluation_and_bound_the_others(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, num_evaluations: int
) -> None:
    """`share`: a pass over the validation text, of the budget; the last evaluation makes two."""
    tokens = prepare(config_of(text)).val.num_tokens
    seconds = 1e-3 * tokens / share
    changes = {"train.steps": None, "train.minutes": seconds / 60, "train.final_lr_fraction": 0.0}
    config = config_of(text, {**SMALL, **changes, "train.warmup_fraction": 0.5})
    trainer = trainer_of(config, tmp_path / "run")
    clock = Clock(monkeypatch)
    trainer.side_work = SideWork(trainer.budget, lambda: 2 * tokens)
    outcome = trainer.fit()
    assert outcome.reason == "finished"
    assert state_of(tmp_path / "run")["state"]["finished"]
    records = trainer_records(tmp_path / "run")
    steps = [record for record in records if record["kind"] == "train"]
    training = 3e-3 * steps[-1]["tokens"]
    step = training / len(steps)
    evaluations = [record["step"] for record in records if record["kind"] == "evaluation"]
    assert len(evaluations) == num_evaluations
    if share < 0.5:
        assert clock.now == pytest.approx(seconds, abs=0.05 * seconds + step)
        assert clock.now - training <= max(0.15, 0.05 + 2 * share) * seconds
    else:  # the last evaluation is longer than the run: half of the time is for training
        assert training == pytest.approx(seconds / 2, abs=0.05 * seconds + step)
        return
    rates = [record["learning_rate"] for record in steps]
    assert rates[0] == 0.0
    assert max(rates) > 0.7 * config.train.learning_rate
    assert rates[-1] < 0.7 * max(rates), "the schedule ends with training"


def test_settings_ask_for_evaluations_whatever_they_cost(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"train.steps": None, "train.minutes": 0.2, "train.eval_every": 4}
    trainer = trainer_of(config_of(text, {**SMALL, **changes}), tmp_path / "run")
    Clock(monkeypatch)
    trainer.fit()
    found = [record["step"] for record in trainer_records(tmp_path / "run") if record["kind"] == "evaluation"]
    assert found[:2] == [4, 8]


def trainer_records(run: Path) -> list[dict[str, Any]]:
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
