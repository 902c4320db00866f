"""The folder of a sweep as the page shows it: its table as it was written, and the curves of its arms from
their runs. The result is always a Sweep: a problem is one of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from somelab.errors import SomelabError
from somelab.view.page.curves import evaluations
from somelab.view.page.packing import number
from somelab.view.page.payload import UNREADABLE, one_line
from somelab.view.page.published import published_curves
from somelab.view.page.records import RunRecords
from somelab.view.page.results import band_of, exact, interval_of, read_json
from somelab.view.page.tail import Record
from somelab.view.page.tuning import arm_tuning, value_chart
from somelab.view.schema.parts import Interval, Number
from somelab.view.schema.results import Arm, Band, ResultMeasure, Sweep, SweepRun

MOST_POINTS = 300
"""Of a training curve of an arm; longer ones are thinned to means."""
MOST_COMPARED = 50_000
"""Steps of a run of which the means are taken; of a longer run every n-th step."""
EVALUATED = ("val_loss", "bits_per_byte", "loss_with_padding")
USAGE = {
    "training_gini": "gini",
    "training_entropy_bits": "entropy_bits",
    "training_gini_with_padding": "training_gini_with_padding",
    "training_entropy_bits_with_padding": "training_entropy_bits_with_padding",
}
"""Curves of the usage in training, by their names among a layer's measures."""
LIGHT = "runs of a sweep are shown without maps, guilds and traces; name the run's own folder to see them"

FindRun = Callable[[Path], str | None]
"""The id under which a run folder is known."""


def sweep_of(folder: Path, sweep_id: str, find_run: FindRun) -> Sweep:
    """A sweep with everything; `find_run`: which of its runs can be opened."""
    try:
        return _sweep(folder, sweep_id, table_of(folder), find_run)
    except UNREADABLE as error:
        return not_a_sweep(folder, sweep_id, one_line(error, f"sweep {folder}: its table cannot be read"))


def not_a_sweep(folder: Path, sweep_id: str, problem: str) -> Sweep:
    return Sweep(
        id=sweep_id, name=folder.name, path=str(folder), problem=problem,
        title="", scale="", seeds=[], settings={}, remarks=[], measures=[], arms=[],
    )  # fmt: skip


def table_of(folder: Path) -> dict[str, Any]:
    """table.json, if it exists."""
    if not (folder / "table.json").is_file():
        raise SomelabError(
            f"sweep {folder}: has no table yet; it is written when the sweep ends or is stopped"
        )
    table = read_json(folder / "table.json")
    if "measures" not in table:
        remedy = "give its `somelab sweep` command again: finished runs are kept, the table is written again"
        raise SomelabError(f"sweep {folder}: its table is of an earlier version; {remedy}")
    return table


def run_folders(folder: Path, table: dict[str, Any]) -> list[Path]:
    """The existing runs of a sweep, arm by arm. Names come from an untrusted file: paths outside the folder
    are excluded."""
    inside = (
        _run_folder(folder, str(arm["name"]), int(seed)) for arm in table["arms"] for seed in table["seeds"]
    )
    return [path for path in inside if path is not None]


def _run_folder(folder: Path, arm: str, seed: int) -> Path | None:
    path = folder / arm / f"seed-{seed}"
    is_own = path.resolve().is_relative_to(folder.resolve())
    return path if is_own and (path / "run.json").is_file() else None


def _sweep(folder: Path, sweep_id: str, table: dict[str, Any], find_run: FindRun) -> Sweep:
    records: dict[str, dict[str, Any]] = {str(arm["name"]): arm for arm in table["arms"]}
    seeds = [int(seed) for seed in table["seeds"]]
    return Sweep(
        id=sweep_id,
        name=str(table["plan"]),
        path=str(folder),
        problem=None,
        title=str(table["title"]),
        scale=str(table["scale"]),
        seeds=seeds,
        settings={str(name): str(value) for name, value in table["settings"].items()},
        remarks=[str(remark) for remark in table.get("remarks", [])],  # tables of earlier versions have none
        measures=[ResultMeasure(**measure) for measure in table["measures"]],
        arms=[
            _arm(folder, record, records.get(record["base"] or ""), seeds, find_run)
            for record in records.values()
        ],
        tuning=value_chart(table),
    )


