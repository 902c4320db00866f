"""What a sweep's table holds its arms against: the published figures of their presets, last and by epoch,
under the names of our figures that are measured alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from somelab.config import preset
from somelab.config.presets import Published
from somelab.experiments.runner.plan import Arm

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


def by_epoch(arm: Arm) -> dict[int, dict[str, float]]:
    """The same at the end of every epoch that a report gives."""
    figures = preset(arm.preset).published if arm.preset else None
    return {int(one["epoch"]): _named(one, figures) for one in figures.epochs} if figures else {}


def epoch_lines(arms: Sequence[Arm]) -> list[str]:
    """Markdown: what the reports give for every epoch, a row for each arm and figure; none if no report
    gives any."""
    curves = {arm.name: found for arm in arms if (found := by_epoch(arm))}
    if not curves:
        return []
    epochs = sorted({epoch for found in curves.values() for epoch in found})
    lines = ["", "The published runs, epoch by epoch, at full scale:", ""]
    lines += [f"| arm | figure | {' | '.join(f'epoch {epoch}' for epoch in epochs)} |"]
    lines += [f"|---|---|{'|'.join(['---:'] * len(epochs))}|"]
    for name, found in curves.items():
        for figure in PUBLISHED:
            values = [found.get(epoch, {}).get(figure) for epoch in epochs]
            if any(value is not None for value in values):
                cells = ("" if value is None else f"{value:g}" for value in values)
                lines.append(f"| {name} | {figure} | {' | '.join(cells)} |")
    return lines


def _named(found: Mapping[str, float], figures: Published) -> dict[str, float]:
    """Published figures under our names."""
    names = WITH_PADDING if figures.with_padding else {}
    named = {names.get(name, name): float(value) for name, value in found.items()}
    return {name: named[name] for name in PUBLISHED if name in named}
