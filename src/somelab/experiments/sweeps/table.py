"""The table of a sweep: mean and 95 % interval over random seeds of every arm, beside the published figures,
and the paired differences from the arm that each is compared with. Nothing in it depends on the clock, the
machine or a folder's name."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from somelab.analysis.intervals import Interval, interval, paired
from somelab.config import Config, preset
from somelab.disk import atomic
from somelab.experiments.runner.job import task_of
from somelab.experiments.runner.measures import Measure, Measures
from somelab.experiments.runner.plan import Arm, Plan, identity
from somelab.experiments.sweeps.published import PUBLISHED, Epochs, by_epoch, epoch_lines, last_figures
from somelab.experiments.tuning import text as tuning_text
from somelab.experiments.tuning.curve import Curve

NO_MASK = "no causal mask: reads the answer"
Figures = Mapping[int, Mapping[str, float]]
"""The figures of an arm's finished runs by seed."""


@dataclass(frozen=True)
class Row:
    """One arm."""

    arm: Arm
    seeds: tuple[int, ...]
    """Those that finished."""
    means: dict[str, Interval]
    published: dict[str, float]
    differences: dict[str, Interval] = field(default_factory=dict[str, Interval])
    """Arm minus base, by measure, over the seeds that both have."""
    failures: dict[int, str] = field(default_factory=dict[int, str])
    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """The value of each seed, in the order of `seeds`."""
    tuning: Curve | None = None
    """The search for the arm's tuned setting; None in a sweep that tunes nothing."""
    base_is_tuned: bool = True
    """False if the search of the arm's base has not settled, so that a difference from it is not reliable."""
    epochs: Epochs = field(default_factory=dict[int, dict[str, float]])
    """Our figures by epoch, where a report has any."""

    @property
    def is_untuned(self) -> bool:
        """Whether the sweep tunes, and the search of this arm has not settled."""
        return self.tuning is not None and not self.tuning.is_tuned

    @property
    def label(self) -> str:
        """The arm's name, marked where its search has not settled or it has no causal mask."""
        name = self.arm.name if self.arm.config.model.causal else f"{self.arm.name} *{NO_MASK}*"
        return f"{name} *{tuning_text.UNTUNED}*" if self.is_untuned else name


def read_figures(plan: Plan, out: Path) -> dict[str, Figures]:
    """The figures of all finished runs of a plan, by arm and seed."""
    found: dict[str, Figures] = {}
    for job in plan.jobs(out):
        figures = task_of(job).figures(job)
        found.setdefault(job.arm, {})
        if figures:
            found[job.arm] = {**found[job.arm], job.seed: figures}
    return found


def rows_of(
    plan: Plan,
    figures: Mapping[str, Figures],
    failures: Mapping[tuple[str, int], str] | None = None,
    curves: Mapping[str, Curve] | None = None,
    epochs: Mapping[str, Epochs] | None = None,
) -> list[Row]:
    """A row per arm, in the plan's order. `curves`: the searches by arm, where the sweep tunes; `epochs`: our
    figures by epoch."""
    failures, curves, epochs = failures or {}, curves or {}, epochs or {}
    rows: list[Row] = []
    for arm in plan.arms:
        own = figures.get(arm.name, {})
        base, base_curve = figures.get(arm.base or "", {}), curves.get(arm.base or "")
        both = [seed for seed in sorted(own) if seed in base]
        names = sorted({name for run in own.values() for name in run})
        known = [name for name in names if all(name in run for run in own.values())]
        rows.append(
            Row(
                arm,
                tuple(sorted(own)),
                {name: _over(own, sorted(own), name) for name in known},
                last_figures(arm),
                {
                    name: paired([own[seed][name] for seed in both], [base[seed][name] for seed in both])
                    for name in names
                    if both and all(name in own[seed] and name in base[seed] for seed in both)
                },
                # The remedy after the first semicolon names folders; the outcomes beside the runs have all of
                # it.
                {
                    seed: reason.partition(";")[0]
                    for (name, seed), reason in sorted(failures.items())
                    if name == arm.name
                },
                {name: [own[seed][name] for seed in sorted(own)] for name in known},
                curves.get(arm.name),
                base_curve is None or base_curve.is_tuned,
                epochs.get(arm.name, {}),
            )
        )
    return rows


