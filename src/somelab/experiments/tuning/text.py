"""A search in words, for tables and terminals: the chosen value, its reliability, and loss by value."""

from __future__ import annotations

from collections.abc import Iterable

from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.search import Trial
from somelab.experiments.tuning.value import shown

UNTUNED = "untuned"


def chosen(curve: Curve) -> str:
    """The chosen value; empty before there is one."""
    return shown(curve.best) if curve.is_over else ""


def num_runs(curve: Curve) -> str:
    """Tuning runs in whole runs: 3.25.

    A run that was stopped after a quarter counts as a quarter."""
    return f"{curve.num_runs:.2f}".rstrip("0").rstrip(".")


def chosen_with_standing(curve: Curve) -> str:
    """The chosen value, and in brackets why it may be unreliable."""
    return " ".join(part for part in (chosen(curve), "" if curve.is_tuned else f"({curve.standing})") if part)


def pairs(curve: Curve, *, bold: bool) -> str:
    """`value: loss` of every run by value. `bold`: the chosen one between asterisks, for Markdown."""
    best = None if curve.best_index is None else curve.trials[curve.best_index]
    return ", ".join(
        f"**{_pair(trial, curve)}**" if bold and trial is best and curve.is_over else _pair(trial, curve)
        for trial in curve.ordered
    )


def _pair(trial: Trial, curve: Curve) -> str:
    """A run that diverged has no loss; one that was stopped has that of its last step."""
    if trial.failed:
        return f"{shown(trial.value)}: diverged"
    if not trial.losses:
        return f"{shown(trial.value)}: no loss yet"
    if trial.ended:
        return f"{shown(trial.value)}: {trial.final:.4f}"
    step = max(trial.losses)
    return (
        f"{shown(trial.value)}: {trial.losses[step]:.4f} (stopped at step {step} of {curve.search.num_steps})"
    )


def line(curve: Curve, *, bold: bool = False) -> str:
    """One arm's search in one line."""
    name = f"{curve.arm} ({curve.standing}, {num_runs(curve)} runs)"
    problem = f"; {curve.problem}" if curve.problem else ""
    return f"{name}: {pairs(curve, bold=bold) or 'no run yet'}{problem}"


def section(curves: Iterable[Curve]) -> list[str]:
    """The part of a Markdown table that has all searches; empty where nothing was tuned."""
    curves = list(curves)
    if not curves:
        return []
    about = (
        f"Validation loss by {curves[0].setting}, on documents held back from the training text and random "
        f"seed {curves[0].seed}, which are not used for the comparison. The chosen value is bold. Runs are "
        "counted in whole runs: one that was stopped after a quarter counts as a quarter."
    )
    return ["", "## Tuning", "", about, "", *(f"- {line(curve, bold=True)}" for curve in curves)]
