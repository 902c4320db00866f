"""A published run trained again, from its present state as far as it gets: data, estimate, training,
comparison, page. Everything is in its run folder, so that the same call continues it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from somelab.config import Config, Preset, override
from somelab.config.presets import Published
from somelab.disk import atomic
from somelab.errors import ConfigError, SomelabError
from somelab.experiments.reproduction import estimate
from somelab.experiments.reproduction.figures import Epoch, columns_for, epochs_of, evaluation_interval
from somelab.experiments.runner.plan import identity
from somelab.runs import RunFolder, checkpoint

Report = Callable[[str, int], None]
PAGE, TABLE, RECORD = "report.html", "published.md", "published.json"
PARTIAL = (
    "Of an epoch that is not complete: means of the training losses over its steps so far, and the usage "
    "after the last of them. Evaluations are made at its end."
)
SAME_RUN = (
    "data.source",
    "train.micro_batch_size",
    "train.eval_every",
    "train.eval_tokens",
    "train.eval_with_padding",
    "train.checkpoint_every",
    "train.snapshot_every",
    "train.recompute",
)
"""Settings in which a run may differ from the published one and still be it: where its text is, when it is
evaluated and saved, and how its batch is cut into pieces."""


@dataclass(frozen=True)
class Reproduction:
    """A preset with published figures, and the run that is to be held against them."""

    preset: Preset
    figures: Published
    config: Config
    scale: str
    folder: Path
    data: Any
    """The prepared text."""
    num_steps: int

    @property
    def num_epochs(self) -> int:
        """Of the published run; a shorter one of ours is divided into as many parts."""
        epochs = self.preset.config.train.epochs
        assert epochs is not None
        return round(epochs)

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder)

    @property
    def is_begun(self) -> bool:
        return (self.folder / "run.json").exists()

    @property
    def is_finished(self) -> bool:
        return self.is_begun and checkpoint.is_any(self.run) and checkpoint.read_state(self.run).finished

    @property
    def is_full(self) -> bool:
        """Whether it is the published run itself, but for the text and what changes no arithmetic."""
        same = {name: _value(self.preset.config, name) for name in SAME_RUN}
        return override(self.config, same) == self.preset.config

    def estimate(self) -> estimate.Estimate:
        return self.left() or estimate.measured(self.config, self.num_steps, self.num_epochs, self.data)

    def train(self, report: Report | None = None) -> Any:
        """Start or continue; the outcome."""
        from somelab.training.session import go_on, start

        if self.is_begun:
            return go_on(self.folder, progress=report)[1]
        facts = {"name": self.folder.name, "preset": self.preset.name, "scale": self.scale}
        return start(self.config, self.folder, facts, report)[1]

    def epochs(self) -> list[Epoch]:
        return epochs_of(self.run, self.figures, self.num_steps, self.num_epochs)

    def write(self, page: bool = True, report: Callable[[str], None] | None = None) -> list[Path]:
        """The comparison as Markdown and JSON, and the page, into the run folder."""
        rows, sample, left = self.epochs(), self.sample(), self.left()
        content = {
            "preset": self.preset.name,
            "scale": self.scale,
            "epochs": [row.record() for row in rows],
            "left": left.record() if left else None,
            "sample": sample,
        }
        atomic.write_text(self.folder / TABLE, self.markdown(rows, left, sample))
        atomic.write_text(self.folder / RECORD, json.dumps(content, indent=1) + "\n")
        written = [self.folder / TABLE, self.folder / RECORD]
        if page:
            from somelab.view.page.groups import page_of
            from somelab.view.page.heavy import Options
            from somelab.view.report import write_report

            write_report(page_of([self.folder], Options(), report), self.folder / PAGE)
            written.append(self.folder / PAGE)
        return written

    def left(self) -> estimate.Estimate | None:
        """What is left of a run that has begun; None if it is finished or has made no step."""
        if self.is_finished or not self.is_begun:
            return None
        rows = estimate.evaluation_rows(self.config, self.data)
        return estimate.of_begun(self.run, self.num_steps, self.num_epochs, rows)

    def sample(self) -> dict[str, Any] | None:
        """The last text that the run generated. One that was stopped before its first evaluation generates it
        here; None if it cannot."""
        written = self.run.records("samples")
        if written or not self.config.model.causal or not checkpoint.is_any(self.run):
            return written[-1] if written else None
        from somelab.runs.trained import load_trained
        from somelab.training.callbacks.recorders import sample_of

        trained = load_trained(self.run)
        return sample_of(trained.model, self.data, step=trained.state.step)

    def markdown(
        self, rows: list[Epoch], left: estimate.Estimate | None = None, sample: dict[str, Any] | None = None
    ) -> str:
        columns = columns_for(self.figures, rows)
        heads = ["epoch", "", *(column.title for column in columns)]
        lines = [
            f"# {self.preset.name}: {self.preset.title}",
            "",
            f"Published ({self.preset.source}) beside ours ({self.size_words()}). {self.caveat()}",
            "",
            f"| {' | '.join(heads)} |",
            f"|{'|'.join(['---:', '---', *['---:'] * len(columns)])}|",
        ]
        for row in rows:
            for side, found in (("published", row.published), ("ours", row.ours)):
                cells = [
                    format(found[column.title], column.form) if column.title in found else ""
                    for column in columns
                ]
                words = row.words if side == "ours" else str(row.number)
                lines.append(f"| {words} | {side} | {' | '.join(cells)} |")
        if any(row.is_partial for row in rows):
            lines += ["", PARTIAL]
        if left is not None:
            lines += ["", f"Not finished: {left.sentence()}."]
        if sample is not None:
            prompt, text = (" ".join(str(sample[name]).split()) for name in ("prompt", "text"))
            lines += ["", f'Generated after {sample["step"]:,} steps, from "{prompt}":', "", f"> {text}"]
        return "\n".join(lines) + "\n"

    def size_words(self) -> str:
        if self.is_full:
            return "the same size and settings"
        return f"scale {self.scale}" if self.scale != "full" else "changed settings"

    def caveat(self) -> str:
        """What the figures count, in a sentence."""
        counted = (
            "Losses count padding, and Gini and entropy are of the usage in training, padding included, in "
            "the middle layer."
            if self.figures.with_padding
            else "Padding is left out everywhere; Gini and entropy are of the usage in training, in the "
            "middle layer."
        )
        smaller = "" if self.is_full else " Figures of different sizes are not directly comparable."
        note = f" Note: {self.preset.note}." if self.preset.note else ""
        return counted + smaller + note.replace("..", ".")


def prepared(
    preset: Preset,
    config: Config,
    scale: str,
    folder: Path,
    given: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> Reproduction:
    """Read the text, and set evaluations to the ends of epochs. `given`: settings that the user gave."""
    from somelab.data.batches import Loader
    from somelab.data.prepare import prepare
    from somelab.training.budget import Budget
    from somelab.training.machine.memory import check_memory
    from somelab.training.session import anchored

    figures = preset.published
    if figures is None or preset.config.train.epochs is None:
        raise ConfigError(
            "preset",
            preset.name,
            "has no published figures to be held against",
            "choose a published run (`somelab presets`); `somelab train` trains this one",
        )
    check_memory(config)
    config = anchored(config)
    data = prepare(config, progress=report)
    num_steps = Budget.of(config.train, Loader(data, config).num_batches_per_epoch).steps
    if num_steps is None:
        raise ConfigError(
            "train.minutes",
            config.train.minutes,
            "a time budget has no epochs",
            "give train.steps or train.epochs, or leave it out",
        )
    by_epoch = {
        "train.eval_every": evaluation_interval(num_steps, round(preset.config.train.epochs)),
        "train.eval_tokens": None,
        "train.eval_with_padding": figures.with_padding,
    }
    config = override(config, {name: value for name, value in by_epoch.items() if name not in (given or {})})
    made = Reproduction(preset, figures, config, scale, folder, data, num_steps)
    if made.is_begun and identity(made.run.config()) != identity(config):
        raise SomelabError(
            f"--out {folder}: is a run of another configuration; name another folder, or continue it with "
            f"`somelab resume {folder}`"
        )
    return made


def _value(config: Config, name: str) -> Any:
    from somelab.config.fields import value_of

    return value_of(config, name)
