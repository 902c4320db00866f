"""One run folder as the page shows it: everything that can be read quickly and without its model. The result
is always a Run: a problem is one of its fields, never an exception."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from somelab.analysis.snapshots import LayerHistory, read_history
from somelab.config import Config
from somelab.core.meanings import over_usage
from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.view.page import curves as journals
from somelab.view.page.balance import (
    evaluation_series,
    failures,
    judged,
    lines,
    measure_info,
    training_series,
    verdict,
)
from somelab.view.page.curves import NO_CURVES
from somelab.view.page.files import config_of, environment_of
from somelab.view.page.growth import growth_of
from somelab.view.page.packing import numbers
from somelab.view.page.published import published_figures
from somelab.view.page.records import Columns, Metrics, RunRecords
from somelab.view.page.settings import data_of, environment, num_steps, parameters_of, settings
from somelab.view.page.status import Foreign, check_ours, status_of
from somelab.view.page.tail import Record
from somelab.view.schema.page import Balance, LayerUsage, LeftOut, Run

NAMES = ("Lexicon", "Mind's Eye", "Storyteller")
"""The reports' names of the first, the middle and the last layer."""
# What a damaged or foreign folder makes its readers raise.
UNREADABLE = (
    SomelabError,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)

T = TypeVar("T")


class Reader:
    """Reads the parts of a folder one by one, and records what cannot be read instead of failing."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.problems: list[str] = []

    def part(self, name: str, read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except UNREADABLE as error:
            self.problems.append(one_line(error, f"{self.run.path}: {name} cannot be read"))
            return otherwise


def one_line(error: BaseException, what: str) -> str:
    """An error on one line; somelab's own messages are complete."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, SomelabError) else f"{what} ({type(error).__name__}: {text})"


def run_of(
    path: Path | str,
    run_id: str | None = None,
    *,
    inside: Path | None = None,
    records: RunRecords | None = None,
) -> Run:
    """A run without galaxies, traces and guilds (null); `view.heavy` adds those.

    `inside`: the folder that no link may leave; None: the run itself. `records`: those that were read
    before."""
    run = RunFolder(path)
    inside = inside or run.path
    run_id = run_id or run.path.resolve().name
    try:
        facts = check_ours(run, inside=inside)
    except Foreign as error:
        return not_a_run(run, run_id, "foreign", one_line(error, ""))
    except UNREADABLE as error:
        return not_a_run(run, run_id, "broken", one_line(error, f"{run.path}: run.json cannot be read"))
    reader = Reader(run)
    config = reader.part("config.yaml", lambda: config_of(run, inside=inside), None)
    if config is None:
        return not_a_run(run, run_id, "broken", reader.problems[0])
    held = records or RunRecords(run.path, inside=inside)
    made = reader.part("its records", lambda: _run(reader, run_id, facts, config, held), None)
    return made or not_a_run(run, run_id, "broken", reader.problems[0])


def not_a_run(run: RunFolder, run_id: str, status: Any, problem: str) -> Run:
    """A folder of which only the problem can be shown."""
    return Run(
        id=run_id,
        name=run.path.name,
        path=str(run.path),
        status=status,
        problem=problem,
        verdict=problem,
        judged="",
        findings=[],
        preset=None,
        scale=None,
        seed=None,
        feed_forward=None,
        num_layers=0,
        num_experts=0,
        top_k=0,
        num_steps=None,
        layer_names=[],
        config=[],
        data=None,
        parameters=None,
        environment=[],
        command="",
        started=None,
        final=None,
        curves=NO_CURVES,
        warnings=[],
        balance=None,
        galaxies=None,
        traces=None,
        guilds=None,
        left_out=[],
    )


def _run(reader: Reader, run_id: str, facts: dict[str, Any], config: Config, records: RunRecords) -> Run:
    run = reader.run
    metrics = reader.part("metrics.jsonl", records.metrics, Metrics())
    layers = reader.part("layers.jsonl", records.layers, [])
    timing = reader.part("timing.jsonl", records.timing, Columns(()))
    around = reader.part("environment.json", lambda: environment_of(run), {})
    history: list[LayerHistory] = reader.part("keys", lambda: read_history(run), [])
    is_some = config.model.feed_forward == "some"
    by = judged(config, metrics, layers) if is_some else None
    found = failures(config, by)
    data = data_of(facts)
    status = status_of(run, is_finished=metrics.is_finished)
    problem = reader.problems[0] if reader.problems else None
    preset, scale = (
        value if isinstance(value := facts.get(name), str) else None for name in ("preset", "scale")
    )
    command = around.get("command")
    growth, not_grown = growth_of(run)
    missing = [LeftOut(name="growth", reason=not_grown)] if not_grown else []
    return Run(
        id=run_id,
        name=str(facts.get("name") or run.path.name),
        path=str(run.path),
        status="broken" if problem else status,
        problem=problem,
        verdict=verdict(config, found, measured=by is not None),
        judged="" if by is None else by.sentence,
        findings=[finding.sentence for finding in found],
        preset=preset,
        scale=scale,
        seed=config.train.seed,
        feed_forward=config.model.feed_forward,
        num_layers=config.model.num_layers,
        num_experts=config.experts.num_experts,
        top_k=config.experts.top_k,
        num_steps=num_steps(config, data),
        layer_names=layer_names(config.model.num_layers),
        config=settings(config, preset, scale),
        data=data,
        parameters=parameters_of(facts),
        environment=environment(around),
        command=shlex.join(map(str, command)) if isinstance(command, list) else "",
        started=str(around["started"]) if "started" in around else None,
        final=journals.final(metrics, timing),
        curves=journals.curves(metrics, timing),
        warnings=journals.warnings(metrics),
        balance=_balance(config, metrics, layers, history) if is_some else None,
        galaxies=None,
        traces=None,
        guilds=None,
        left_out=[*(LeftOut(name="record", reason=reason) for reason in reader.problems), *missing],
        published=published_figures(preset),
        growth=growth,
    )


def _balance(config: Config, metrics: Metrics, layers: list[Record], history: list[LayerHistory]) -> Balance:
    usage = [
        LayerUsage(count=numbers(layer.usage_FE[-1].tolist()), mass=numbers(layer.mass_FE[-1].tolist()))
        for layer in history
    ]
    evaluated = journals.evaluations(metrics)
    gravity = config.gravity
    return Balance(
        info=measure_info(config, evaluated[-1].get("num_tokens") if evaluated else None),
        lines=lines(config),
        training=training_series(layers),
        evaluation=evaluation_series(metrics),
        usage=usage,
        usage_step=history[0].steps[-1] if history else None,
        usage_counted=over_usage(ema_decay=gravity.ema_decay, cumulative=gravity.usage == "cumulative"),
    )


def layer_names(num_layers: int) -> list[str | None]:
    """The reports' names of the first, middle and last layer; None for the others."""
    names: list[str | None] = [None] * num_layers
    if num_layers >= 3:
        for name, layer in zip(NAMES, (0, num_layers // 2, num_layers - 1), strict=True):
            names[layer] = name
    elif num_layers:
        names[0] = NAMES[0]
        names[-1] = NAMES[-1] if num_layers == 2 else NAMES[0]
    return names
