"""The record in the package, which needs no run on disk: figures of judged runs, tuning curves and verdicts,
in one file of the package.

`evidence.json` is written by `somelab evidence` from a store of runs; results of other stores are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from somelab.disk import atomic
from somelab.disk.old_names import with_new_names
from somelab.errors import SomelabError

FILE = Path(__file__).with_name("evidence.json")
FORMAT = 1
DIGITS = 6


@dataclass(frozen=True)
class RunRecord:
    """A judged run: what it was, and what it measured."""

    arm: str
    scale: str
    length: str
    seed: int
    rate: float
    digest: str
    """Identifies its configuration without the random seed."""
    data: str
    """Identifies the text that it was trained and validated on."""
    shift: str
    """The text of another kind that it has read; empty where it has not."""
    date: str
    cpu_seconds: float
    figures: dict[str, float] = field(default_factory=dict[str, float])
    losses: dict[str, float] = field(default_factory=dict[str, float])
    """Validation loss by step, at every evaluation."""

    @property
    def key(self) -> tuple[str, int]:
        return self.digest, self.seed


@dataclass(frozen=True)
class Records:
    """Judged runs by configuration and seed, tuning curves by what was tuned, and the verdicts that
    follow."""

    runs: Mapping[tuple[str, int], RunRecord] = field(default_factory=dict[tuple[str, int], RunRecord])
    curves: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """As `Curve.record` writes them, by digest."""
    claims: tuple[dict[str, Any], ...] = ()
    times: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Time of a step by scale and arm, in times of the shell without a feed-forward block."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of the texts of training (`data`) and of the domain shift (`shift`)."""

    def with_runs(self, runs: Iterable[RunRecord]) -> Records:
        return replace(self, runs={**self.runs, **{run.key: run for run in runs}})

    def with_curves(self, curves: Iterable[dict[str, Any]]) -> Records:
        return replace(self, curves={**self.curves, **{curve["digest"]: curve for curve in curves}})

    def with_claims(self, claims: Iterable[dict[str, Any]]) -> Records:
        return replace(self, claims=tuple(claims))

    def with_times(self, scale: str, times: Mapping[str, float]) -> Records:
        return replace(self, times={**self.times, scale: {**self.times.get(scale, {}), **times}})

    def with_texts(self, texts: Mapping[str, str]) -> Records:
        return replace(self, texts=texts)


def read(path: Path = FILE) -> Records:
    """The records of a file; none where there is no file."""
    try:
        content = json.loads(with_new_names(path.read_text(encoding="utf-8")))
        assert content["format"] == FORMAT
        runs = [RunRecord(**one) for one in content["runs"]]
        curves = {one["digest"]: one for one in content["curves"]}
        return Records(
            {run.key: run for run in runs},
            curves,
            tuple(content["claims"]),
            content["times"],
            content.get("texts", {}),
        )
    except FileNotFoundError:
        return Records()
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise SomelabError(
            f"{path}: cannot be read ({type(error).__name__}: {error}); install somelab again"
        ) from None


def write(records: Records, path: Path = FILE) -> None:
    """One line a run, a curve and a claim, in a fixed order: a change shows as the lines that it touches."""

    def lines(entries: Iterable[Mapping[str, Any]]) -> str:
        return ",\n".join(json.dumps(entry, separators=(",", ":"), allow_nan=False) for entry in entries)

    runs = sorted(
        records.runs.values(),
        key=lambda run: (run.scale, run.length, run.arm, run.rate, run.digest, run.seed),
    )
    curves = sorted(
        records.curves.values(),
        key=lambda curve: (curve["scale"], curve["length"], curve["arm"], curve["digest"]),
    )
    content = (
        f'{{"format":{FORMAT},\n"claims":[\n{lines(records.claims)}\n],\n"curves":[\n{lines(curves)}\n],\n'
        f'"runs":[\n{lines(asdict(run) for run in runs)}\n],\n'
        f'"times":{json.dumps(records.times, sort_keys=True)},\n'
        f'"texts":{json.dumps(records.texts, sort_keys=True)}}}\n'
    )
    atomic.write_text(path, content)


def rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.{DIGITS}g}") for name, value in sorted(figures.items())}
