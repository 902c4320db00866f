"""The tables of a page as CSV: figures of runs and groups, layers, guilds, mutual information, curves, published figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from somelab.view.schema import Final, MutualInformation, Page, Run


def page_tables(page: Page) -> Iterator[tuple[str, str]]:
    """Name and content of each table."""
    yield "runs", _csv(RUN_COLUMNS, (_run_row(run) for run in page.runs))
    groups = (
        [group.name, len(group.run_ids), " ".join(map(str, group.seeds)), name, found.mean, found.low, found.high, found.num]
        for group in page.groups
        for name, found in group.figures.items()
    )
    yield "groups", _csv(("group", "runs", "seeds", "figure", "mean", "low", "high", "num"), groups)
    if page.published:
        columns = ("preset", "epoch", "train_loss", "val_loss", "val_ppl", "seed_ppl", "gini", "entropy_bits")
        rows = ([row.preset, *(getattr(epoch, name) for name in columns[1:])] for row in page.published for epoch in row.epochs)
        yield "published", _csv(columns, rows)
    for run in page.runs:
        yield from ((f"{run.id}-{name}", content) for name, content in _run_tables(run))


RUN_COLUMNS = ("id", "name", "status", "preset", "scale", "seed", "total", "trainable", "active", *Final.model_fields, "verdict")


def _run_row(run: Run) -> list[Any]:
    size = [getattr(run.parameters, name) if run.parameters else None for name in ("total", "trainable", "active")]
    figures = [getattr(run.final, name) if run.final else None for name in Final.model_fields]
    return [run.id, run.name, run.status, run.preset, run.scale, run.seed, *size, *figures, run.verdict]


def _run_tables(run: Run) -> Iterator[tuple[str, str]]:
    measured = run.curves.evaluation
    if measured.step:
        names = ("step", "tokens", "val_loss", "val_ppl", "bits_per_byte", "seed_ppl")
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
            yield [layer.layer, guild.id, " ".join(map(str, guild.experts)), guild.share, guild.word_class, words]


def _information_rows(run: Run, fields: Sequence[str]) -> Iterator[list[Any]]:
    for layer in run.guilds or ():
        for grouping, found in (("guild", layer.guild_nmi), ("expert", layer.expert_nmi)):
            if found is not None:
                yield [layer.layer, layer.labels, grouping, *(getattr(found, name) for name in fields)]


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_safe(value) for value in row] for row in rows)
    return text.getvalue()


def _safe(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets a quote before it: words come from data, which anyone may write."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value
