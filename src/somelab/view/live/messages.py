"""Messages between the live server and the page beyond the tree of `schema.py`: the list of runs, increments,
traces. `ui/src/schema.ts` is generated from these models too."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import Field

from somelab.view.schema.page import Curves, Number, Part, Series, Status, Trace, TrainingWarning

MAX_PROMPT_CHARACTERS = 4000
MAX_NEW_TOKENS = 256


class RunSummary(Part):
    """One line of the list of runs: from its journal alone."""

    id: str
    name: str
    path: str
    status: Status
    problem: str | None
    preset: str | None
    scale: str | None
    seed: int | None
    source: str | None
    """The data."""
    feed_forward: str | None
    num_layers: int
    num_experts: int
    parameters_total: int | None
    parameters_trainable: int | None
    started: str | None
    step: int
    num_steps: int | None
    train_loss: Number
    val_ppl: Number
    """Of the latest evaluation."""
    bits_per_byte: Number
    num_warnings: int
    sparkline: list[Number]
    """Training loss over the run, thinned to a few dozen points."""


class ResultSummary(Part):
    """One line of the list: a sweep, or a study of continual learning."""

    id: str
    kind: Literal["sweep", "continual"]
    name: str
    path: str
    problem: str | None
    """One line: why there is nothing to open, such as a sweep that has not ended."""
    about: str
    """A short description."""


class RunList(Part):
    format: int
    made_by_version: str
    runs: list[RunSummary]
    results: list[ResultSummary]
    unread: list[str]
    """Folders that were named but could not be searched, a line each."""


class TraceRequest(Part):
    """A prompt to continue. Bounds keep one request from occupying the machine."""

    prompt: str = Field(min_length=1, max_length=MAX_PROMPT_CHARACTERS)
    max_new_tokens: int = Field(default=48, ge=1, le=MAX_NEW_TOKENS)
    temperature: float = Field(default=0.8, ge=0, le=10)
    seed: int = Field(default=0, ge=0, lt=2**63)


class TraceResponse(Part):
    text: str
    trace: Trace


class Increment(Part):
    """What has come since the last one. `restart`: the run was resumed from a checkpoint and must be read
    again."""

    kind: Literal["increment", "restart"]
    status: Status
    curves: Curves
    training: Series
    evaluation: Series
    warnings: list[TrainingWarning]
    new_snapshots: list[int]
    """Steps of key snapshots that are new: galaxies can be fetched again."""
    new_samples: int

    @cached_property
    def event(self) -> str:
        """As a server-sent event; one text for all clients."""
        steps = self.curves.train.step
        mark = f"id: {steps[-1]}\n" if steps else ""
        return f"event: increment\n{mark}data: {self.model_dump_json()}\n\n"


class Problem(Part):
    """Every error of the server: one line."""

    error: str
