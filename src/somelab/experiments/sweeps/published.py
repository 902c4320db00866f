"""What a sweep's table holds its arms against: the published figures of their presets, last and by epoch,
under the names of our figures that are measured alike, and ours by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from somelab.config import preset
from somelab.config.presets import Published
from somelab.experiments.reproduction.figures import Epoch, epochs_of
from somelab.experiments.runner.plan import Arm, Plan
from somelab.runs import RunFolder

Epochs = dict[int, dict[str, float]]
"""Figures by the number of the epoch."""

# Which published figure corresponds to which of ours. Up to v4 and in the comparison with GPT-2 losses count
# padding, and so do Gini and entropy, which are of the usage in training.
PUBLISHED = {
    "loss_with_padding": "loss_with_padding",
    "ppl_with_padding": "ppl_with_padding",
    "val_loss": "val_loss",
    "val_ppl": "val_ppl",
    "training_gini_with_padding": "training_gini_with_padding",
    "training_entropy_bits_with_padding": "training_entropy_bits_with_padding",
    "gini": "gini_middle",
    "entropy_bits": "entropy_bits_middle",
}
OURS = {"gini": "training_gini", "entropy_bits": "training_entropy_bits"}
"""Among our figures by epoch, where these are of the usage in training on both sides."""
WITH_PADDING = {
    "val_loss": "loss_with_padding",
    "gini": "training_gini_with_padding",
    "entropy_bits": "training_entropy_bits_with_padding",
}


def last_figures(arm: Arm) -> dict[str, float]:
    """The published figures at the end of the run that an arm is a copy of; none for other arms."""
    figures = preset(arm.preset).published if arm.preset else None
    if figures is None:
        return {}
    last = dict(figures.epochs[-1]) if figures.epochs else {}
    # The final figures of a run may be those of its best checkpoint, which is not the last.
    if figures.final.get("checkpoint_epoch", last.get("epoch")) == last.get("epoch"):
        last |= figures.final
    return _named(last, figures)


def by_epoch(arm: Arm) -> Epochs:
    """The same at the end of every epoch that a report gives, and the mean training loss of it."""
    figures = preset(arm.preset).published if arm.preset else None
    if figures is None:
        return {}
    return {
        int(one["epoch"]): {name: one[name] for name in ("train_loss",) if name in one} | _named(one, figures)
        for one in figures.epochs
    }


def ours_by_epoch(plan: Plan, out: Path) -> dict[str, Epochs]:
    """Our figures at the same shares of the run, by arm: means over the finished seeds of arms that have
    published epochs."""
    found: dict[str, list[Sequence[Epoch]]] = {}
    for job in plan.jobs(out):
        figures = preset(job.preset).published if job.preset else None
        if figures is None or not figures.epochs or not (job.folder / "run.json").exists():
            continue
        run = RunFolder(job.folder)
        ends = [int(one["step"]) for one in run.records("metrics") if one["kind"] == "final"]
        if ends:
            num_epochs = round(preset(str(job.preset)).config.train.epochs or 1)
            found.setdefault(job.arm, []).append(epochs_of(run, figures, ends[-1], num_epochs))
    return {arm: _means(seeds) for arm, seeds in found.items()}


def _means(seeds: Sequence[Sequence[Epoch]]) -> Epochs:
    """Over seeds, of the figures that all of them have."""
    means: dict[int, dict[str, float]] = {}
    for epochs in zip(*seeds, strict=True):
        shared = set.intersection(*(set(epoch.ours) for epoch in epochs))
        means[epochs[0].number] = {
            name: fmean(epoch.ours[OURS.get(name, name)] for epoch in epochs)
            for name in ("train_loss", *PUBLISHED)
            if OURS.get(name, name) in shared
        }
    return means


def epoch_lines(arms: Sequence[Arm], ours: Mapping[str, Epochs] | None = None) -> list[str]:
    """Markdown: what the reports give for every epoch, a row for each arm and figure, and ours at the same
    share of the run below it; none if no report gives any."""
    curves = {arm.name: found for arm in arms if (found := by_epoch(arm))}
    if not curves:
        return []
    epochs = sorted({epoch for found in curves.values() for epoch in found})
    lines = [
        "",
        "The published runs, epoch by epoch, at full scale; ours after the same share of the run:",
        "",
    ]
    lines += [f"| arm | figure | {' | '.join(f'epoch {epoch}' for epoch in epochs)} |"]
    lines += [f"|---|---|{'|'.join(['---:'] * len(epochs))}|"]
    for name, found in curves.items():
        own = (ours or {}).get(name, {})
        for figure in ("train_loss", *PUBLISHED):
            if any(figure in one for one in found.values()):
                lines.append(_line(name, figure, [found.get(epoch, {}).get(figure) for epoch in epochs]))
                mine = [own.get(epoch, {}).get(figure) for epoch in epochs]
                lines += (
                    [_line(name, f"{figure}, ours", mine)] if any(one is not None for one in mine) else []
                )
    return lines


def _line(arm: str, figure: str, values: Sequence[float | None]) -> str:
    cells = ("" if value is None else f"{value:.5g}" for value in values)
    return f"| {arm} | {figure} | {' | '.join(cells)} |"


def _named(found: Mapping[str, float], figures: Published) -> dict[str, float]:
    """Published figures under our names."""
    names = WITH_PADDING if figures.with_padding else {}
    named = {names.get(name, name): float(value) for name, value in found.items()}
    return {name: named[name] for name in PUBLISHED if name in named}
