"""The table of a sweep: mean and 95 % interval over seeds of every arm, beside the seeds' own figures, and the paired
differences from the arm that each is compared with. Nothing in it depends on the clock, the machine or a folder's name."""

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
from somelab.experiments.figures import MEASURES, Measure, figures_of
from somelab.experiments.plan import Arm, Plan, identity
from somelab.runs import RunFolder

# Which published figure stands beside which of ours. Their val_loss counts padding up to v4, so it stands beside none.
PUBLISHED = {"seed_ppl": "seed_ppl", "val_ppl": "val_ppl", "gini": "gini_middle", "entropy_bits": "entropy_bits_middle"}
# Left out of the table for people, whose columns are many; pages hold the seeds' entropy against it.
ENTROPY_MIDDLE = Measure("entropy_bits_middle", "entropy, middle", ".3f", "bits, of the middle layer, which the seeds report")
DIFFERENCES = ("val_loss", "bits_per_byte", "seed_ppl", "gini", "num_combinations", "crowding")
GLANCE = ("val_loss", "bits_per_byte", "gini")
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
    """What each seed measured, in the order of `seeds`; the means are of these."""


def read_figures(plan: Plan, out: Path) -> dict[str, Figures]:
    """The figures of all finished runs of a plan, by arm and seed."""
    found: dict[str, Figures] = {}
    for job in plan.jobs(out):
        run = RunFolder(job.folder)
        figures = figures_of(run) if (job.folder / "run.json").exists() else {}
        found.setdefault(job.arm, {})
        if figures:
            found[job.arm] = {**found[job.arm], job.seed: figures}
    return found


def rows_of(plan: Plan, figures: Mapping[str, Figures], failures: Mapping[tuple[str, int], str] | None = None) -> list[Row]:
    """A row per arm, in the plan's order."""
    failures = failures or {}
    rows: list[Row] = []
    for arm in plan.arms:
        own = figures.get(arm.name, {})
        base = figures.get(arm.base, {}) if arm.base else {}
        both = [seed for seed in sorted(own) if seed in base]
        names = sorted({name for run in own.values() for name in run})
        known = [name for name in names if all(name in run for run in own.values())]
        rows.append(
            Row(
                arm,
                tuple(sorted(own)),
                {name: _over(own, sorted(own), name) for name in known},
                _published(arm),
                {
                    name: paired([own[seed][name] for seed in both], [base[seed][name] for seed in both])
                    for name in names
                    if both and all(name in own[seed] and name in base[seed] for seed in both)
                },
                # The remedy after the first semicolon names folders; the outcomes beside the runs have all of it.
                {seed: reason.partition(";")[0] for (name, seed), reason in sorted(failures.items()) if name == arm.name},
                {name: [own[seed][name] for seed in sorted(own)] for name in known},
            )
        )
    return rows


def write_table(plan: Plan, rows: Sequence[Row], out: Path) -> None:
    """table.md, table.csv and table.json in the sweep's folder."""
    atomic.write_text(out / "table.md", markdown(plan, rows))
    atomic.write_text(out / "table.csv", as_csv(rows))
    atomic.write_text(out / "table.json", json.dumps(as_record(plan, rows), indent=1) + "\n")


def markdown(plan: Plan, rows: Sequence[Row]) -> str:
    """The table for people."""
    lines = [f"# {plan.name}" + (f": {plan.title}" if plan.title else ""), ""]
    lines.append(
        f"Scale {plan.scale}, seeds {', '.join(str(seed) for seed in plan.seeds)}; mean ± half of the 95 % interval over seeds."
    )
    if plan.settings:
        lines.append(f"Set for all arms: {', '.join(f'{name} = {value}' for name, value in sorted(plan.settings.items()))}.")
    shown = [measure for measure in MEASURES if _is_in(rows, measure)]
    beside = [name for name in PUBLISHED if any(name in row.published for row in rows)]
    heads = ["arm", "D/L/E/F/K", "seeds", *(measure.title for measure in shown), *(f"published {name}" for name in beside)]
    lines += ["", *_grid(heads, [_cells(row, shown, beside) for row in rows])]
    lines += _difference_lines(rows)
    remarks = remark_lines(plan, rows)
    lines += ["", *(f"- {line}" for line in remarks)] if remarks else []
    lines += ["", *(f"- {measure.title}: {measure.meaning}" for measure in shown)]
    if beside:
        lines.append("- published: the seeds' own figure for the run at full scale; their Gini is that of the middle layer")
    return "\n".join(lines) + "\n"


