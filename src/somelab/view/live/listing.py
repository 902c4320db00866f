"""The list of runs and results: a line for each, updated from the new records of the journals."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from somelab import __version__
from somelab.config import Config
from somelab.runs import RunFolder
from somelab.view.live.journals import Follower, News
from somelab.view.live.messages import ResultSummary, RunList, RunSummary
from somelab.view.live.table import Entry, RunTable
from somelab.view.page.files import config_of, environment_of
from somelab.view.page.packing import number
from somelab.view.page.payload import UNREADABLE, one_line
from somelab.view.page.results import Kind, changed_at
from somelab.view.page.settings import data_of, num_steps
from somelab.view.page.status import Foreign, check_ours
from somelab.view.page.studies import summary_of
from somelab.view.page.sweeps import table_of
from somelab.view.schema.page import FORMAT, Status

SPARK_POINTS = 60
SECONDS_OF_READING = 1.0
"""For the journals of all runs in one look; beyond it every run still has one block read."""


@dataclass
class _Known:
    """The state that the list keeps of a run."""

    follower: Follower
    config: Config
    facts: dict[str, Any]
    environment: dict[str, Any]
    step: int = 0
    losses: list[float | None] = field(default_factory=list)
    num_per_loss: int = 1
    """Steps behind each entry of `losses`: it doubles when the list has grown too long."""
    last_loss: float | None = None
    val_ppl: float | None = None
    bits_per_byte: float | None = None
    num_warnings: int = 0

    def take_(self, news: News) -> None:
        for record in news.records["metrics"]:
            kind = record.get("kind")
            if kind == "train":
                self.last_loss, self.step = number(record.get("loss")), int(record.get("step") or self.step)
                self._add_(self.last_loss)
            elif kind in ("evaluation", "final"):
                self.val_ppl = number(record.get("val_ppl"))
                self.bits_per_byte = number(record.get("bits_per_byte"))
            elif kind == "warning":
                self.num_warnings += 1

    def _add_(self, loss: float | None) -> None:
        if self.step % self.num_per_loss == 0:
            self.losses.append(loss)
        if len(self.losses) > 2 * SPARK_POINTS:
            self.losses, self.num_per_loss = self.losses[1::2], 2 * self.num_per_loss


class LiveList:
    """Summaries of all runs of a table. Thread-safe."""

    def __init__(self, table: RunTable) -> None:
        self.table = table
        self._known: dict[Path, _Known] = {}
        self._results: dict[Path, tuple[object, ResultSummary]] = {}
        self._lock = threading.Lock()

    def look(self) -> RunList:
        """The list as it is now. Long journals are read over several looks: each spends a bounded time on
        them, and shows how far it has come."""
        with self._lock:
            entries, unread = self.table.look()
            until = time.monotonic() + SECONDS_OF_READING
            runs = [self._summary(entry, until) for entry in entries if entry.kind is None]
            results = [self._result(entry, entry.kind) for entry in entries if entry.kind is not None]
            found = {entry.path for entry in entries}
            for gone in [path for path in self._known if path not in found]:
                del self._known[gone]
            for gone in [path for path in self._results if path not in found]:
                del self._results[gone]
        order: dict[Status, int] = {"running": 0, "finished": 1, "stopped": 1, "broken": 2, "foreign": 2}
        runs.sort(key=lambda run: run.started or "", reverse=True)
        runs.sort(key=lambda run: order[run.status])
        return RunList(format=FORMAT, made_by_version=__version__, runs=runs, results=results, unread=unread)

    def _summary(self, entry: Entry, until: float) -> RunSummary:
        if entry.problem is not None:
            return _unreadable(entry, "foreign", entry.problem)
        try:
            facts = check_ours(RunFolder(entry.path), inside=entry.root)
            known = self._known.get(entry.path)
            if known is None or known.facts != facts:
                known = self._known[entry.path] = _read(entry, facts)
            while True:
                news = known.follower.news()
                if news.restarted:
                    known = self._known[entry.path] = _read(entry, facts)
                    continue
                known.take_(news)
                if not news.is_behind or time.monotonic() > until:
                    return _line(entry, known, news.status)
        except Foreign as error:
            return _unreadable(entry, "foreign", one_line(error, ""))
        except UNREADABLE as error:
            self._known.pop(entry.path, None)
            return _unreadable(entry, "broken", one_line(error, f"{entry.path}: cannot be read"))

    def _result(self, entry: Entry, kind: Kind) -> ResultSummary:
        """Read again when its files have changed: the list is asked for every few seconds."""
        state = (entry.id, kind, *(changed_at(entry.path / name) for name in ("table.json", "summary.json")))
        known = self._results.get(entry.path)
        if known is None or known[0] != state:
            known = self._results[entry.path] = (state, _result(entry, kind))
        return known[1]


def _result(entry: Entry, kind: Kind) -> ResultSummary:
    """The line of a folder of results. Its content is read when it is opened."""
    name, about, problem = entry.path.name, "", None
    try:
        if kind == "sweep":
            table = table_of(entry.path)
            name = str(table["plan"])
            parts = (
                _number_of(table["arms"], "arm"),
                _number_of(table["seeds"], "seed"),
                f"{table['scale']} scale",
                table["title"],
            )
        else:
            summary = summary_of(entry.path)
            parts = (_number_of(summary["learners"], "learner"), " > ".join(map(str, summary["experiences"])))
        about = " · ".join(str(part) for part in parts if part)
    except UNREADABLE as error:
        problem = one_line(error, f"{entry.path}: its tables cannot be read")
    return ResultSummary(
        id=entry.id, kind=kind, name=name, path=str(entry.path), problem=problem, about=about
    )


def _number_of(things: Any, word: str) -> str:
    return f"{len(things)} {word}" + ("" if len(things) == 1 else "s")


def _read(entry: Entry, facts: dict[str, Any]) -> _Known:
    run = RunFolder(entry.path)
    follower = Follower(entry.path, names=("metrics",), inside=entry.root)
    return _Known(follower, config_of(run, inside=entry.root), facts, environment_of(run))


def _line(entry: Entry, known: _Known, status: Status) -> RunSummary:
    config, facts = known.config, known.facts
    parameters: Any = facts.get("parameters")
    counts: dict[str, Any] = parameters if isinstance(parameters, dict) else {}
    started = known.environment.get("started")
    step = max(1, len(known.losses) // SPARK_POINTS)
    return RunSummary(
        id=entry.id,
        name=str(facts.get("name") or entry.path.name),
        path=str(entry.path),
        status=status,
        problem=None,
        preset=_word(facts.get("preset")),
        scale=_word(facts.get("scale")),
        seed=config.train.seed,
        source=config.data.source,
        feed_forward=config.model.feed_forward,
        num_layers=config.model.num_layers,
        num_experts=config.experts.num_experts,
        parameters_total=counts.get("total"),
        parameters_trainable=counts.get("trainable"),
        started=_word(started),
        step=known.step,
        num_steps=num_steps(config, data_of(facts)),
        train_loss=known.last_loss,
        val_ppl=known.val_ppl,
        bits_per_byte=known.bits_per_byte,
        num_warnings=known.num_warnings,
        sparkline=known.losses[::step],
    )


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _unreadable(entry: Entry, status: Status, problem: str) -> RunSummary:
    return RunSummary(
        id=entry.id,
        name=entry.path.name,
        path=str(entry.path),
        status=status,
        problem=problem,
        preset=None,
        scale=None,
        seed=None,
        source=None,
        feed_forward=None,
        num_layers=0,
        num_experts=0,
        parameters_total=None,
        parameters_trainable=None,
        started=None,
        step=0,
        num_steps=None,
        train_loss=None,
        val_ppl=None,
        bits_per_byte=None,
        num_warnings=0,
        sparkline=[],
    )
