"""The tables of a page as CSV: figures of runs and groups, layers, guilds, mutual information, curves,
published figures; arms and searches of sweeps, learners and matrices of studies."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from somelab.view.page.groups import is_light
from somelab.view.schema.page import Final, MutualInformation, Page, Run
from somelab.view.schema.parts import Interval
from somelab.view.schema.results import Band, Study, Sweep, ValueChart


def page_tables(page: Page) -> Iterator[tuple[str, str]]:
    """Name and content of each table."""
    yield "runs", _csv(RUN_COLUMNS, (_run_row(run) for run in page.runs))
    groups = (
        [
            group.name,
            len(group.run_ids),
            " ".join(map(str, group.seeds)),
            name,
            found.mean,
            found.low,
            found.high,
            found.num,
        ]
        for group in page.groups
        for name, found in group.figures.items()
    )
    yield "groups", _csv(("group", "runs", "seeds", "figure", "mean", "low", "high", "num"), groups)
    if page.published:
        columns = (
            "preset",
            "epoch",
            "train_loss",
            "val_loss",
            "val_ppl",
            "ppl_with_padding",
            "gini",
            "entropy_bits",
        )
        rows = (
            [row.preset, *(getattr(epoch, name) for name in columns[1:])]
            for row in page.published
            for epoch in row.epochs
        )
        yield "published", _csv(columns, rows)
    for run in page.runs:
        if not is_light(run):
            yield from ((f"{run.id}-{name}", content) for name, content in _run_tables(run))
    for sweep in page.sweeps:
        yield f"{sweep.id}-arms", _csv(("arm", "base", *INTERVAL_COLUMNS), _arm_rows(sweep))
        yield f"{sweep.id}-curves", _csv(("arm", "curve", *Band.model_fields), _curve_rows(sweep))
        if sweep.tuning is not None:
            columns = ("arm", "setting", "value", "loss", "ended", "chosen")
            yield f"{sweep.id}-tuning", _csv(columns, _tuning_rows(sweep.tuning))
    for study in page.studies:
        yield f"{study.id}-learners", _csv(("learner", "trained", *INTERVAL_COLUMNS), _learner_rows(study))
        yield f"{study.id}-matrix", _csv(("learner", "after", *study.experiences), _matrix_rows(study))
        yield f"{study.id}-online", _csv(("learner", *Band.model_fields), _online_rows(study))


RUN_COLUMNS = (
    "id",
    "name",
    "status",
    "preset",
    "scale",
    "seed",
    "total",
    "trainable",
    "active",
    *Final.model_fields,
    "verdict",
)


def _run_row(run: Run) -> list[Any]:
    size = [
        getattr(run.parameters, name) if run.parameters else None for name in ("total", "trainable", "active")
    ]
    figures = [getattr(run.final, name) if run.final else None for name in Final.model_fields]
    return [run.id, run.name, run.status, run.preset, run.scale, run.seed, *size, *figures, run.verdict]


def _run_tables(run: Run) -> Iterator[tuple[str, str]]:
    measured = run.curves.evaluation
    if measured.step:
        names = ("step", "tokens", "val_loss", "val_ppl", "bits_per_byte", "ppl_with_padding")
        yield "evaluations", _csv(names, zip(*(getattr(measured, name) for name in names), strict=True))
    if run.curves.train.step:
        names = ("step", "tokens", "loss", "learning_rate", "grad_norm")
        yield "training", _csv(names, zip(*(getattr(run.curves.train, name) for name in names), strict=True))
    if run.balance is not None:
        series = run.balance.evaluation if run.balance.evaluation.steps else run.balance.training
        if series.steps:
            names = list(series.measures)
            layers = range(len(series.measures[names[0]]))
            rows = ([layer, *(series.measures[name][layer][-1] for name in names)] for layer in layers)
            yield "layers", _csv(("layer", *names), rows)
    if run.guilds:
        yield "guilds", _csv(("layer", "guild", "experts", "share", "word_class", "words"), _guild_rows(run))
        fields = list(MutualInformation.model_fields)
        yield "word-classes", _csv(("layer", "labels", "grouping", *fields), _information_rows(run, fields))


def _guild_rows(run: Run) -> Iterator[list[Any]]:
    for layer in run.guilds or ():
        for guild in layer.guilds:
            words = " ".join(use.word for use in guild.words)
            yield [
                layer.layer,
                guild.id,
                " ".join(map(str, guild.experts)),
                guild.share,
                guild.word_class,
                words,
            ]


def _information_rows(run: Run, fields: Sequence[str]) -> Iterator[list[Any]]:
    for layer in run.guilds or ():
        for grouping, found in (("guild", layer.guild_nmi), ("expert", layer.expert_nmi)):
            if found is not None:
                yield [layer.layer, layer.labels, grouping, *(getattr(found, name) for name in fields)]


INTERVAL_COLUMNS = ("figure", "kind", "mean", "low", "high", "num", "values")


def _interval_cells(name: str, kind: str, found: Interval) -> list[Any]:
    return [name, kind, found.mean, found.low, found.high, found.num, " ".join(map(str, found.values))]


def _arm_rows(sweep: Sweep) -> Iterator[list[Any]]:
    for arm in sweep.arms:
        for kind, figures in (("measured", arm.figures), ("difference", arm.differences)):
            yield from (
                [arm.name, arm.base, *_interval_cells(name, kind, found)] for name, found in figures.items()
            )
        yield from (
            [arm.name, arm.base, name, "published", value, None, None, None, ""]
            for name, value in arm.published.items()
        )


def _curve_rows(sweep: Sweep) -> Iterator[list[Any]]:
    for arm in sweep.arms:
        for name, band in arm.curves.items():
            yield from ([arm.name, name, *cells] for cells in _band_rows(band))


def _tuning_rows(chart: ValueChart) -> Iterator[list[Any]]:
    for line in chart.lines:
        for point in line.points:
            value = chart.labels[int(point.x)] if chart.labels else point.x
            yield [line.name, chart.x_label, value, point.y, point.ended, point.x == line.chosen]


def _band_rows(band: Band) -> Iterator[tuple[Any, ...]]:
    return zip(*(getattr(band, field) for field in Band.model_fields), strict=True)


def _learner_rows(study: Study) -> Iterator[list[Any]]:
    for learner in study.learners:
        for name, found in learner.figures.items():
            yield [learner.name, learner.num_trainable, *_interval_cells(name, "measured", found)]


def _matrix_rows(study: Study) -> Iterator[list[Any]]:
    for learner in study.learners:
        yield from (
            [learner.name, after, *losses] for after, losses in zip(study.rows, learner.matrix, strict=True)
        )


def _online_rows(study: Study) -> Iterator[list[Any]]:
    for learner in study.learners:
        yield from ([learner.name, *cells] for cells in _band_rows(learner.online))


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_safe(value) for value in row] for row in rows)
    return text.getvalue()


def _safe(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets a quote before it: words come from untrusted
    data."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value