def remark_lines(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """What a reader has to know beside the figures: runs that failed, and arms that the scale has made alike."""
    failures = [f"{row.arm.name} seed {seed} failed: {reason}" for row in rows for seed, reason in row.failures.items()]
    return [*failures, *alike_lines(plan)]


def alike_lines(plan: Plan) -> list[str]:
    """Arms whose presets differ in shape, and which have one shape at this scale."""
    alike: dict[str, list[Arm]] = {}
    for arm in plan.arms:
        alike.setdefault(_shape(arm.config), []).append(arm)
    return [
        f"{', '.join(arm.name for arm in arms)} have one shape here ({shape}) and several as presets: what tells these apart is "
        "not tested"
        for shape, arms in alike.items()
        if len({_shape(preset(arm.preset).config) for arm in arms if arm.preset}) > 1
    ]


def at_a_glance(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of what a terminal has room for: the main figures, and by how much the loss differs from the arm's base."""
    shown = [measure for measure in MEASURES if measure.name in GLANCE and _is_in(rows, measure)]
    loss = next(measure for measure in MEASURES if measure.name == "val_loss")
    body: list[list[str]] = []
    for row in rows:
        difference = row.differences.get("val_loss")
        against = f"{_signed(difference, loss)} from {row.arm.base}" if difference else ""
        body.append([*_cells(row, shown, ()), against])
    return ["arm", "D/L/E/F/K", "seeds", *(measure.title for measure in shown), "val_loss, difference"], body


def as_csv(rows: Sequence[Row]) -> str:
    """One line an arm: mean, low and high of the measures, then of the differences, then the published figures."""
    measures = [measure.name for measure in MEASURES if _is_in(rows, measure)]
    differing = [name for name in DIFFERENCES if any(name in row.differences for row in rows)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    parts = ("mean", "low", "high")
    heads = ["arm", "base", "num_seeds", *(f"{name}_{part}" for name in measures for part in parts)]
    heads += [f"difference_{name}_{part}" for name in differing for part in parts]
    writer.writerow([*heads, *(f"published_{name}" for name in PUBLISHED)])
    for row in rows:
        cells: list[object] = [row.arm.name, row.arm.base or "", len(row.seeds)]
        for found, names in ((row.means, measures), (row.differences, differing)):
            for name in names:
                cells += [_number(getattr(found[name], part)) if name in found else "" for part in parts]
        writer.writerow([*cells, *(row.published.get(name, "") for name in PUBLISHED)])
    return file.getvalue()


def as_record(plan: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """The table for programs."""
    return {
        "plan": plan.name,
        "title": plan.title,
        "scale": plan.scale,
        "seeds": list(plan.seeds),
        "settings": plan.settings,
        "remarks": alike_lines(plan),
        "measures": [_measure_record(measure) for measure in (*MEASURES, ENTROPY_MIDDLE) if _is_in(rows, measure)],
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
                "failures": {str(seed): reason for seed, reason in row.failures.items()},
            }
            for row in rows
        ],
    }


def interval_record(found: Interval) -> dict[str, float | int | None]:
    """An interval as plain values; what one seed cannot tell is null."""
    return {"mean": found.mean, "low": _number(found.low), "high": _number(found.high), "num": found.num}


def _measure_record(measure: Measure) -> dict[str, Any]:
    """What a page has to know of a measure: how to write it, and which published figure it may be held against."""
    beside = next((theirs for theirs, ours in PUBLISHED.items() if ours == measure.name), None)
    digits = int(measure.form.partition(".")[2].rstrip("f"))
    return {"name": measure.name, "title": measure.title, "digits": digits, "meaning": measure.meaning, "published": beside}


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
    """4.2263 ± 0.0150; without a half where there is one seed, or where the seeds agree to the last digit."""
    mean = format(found.mean, measure.form)
    if not math.isfinite(found.half_width) or found.half_width == 0:
        return mean
    return f"{mean} ± {format(found.half_width, measure.form)}"


def _over(figures: Figures, seeds: Sequence[int], name: str) -> Interval:
    return interval([figures[seed][name] for seed in seeds])


def _published(arm: Arm) -> dict[str, float]:
    figures = preset(arm.preset).published if arm.preset else None
    if figures is None:
        return {}
    last = {**(figures.epochs[-1] if figures.epochs else {}), **figures.final}
    return {name: float(last[name]) for name in PUBLISHED if name in last}


def _cells(row: Row, shown: Sequence[Measure], beside: Sequence[str]) -> list[str]:
    figures = [plus_minus(row.means[measure.name], measure) if measure.name in row.means else "" for measure in shown]
    return [
        row.arm.name,
        _shape(row.arm.config),
        str(len(row.seeds)),
        *figures,
        *(f"{row.published[n]:g}" if n in row.published else "" for n in beside),
    ]


def _difference_lines(rows: Sequence[Row]) -> list[str]:
    compared = [row for row in rows if row.differences]
    shown = [
        measure for measure in MEASURES if measure.name in DIFFERENCES and any(measure.name in r.differences for r in compared)
    ]
    if not compared:
        return []
    body = [
        [
            f"{row.arm.name} - {row.arm.base}",
            str(next(iter(row.differences.values())).num),
            *(_weighed(row.differences[measure.name], measure) if measure.name in row.differences else "" for measure in shown),
        ]
        for row in compared
    ]
    lines = ["", "Paired differences, seed by seed; bold where the interval excludes zero:", ""]
    return [*lines, *_grid(["difference", "seeds", *(measure.title for measure in shown)], body)]


def _weighed(found: Interval, measure: Measure) -> str:
    text = _signed(found, measure)
    return f"**{text}**" if found.excludes_zero else text


def _signed(found: Interval, measure: Measure) -> str:
    return ("+" if found.mean > 0 else "") + plus_minus(found, measure)


def _grid(heads: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    rule = "|".join("---" if number == 0 else "---:" for number in range(len(heads)))
    return [f"| {' | '.join(heads)} |", f"|{rule}|", *(f"| {' | '.join(cells)} |" for cells in body)]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
