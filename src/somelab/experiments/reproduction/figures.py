"""The figures of a run by epoch, measured as the reports measure theirs, with the published ones beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from somelab.config.presets import Published
from somelab.runs import RunFolder
from somelab.training.usage_with_padding import ENTROPY, ENTROPY_WITHOUT, GINI, GINI_WITHOUT


@dataclass(frozen=True)
class Column:
    """A figure that both sides have: where it is in a published epoch and in an evaluation of ours."""

    title: str
    published: str
    ours: str
    form: str
    with_padding: bool | None
    """For runs whose figures count padding, for those without, or for both (None)."""
    layer: bool = False
    """Of the middle layer."""


COLUMNS = (
    Column("train_loss", "train_loss", "train_loss", ".4f", None),
    Column("loss_with_padding", "val_loss", "loss_with_padding", ".4f", True),
    Column("ppl_with_padding", "ppl_with_padding", "ppl_with_padding", ".2f", True),
    Column(GINI, "gini", GINI, ".3f", True, layer=True),
    Column(ENTROPY, "entropy_bits", ENTROPY, ".3f", True, layer=True),
    Column("val_loss", "val_loss", "val_loss", ".4f", False),
    Column("val_ppl", "val_ppl", "val_ppl", ".2f", False),
    Column("training_gini", "gini", "training_gini", ".3f", False, layer=True),
    Column("training_entropy_bits", "entropy_bits", "training_entropy_bits", ".3f", False, layer=True),
)
# Ours alone: what the reports do not have.
FURTHER = (
    Column("train_loss_without_padding", "", "train_loss_without_padding", ".4f", True),
    Column("val_loss", "", "val_loss", ".4f", True),
    Column("val_ppl", "", "val_ppl", ".2f", True),
    Column("training_gini", "", "training_gini", ".3f", True, layer=True),
)


@dataclass(frozen=True)
class Epoch:
    """One epoch of the published run, or the same share of ours."""

    number: int
    of: int
    published: Mapping[str, float]
    """By title of the column; empty where the report leaves it out."""
    ours: Mapping[str, float]
    """Empty where our run has not come so far. Of an epoch that is not complete: figures of training alone,
    over the steps so far."""
    steps_done: int = 0
    num_steps: int = 0

    @property
    def is_partial(self) -> bool:
        return 0 < self.steps_done < self.num_steps

    @property
    def words(self) -> str:
        """Its number, and how far ours came in it."""
        return (
            f"{self.number} ({self.steps_done} of {self.num_steps} steps)"
            if self.is_partial
            else str(self.number)
        )

    def record(self) -> dict[str, Any]:
        return {
            "epoch": self.number,
            "of": self.of,
            "steps_done": self.steps_done,
            "steps": self.num_steps,
            "published": dict(self.published),
            "ours": dict(self.ours),
        }


def columns_for(figures: Published, epochs: Sequence[Epoch]) -> list[Column]:
    """The columns that any epoch has on either side, the published ones first."""
    fitting = [one for one in (*COLUMNS, *FURTHER) if one.with_padding in (None, figures.with_padding)]
    return [one for one in fitting if any(one.title in {**row.published, **row.ours} for row in epochs)]


def epochs_of(run: RunFolder, figures: Published, num_steps: int, num_epochs: int) -> list[Epoch]:
    """Every epoch with both sides. Ours is the evaluation that ends it, and training as far as it came; a
    shorter run has as many equal parts."""
    metrics = run.records("metrics")
    trained = {int(one["step"]): one for one in metrics if one["kind"] == "train"}
    evaluations = {int(one["step"]): one for one in metrics if one["kind"] in ("evaluation", "final")}
    layers = {int(one["step"]): one["layers"] for one in run.records("layers")}
    published = {int(one["epoch"]): one for one in figures.epochs}
    if not published and figures.final:
        published = {num_epochs: figures.final}
    rows: list[Epoch] = []
    for number in range(1, num_epochs + 1):
        first, last = _steps(number, num_steps, num_epochs)
        steps = [trained[step] for step in range(first, last + 1) if step in trained]
        ours = _of_training(steps, layers) | _of_evaluation(evaluations.get(last, {}))
        stated = {
            column.title: float(published[number][column.published])
            for column in COLUMNS
            if column.with_padding in (None, figures.with_padding)
            and number in published
            and column.published in published[number]
        }
        rows.append(Epoch(number, num_epochs, stated, ours, len(steps), last - first + 1))
    return rows


def evaluation_interval(num_steps: int, num_epochs: int) -> int:
    """Steps between evaluations, so that one ends each epoch."""
    return max(1, num_steps // num_epochs)


def _steps(number: int, num_steps: int, num_epochs: int) -> tuple[int, int]:
    """First and last step of an epoch. The last one ends with the run."""
    length = evaluation_interval(num_steps, num_epochs)
    return (number - 1) * length + 1, num_steps if number == num_epochs else number * length


def _of_training(steps: Sequence[Mapping[str, Any]], layers: Mapping[int, Any]) -> dict[str, float]:
    """Means of the losses over an epoch's steps, and the usage in the middle layer after the last of them."""
    found: dict[str, float] = {}
    if not steps:
        return found
    for title, name in (("train_loss", "loss"), ("train_loss_without_padding", "loss_without_padding")):
        if all(name in step for step in steps):
            found[title] = fmean(float(step[name]) for step in steps)
    first, last = int(steps[0]["step"]), int(steps[-1]["step"])
    near = [step for step in layers if first <= step <= last]
    if near:
        usage: Sequence[Mapping[str, float]] = layers[max(near)]
        middle = usage[len(usage) // 2]
        found |= {name: float(middle[name]) for name in (GINI, ENTROPY) if name in middle}
        # The rules' own usage counts padding where padding moves keys.
        for name, without in (("gini", GINI_WITHOUT), ("entropy_bits", ENTROPY_WITHOUT)):
            found[f"training_{name}"] = float(middle.get(without, middle[name]))
    return found


def _of_evaluation(evaluation: Mapping[str, Any]) -> dict[str, float]:
    names = ("val_loss", "val_ppl", "loss_with_padding", "ppl_with_padding")
    found = {name: float(evaluation[name]) for name in names if evaluation.get(name) is not None}
    measured: Sequence[Mapping[str, float]] = evaluation.get("layers") or []
    if measured:
        middle = measured[len(measured) // 2]
        found |= {name: float(middle[name]) for name in (GINI, ENTROPY) if name in middle}
    return found
