"""The records of a run in little memory: columns of numbers for each step, and thinned tables for each layer.
A journal of a hundred megabytes takes some tens of them, and is read once however often the run is shown."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, overload

from somelab.errors import SomelabError
from somelab.view.page.packing import number
from somelab.view.page.tail import Record, Tail

LARGEST_JOURNAL = 1 << 30
"""Bytes. A run of a million steps writes about 150 MB; reading this much takes most of a minute."""
MOST_RECORDS = 4_000_000
"""Steps of one journal: columns of five numbers take 40 bytes each."""
MOST_CELLS = 1_000_000
"""Values of a table of steps x layers x measures: 16 measures of 12 layers at 5,000 steps. A longer table
loses every second step; each value takes about 100 bytes until the page is sent."""
MOST_MEASURES, MOST_LAYERS = 64, 1024
MOST_WARNINGS = 2_000
"""Training warns once per kind and layer."""
LONGEST_NAME, LONGEST_SENTENCE = 100, 1_000

TRAIN = ("loss", "learning_rate", "grad_norm")
TIMING = ("step_seconds", "step_tokens")
EVALUATION = ("val_loss", "val_ppl", "bits_per_byte", "loss_with_padding", "ppl_with_padding")


class RecordsError(SomelabError):
    """A journal that cannot be shown."""


class Columns(Sequence[Record]):
    """Records of one number a field, as arrays; each is a dictionary only while it is looked at."""

    def __init__(self, names: Sequence[str]) -> None:
        self._steps = array("q")
        self._tokens = array("d")
        self._columns = {name: array("d") for name in names}

    def append(self, record: Record) -> None:
        if not isinstance(record.get("step"), int):
            return
        if len(self._steps) >= MOST_RECORDS:
            raise RecordsError(f"has more than {MOST_RECORDS:,} steps, and is not shown")
        tokens = record.get("tokens")
        self._steps.append(record["step"])
        self._tokens.append(math.nan if tokens is None else float(tokens))
        for name, column in self._columns.items():
            value = record.get(name)
            if not isinstance(value, float):  # nearly all are
                value = number(value)
            column.append(math.nan if value is None else value)

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        found: Record = {"step": self._steps[place]}
        if not math.isnan(tokens := self._tokens[place]):
            found["tokens"] = tokens
        for name, column in self._columns.items():
            if math.isfinite(value := column[place]):
                found[name] = value
        return found


class Table:
    """Records that hold measures of each layer; thinned when they become too many, the latest always kept."""

    def __init__(self) -> None:
        self._kept: list[Record] = []
        self._names: set[str] = set()
        self._num_layers = 1
        self._stride, self._num_seen = 1, 0

    def append(self, record: Record) -> None:
        if not isinstance(record.get("step"), int):
            return
        kept = {name: record[name] for name in ("kind", "step") if name in record}
        kept |= {name: number(record[name]) for name in EVALUATION if name in record}
        for name in ("tokens", "num_tokens"):
            if isinstance(tokens := record.get(name), (int, float)):
                kept[name] = tokens
        if (layers := record.get("layers")) is not None:
            kept["layers"] = [self._measures(layer) for layer in layers[:MOST_LAYERS]]
            self._num_layers = max(self._num_layers, len(kept["layers"]))
        self._keep_(kept)

    def _keep_(self, record: Record) -> None:
        # The one before was kept as the latest; it stays if its turn is due.
        if self._kept and (self._num_seen - 1) % self._stride:
            self._kept.pop()
        self._kept.append(record)
        self._num_seen += 1
        cells_of_a_step = self._num_layers * max(1, len(self._names))
        while len(self._kept) > 2 and len(self._kept) * cells_of_a_step > MOST_CELLS:
            self._stride *= 2
            latest = self._kept[-1]
            self._kept = self._kept[::2]
            if self._kept[-1] is not latest:
                self._kept.append(latest)

    def _measures(self, layer: Mapping[str, Any]) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for name, value in layer.items():
            if name not in self._names and len(self._names) < MOST_MEASURES and len(name) <= LONGEST_NAME:
                self._names.add(name)
            if name in self._names:
                found[name] = number(value)
        return found

    def __iter__(self) -> Iterator[Record]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


class Metrics:
    """metrics.jsonl, as far as the page shows it."""

    def __init__(self) -> None:
        self.train = Columns(TRAIN)
        self.measured = Table()
        self.warned: deque[Record] = deque(maxlen=MOST_WARNINGS)
        self.is_finished = False

    def append(self, record: Record) -> None:
        kind, step = record.get("kind"), record.get("step")
        self.is_finished |= kind == "final"
        if not isinstance(step, int):
            return
        if kind == "train":
            self.train.append(record)
        elif kind in ("evaluation", "final"):
            self.measured.append(record)
        elif kind == "warning":
            key, sentence = (str(record.get(name, ""))[:LONGEST_SENTENCE] for name in ("key", "sentence"))
            self.warned.append({"kind": kind, "step": step, "key": key, "sentence": sentence})

    def of_kind(self, *kinds: str) -> Sequence[Record]:
        if kinds == ("train",):
            return self.train
        return [record for record in (*self.measured, *self.warned) if record["kind"] in kinds]


class _Keeps(Protocol):
    def append(self, record: Record, /) -> None: ...


Kept = TypeVar("Kept", bound=_Keeps)


class Followed(Generic[Kept]):
    """One journal and what is kept of it; each look reads only what is new."""

    def __init__(self, path: Path, make: Callable[[], Kept], *, inside: Path | None) -> None:
        self._make, self._open = make, lambda: Tail(path, inside=inside)
        self._begin_()

    def _begin_(self) -> None:
        self._kept, self._tail = self._make(), self._open()

    def read(self) -> Kept:
        """Everything up to the end. One that failed must not be asked again."""
        while True:
            records, restarted = self._tail.read()
            if restarted:
                self._begin_()
                continue
            for record in records:
                self._kept.append(record)
            if self._tail.problem is not None:
                raise RecordsError(self._tail.problem)
            if self._tail.offset > LARGEST_JOURNAL:
                raise RecordsError(
                    f"{self._tail.path}: has more than {LARGEST_JOURNAL:,} bytes, and is not shown"
                )
            if not self._tail.is_behind:
                return self._kept


class RunRecords:
    """The journals of one run. Not thread-safe: one caller at a time."""

    def __init__(self, folder: Path, *, inside: Path | None = None) -> None:
        """`inside`: the folder that no link may leave; None: the run itself."""
        inside = inside or folder
        self._metrics = Followed(folder / "metrics.jsonl", Metrics, inside=inside)
        self._layers = Followed(folder / "layers.jsonl", Table, inside=inside)
        self._timing = Followed(folder / "timing.jsonl", lambda: Columns(TIMING), inside=inside)

    def metrics(self) -> Metrics:
        return self._metrics.read()

    def layers(self) -> list[Record]:
        return list(self._layers.read())

    def timing(self) -> Columns:
        return self._timing.read()