def write_table(plan: Plan, rows: Sequence[Row], out: Path) -> None:
    """table.md, table.csv and table.json in the sweep's folder."""
    atomic.write_text(out / "table.md", markdown(plan, rows))
    atomic.write_text(out / "table.csv", as_csv(plan, rows))
    atomic.write_text(out / "table.json", json.dumps(as_record(plan, rows), indent=1) + "\n")


def markdown(plan: Plan, rows: Sequence[Row]) -> str:
    """The table for people."""
    lines = [f"# {plan.name}" + (f": {plan.title}" if plan.title else ""), ""]
    lines.append(
        f"Scale {plan.scale}, seed{'s' if len(plan.seeds) > 1 else ''} "
        f"{', '.join(str(seed) for seed in plan.seeds)}; mean ± half of the 95 % "
        "interval over seeds."
    )
    if plan.settings:
        lines.append(
            "Set for all arms: "
            f"{', '.join(f'{name} = {value}' for name, value in sorted(plan.settings.items()))}."
        )
    if curves := _curves(rows):
        unsettled = "An arm whose search has not settled is *untuned*."
        lines.append(f"Tuned for every arm: {curves[0].setting}. {unsettled}")
    shown = [measure for measure in plan.measures.shown if _is_in(rows, measure)]
    beside = [name for name in PUBLISHED if any(name in row.published for row in rows)]
    tuning = [curves[0].setting, "tuning", "tuning runs"] if curves else []
    heads = ["arm", "D/L/E/F/K", "seeds", *tuning, *(measure.title for measure in shown)]
    heads += [f"published {name}" for name in beside]
    lines += [
        "",
        *_grid(
            heads, [_cells(row, row.label, _tuning_cells(row, len(tuning)), shown, beside) for row in rows]
        ),
    ]
    lines += _difference_lines(plan.measures, rows)
    remarks = remark_lines(plan, rows)
    lines += ["", *(f"- {line}" for line in remarks)] if remarks else []
    lines += ["", *(f"- {measure.title}: {measure.meaning}" for measure in shown)]
    if beside:
        lines.append(
            "- published: the report's figure for the run at full scale; their Gini and entropy are of the "
            "middle layer, in training"
        )
    lines += epoch_lines(plan.arms, {row.arm.name: row.epochs for row in rows})
    lines += tuning_text.section(curves)
    return "\n".join(lines) + "\n"