def _arm(
    folder: Path, record: dict[str, Any], base: dict[str, Any] | None, seeds: Sequence[int], find_run: FindRun
) -> Arm:
    name, finished = str(record["name"]), [int(seed) for seed in record["seeds"]]
    places = {seed: _run_folder(folder, name, seed) for seed in seeds}
    failures = {int(seed): str(reason) for seed, reason in record["failures"].items()}
    runs = [
        SweepRun(seed=seed, run_id=None if path is None else find_run(path), failure=failures.get(seed))
        for seed, path in places.items()
    ]
    published = published_curves(record["preset"])
    return Arm(
        name=name,
        title=str(record["title"]),
        base=record["base"],
        preset=record["preset"],
        sizes={str(size): int(value) for size, value in record["sizes"].items()},
        seeds=finished,
        figures={
            measure: interval_of(found, record["values"][measure])
            for measure, found in record["means"].items()
        },
        differences=_differences(record, base),
        published={
            measure: value
            for measure, found in record["published"].items()
            if (value := exact(found)) is not None
        },
        runs=runs,
        # Runs that are not finished would cut the curve of all short.
        curves=curves_of(
            [
                path
                for seed, path in places.items()
                if path is not None and (seed in finished or not finished)
            ],
            balance=bool(published),
        ),
        published_curves=published,
        tuning=arm_tuning(record),
    )


def _differences(record: dict[str, Any], base: dict[str, Any] | None) -> dict[str, Interval]:
    """The intervals are those of the table; what each pair of seeds differs by is taken from their values."""
    if base is None:
        return {}
    both = [seed for seed in record["seeds"] if seed in base["seeds"]]

    def value(of: dict[str, Any], measure: str, seed: int) -> float:
        return float(of["values"][measure][of["seeds"].index(seed)])

    return {
        measure: interval_of(
            found, [value(record, measure, seed) - value(base, measure, seed) for seed in both]
        )
        for measure, found in record["differences"].items()
        if measure in record["values"] and measure in base["values"]
    }


def curves_of(runs: Iterable[Path], *, balance: bool = False) -> dict[str, Band]:
    """Losses of an arm's runs over the steps that all of them have. `balance`: also the usage in training."""
    trained: list[list[Record]] = []
    measured: list[list[Record]] = []
    used: list[list[Record]] = []
    for path in runs:
        try:
            journals = RunRecords(path)
            metrics = journals.metrics()
            layers = journals.layers() if balance else []
        except UNREADABLE:
            continue  # the run's own entry reports the problem
        stride = max(1, -(-len(metrics.train) // MOST_COMPARED))
        trained.append(metrics.train[stride - 1 :: stride])
        measured.append(evaluations(metrics))
        used.append(_usage(layers, {record["step"]: record.get("tokens") for record in metrics.train}))
    found = {
        "loss": _shared(trained, "loss", MOST_POINTS),
        **{name: _shared(measured, name) for name in EVALUATED},
        **{name: _shared(used, name, MOST_POINTS) for name in USAGE},
    }
    return {name: band for name, band in found.items() if band is not None}


def _usage(layers: Sequence[Record], tokens: dict[int, Any]) -> list[Record]:
    """Gini and entropy of the middle layer's usage in training, as the reports have them."""
    found: list[Record] = []
    for record in layers:
        measured = record.get("layers") or []
        if measured and record["step"] in tokens:
            middle = measured[len(measured) // 2]
            own = {name: middle.get(USAGE[name]) for name in USAGE}
            found.append({"step": record["step"], "tokens": tokens[record["step"]], **own})
    return found


def _shared(journals: Sequence[Sequence[Record]], name: str, most: int | None = None) -> Band | None:
    """The band of one figure. Where it is long, blocks of steps become their means, seed by seed, before
    seeds are compared."""
    by_step = [{record["step"]: record for record in journal} for journal in journals if journal]
    if not by_step:
        return None
    steps = sorted(set.intersection(*(set(records) for records in by_step)))
    size = 1 if most is None else max(1, -(-len(steps) // most))
    blocks = [steps[first : first + size] for first in range(0, len(steps), size)]
    seeds = [[_mean([records[step].get(name) for step in block]) for block in blocks] for records in by_step]
    # With padding, seeds read differently many tokens in a step.
    tokens = [_mean([records[block[-1]].get("tokens") for records in by_step]) or 0.0 for block in blocks]
    return band_of(tokens, seeds) if any(value is not None for seed in seeds for value in seed) else None


def _mean(values: Sequence[Any]) -> Number:
    known = [value for value in map(number, values) if value is not None]
    return number(sum(known) / len(known)) if known else None