def remark_lines(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Remarks on the figures: runs that failed, and arms that the scale has made equal."""
    failures = [
        f"{row.arm.name} seed {seed} failed: {reason}"
        for row in rows
        for seed, reason in row.failures.items()
    ]
    return [*failures, *alike_lines(plan)]


def alike_lines(plan: Plan) -> list[str]:
    """Arms whose presets differ in shape, and which have one shape at this scale."""
    alike: dict[str, list[Arm]] = {}
    for arm in plan.arms:
        alike.setdefault(_shape(arm.config), []).append(arm)
    return [
        (
            f"{', '.join(arm.name for arm in arms)} have one shape here ({shape}) and several as presets: "
            "what tells these apart is not tested"
        )
        for shape, arms in alike.items()
        if len({_shape(preset(arm.preset).config) for arm in arms if arm.preset}) > 1
    ]


def at_a_glance(measures: Measures, rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows that fit a terminal: the main figures, and how the loss differs from the base.

    In a sweep that tunes the chosen value of every arm takes the place of all figures but the loss."""
    names = (measures.main,) if _curves(rows) else measures.glance
    shown = [measure for measure in measures.named(names) if _is_in(rows, measure)]
    (main,) = measures.named((measures.main,))
    body: list[list[str]] = []
    for row in rows:
        difference = row.differences.get(main.name)
        against = f"{_signed(difference, main)} from {row.arm.base}" if difference else ""
        tuning = [tuning_text.chosen_with_standing(row.tuning) if row.tuning else ""] if _curves(rows) else []
        body.append([*_cells(row, row.arm.name, tuning, shown, ()), against])
    tuned = [curve.setting.partition(".")[2] for curve in _curves(rows)[:1]]
    heads = ["arm", "D/L/E/F/K", "seeds", *tuned, *(measure.title for measure in shown)]
    return [*heads, f"{main.title}, difference"], body


def tuning_lines(rows: Sequence[Row]) -> list[str]:
    """A line for every search, for a terminal: its standing, its runs, and loss by value."""
    return [tuning_text.line(curve) for curve in _curves(rows)]


def as_csv(plan: Plan, rows: Sequence[Row]) -> str:
    """One line an arm: mean, low and high of the measures, then of the differences, then the published
    figures."""
    measures = [measure.name for measure in plan.measures.shown if _is_in(rows, measure)]
    differing = [name for name in plan.measures.differences if any(name in row.differences for row in rows)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    parts = ("mean", "low", "high")
    tuning = ["tuned_setting", "tuned_value", "tuning", "tuning_runs"] if _curves(rows) else []
    heads = ["arm", "base", "num_seeds", *tuning, *(f"{name}_{part}" for name in measures for part in parts)]
    heads += [f"difference_{name}_{part}" for name in differing for part in parts]
    writer.writerow([*heads, *(f"published_{name}" for name in PUBLISHED)])
    for row in rows:
        cells: list[object] = [row.arm.name, row.arm.base or "", len(row.seeds)]
        cells += [row.tuning.setting if row.tuning else "", *_tuning_cells(row, 3)] if tuning else []
        for found, names in ((row.means, measures), (row.differences, differing)):
            for name in names:
                cells += [_number(getattr(found[name], part)) if name in found else "" for part in parts]
        writer.writerow([*cells, *(row.published.get(name, "") for name in PUBLISHED)])
    return file.getvalue()


def as_record(plan: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """The table for programs."""
    return {
        "kind": plan.kind,
        "plan": plan.name,
        "title": plan.title,
        "scale": plan.scale,
        "seeds": list(plan.seeds),
        "settings": plan.settings,
        **_tuned_record(rows),
        "remarks": alike_lines(plan),
        "measures": [_measure_record(measure) for measure in plan.measures.all if _is_in(rows, measure)],
        "arms": [
            {
                "name": row.arm.name,
                "title": row.arm.title,
                "preset": row.arm.preset,
                "base": row.arm.base,
                "config_digest": identity(row.arm.config),
                "sizes": _sizes(row.arm.config),
                "seeds": list(row.seeds),
                "values": row.values,
                "means": {name: interval_record(found) for name, found in row.means.items()},
                "differences": {name: interval_record(found) for name, found in row.differences.items()},
                "published": row.published,
                "published_epochs": {str(epoch): found for epoch, found in by_epoch(row.arm).items()},
                "epochs": {str(epoch): found for epoch, found in row.epochs.items()},
                "failures": {str(seed): reason for seed, reason in row.failures.items()},
                **tuning_record(row),
            }
            for row in rows
        ],
    }


def _tuned_record(rows: Sequence[Row]) -> dict[str, Any]:
    """What was tuned, for the head of the table; empty where nothing was. `values` is null for a grid."""
    curves = _curves(rows)
    if not curves:
        return {}
    values = curves[0].search.facts().get("values")
    return {"tuning": {"setting": curves[0].setting, "values": values, "seed": curves[0].seed}}


def tuning_record(row: Row) -> dict[str, Any]:
    """The search of an arm: `chosen` is null until it is over, `curve` has every value with its last loss."""
    curve = row.tuning
    if curve is None:
        return {}
    chosen = curve.best if curve.is_over else None
    more = {"chosen": chosen, "problem": curve.problem, "curve": curve.last_losses}
    return {"tuning": {**curve.record(), **more}}


def interval_record(found: Interval) -> dict[str, float | int | None]:
    """An interval as plain values; what one seed cannot tell is null."""
    return {"mean": found.mean, "low": _number(found.low), "high": _number(found.high), "num": found.num}


def _measure_record(measure: Measure) -> dict[str, Any]:
    """What a page has to know of a measure: how to write it, and which published figure it may be held
    against."""
    beside = next((theirs for theirs, ours in PUBLISHED.items() if ours == measure.name), None)
    digits = int(measure.form.partition(".")[2].rstrip("f"))
    return {
        "name": measure.name,
        "title": measure.title,
        "digits": digits,
        "meaning": measure.meaning,
        "published": beside,
    }


def _curves(rows: Sequence[Row]) -> list[Curve]:
    """The searches of a sweep that tunes, in the order of its arms."""
    return [row.tuning for row in rows if row.tuning is not None]


def _tuning_cells(row: Row, num: int) -> list[str]:
    """The chosen value, its standing and the number of tuning runs; empty cells for an arm without a search.
    `num`: of the cells, 0 in a sweep that tunes nothing."""
    curve = row.tuning
    found = [tuning_text.chosen(curve), curve.standing, tuning_text.num_runs(curve)] if curve else [""] * 3
    return found[:num]


def _is_in(rows: Sequence[Row], measure: Measure) -> bool:
    return any(measure.name in row.means for row in rows)


def _shape(config: Config) -> str:
    return "/".join(str(number) for number in _sizes(config).values())


def _sizes(config: Config) -> dict[str, int]:
    """D, L, E, F and K by their names."""
    model, experts = config.model, config.experts
    return {
        "d_model": model.d_model,
        "num_layers": model.num_layers,
        "num_experts": experts.num_experts,
        "d_ffn": experts.d_ffn,
        "top_k": experts.top_k,
    }


def plus_minus(found: Interval, measure: Measure) -> str:
    """4.2263 ± 0.0150; without a half where there is one seed, or if all seeds have the same value."""
    mean = format(found.mean, measure.form)
    if not math.isfinite(found.half_width) or found.half_width == 0:
        return mean
    return f"{mean} ± {format(found.half_width, measure.form)}"


def _over(figures: Figures, seeds: Sequence[int], name: str) -> Interval:
    return interval([figures[seed][name] for seed in seeds])


def _cells(
    row: Row, name: str, tuning: Sequence[str], shown: Sequence[Measure], beside: Sequence[str]
) -> list[str]:
    figures = [
        plus_minus(row.means[measure.name], measure) if measure.name in row.means else "" for measure in shown
    ]
    return [
        name,
        _shape(row.arm.config),
        str(len(row.seeds)),
        *tuning,
        *figures,
        *(f"{row.published[n]:g}" if n in row.published else "" for n in beside),
    ]


def _difference_lines(measures: Measures, rows: Sequence[Row]) -> list[str]:
    compared = [row for row in rows if row.differences]
    shown = [
        measure
        for measure in measures.named(measures.differences)
        if any(measure.name in row.differences for row in compared)
    ]
    if not compared:
        return []
    body = [
        [
            f"{row.arm.name} - {row.arm.base}" + (f" *{tuning_text.UNTUNED}*" if _is_open(row) else ""),
            str(next(iter(row.differences.values())).num),
            *(_weighed(row, measure) if measure.name in row.differences else "" for measure in shown),
        ]
        for row in compared
    ]
    both = " and both arms are tuned" if _curves(rows) else ""
    lines = ["", f"Paired differences, seed by seed; bold where the interval excludes zero{both}:", ""]
    return [*lines, *_grid(["difference", "seeds", *(measure.title for measure in shown)], body)]


def _is_open(row: Row) -> bool:
    """Whether a difference decides nothing, because the arm or its base is untuned."""
    return row.is_untuned or not row.base_is_tuned


def _weighed(row: Row, measure: Measure) -> str:
    found = row.differences[measure.name]
    text = _signed(found, measure)
    return f"**{text}**" if found.excludes_zero and not _is_open(row) else text


def _signed(found: Interval, measure: Measure) -> str:
    return ("+" if found.mean > 0 else "") + plus_minus(found, measure)


def _grid(heads: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    rule = "|".join("---" if number == 0 else "---:" for number in range(len(heads)))
    return [f"| {' | '.join(heads)} |", f"|{rule}|", *(f"| {' | '.join(cells)} |" for cells in body)]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
