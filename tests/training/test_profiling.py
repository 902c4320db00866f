"""A profile tells forward and backward apart by part, leaves nothing behind, and does not change a bit of
what is trained."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from somelab.errors import SomelabError
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.callbacks.breakdown import (
    BACKWARD,
    PARTS,
    PREFIX,
    Breakdown,
    OperatorTime,
    PartTime,
    break_down,
)
from somelab.training.callbacks.profiling import StepProfile, show
from somelab.training.callbacks.recorders import KeySnapshots, LayerJournal, Samples
from somelab.training.loop import Trainer
from tests.training.builders import LIVELY, SMALL, assert_same_run, config_of, trainer_of


@dataclass
class Event:
    """What the profiler tells of one event, in microseconds."""

    name: str
    start: int
    own: int
    parent: Event | None = None
    sequence_nr: int = -1
    input_shapes: list[list[int]] = field(default_factory=list)
    is_async: bool = False

    @property
    def id(self) -> int:
        return self.start

    @property
    def cpu_parent(self) -> Event | None:
        return self.parent

    @property
    def time_range(self) -> SimpleNamespace:
        return SimpleNamespace(start=self.start)

    @property
    def self_cpu_time_total(self) -> int:
        return self.own

    @property
    def is_user_annotation(self) -> bool:
        return self.name.startswith(PREFIX)


def a_step() -> list[Event]:
    attention = Event(f"{PREFIX}attention", 0, own=1)
    product = Event("aten::mm", 1, 10, attention, sequence_nr=0, input_shapes=[[4, 8], [8, 8], []])
    # Makes no node: the next operator takes number 1.
    looking = Event("aten::argmax", 2, 3, attention, sequence_nr=1)
    experts = Event(f"{PREFIX}experts", 3, own=2)
    answer = Event("Experts", 4, 20, experts, sequence_nr=1)
    back_experts = Event(f"{BACKWARD}: ExpertsBackward", 5, 1, None, sequence_nr=1)
    inside = Event("ExpertsBackward", 6, 40, back_experts, sequence_nr=1)
    back_attention = Event(f"{BACKWARD}: MmBackward0", 7, 1, None, sequence_nr=0)
    again = Event(f"{PREFIX}router", 8, 2, back_attention)  # an activation that is computed again
    repeated = Event("aten::mm", 9, 5, again, sequence_nr=2, input_shapes=[[4, 8], [8, 8], []])
    below = Event("aten::mm", 10, 30, back_attention, input_shapes=[[4, 8], [8, 8], []])
    gathering = Event(f"{BACKWARD}: torch::autograd::AccumulateGrad", 11, 4, None)
    evaluation = Event(f"{PREFIX}evaluation", 12, 1)
    read = Event(f"{PREFIX}attention", 13, 7, evaluation)
    forward = [attention, product, looking, experts, answer]
    backward = [back_experts, inside, back_attention, again, repeated, below, gathering]
    return [*forward, *backward, evaluation, read]


def test_rooms_by_hand() -> None:
    found = break_down(reversed(a_step()), num_steps=2, seconds=200e-6)
    parts = {part.part: (part.forward * 2e6, part.backward * 2e6, part.calls * 2) for part in found.parts}
    assert parts == {
        "attention": pytest.approx((1 + 10 + 3, 1 + 30, 3)),
        "experts": pytest.approx((2 + 20, 1 + 40, 2)),
        "router": pytest.approx((0, 2 + 5, 1)),
        "evaluation": pytest.approx((1 + 7, 0, 0)),
        "other": pytest.approx((200 - 127, 4, 0)),
    }
    assert [part.part for part in found.parts] == ["other", "experts", "attention", "evaluation", "router"]
    assert sum(part.seconds for part in found.parts) == pytest.approx(found.seconds) == pytest.approx(100e-6)


def test_operators_by_hand() -> None:
    slowest = break_down(a_step(), num_steps=2, seconds=200e-6).operators
    assert slowest[0] == OperatorTime("aten::mm", "[4, 8] [8, 8]", "attention", pytest.approx(22.5e-6), 1.5)
    assert [operator.name for operator in slowest] == [
        "aten::mm",
        "ExpertsBackward",
        "Experts",
        "aten::argmax",
    ]


def trained(text: Path, out: Path, *more: Callback, **settings: Any) -> Trainer:
    trainer = trainer_of(
        config_of(text, LIVELY, **settings), out, LayerJournal(), KeySnapshots(), Samples(), *more
    )
    trainer.fit()
    return trainer


def test_a_profiled_run_ends_with_the_same_bits(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = trained(text, tmp_path / "plain", train__steps=12)
    assert capsys.readouterr().out == ""
    profiled = trained(text, tmp_path / "profiled", StepProfile(3), train__steps=12)
    assert_same_run(tmp_path / "profiled", tmp_path / "plain")
    assert not (tmp_path / "plain/profile").exists()
    for trainer in (plain, profiled):
        ranged = [
            type(owner).__name__
            for owner in (trainer, *trainer.model.modules(), trainer.loss)
            if "forward" in vars(owner)
        ]
        ranged += [name for name in ("evaluate_", "next_batch_", "clip_") if name in vars(trainer)]
        assert not ranged, "a range was left behind"

    told = json.loads((tmp_path / "profiled/profile/summary.json").read_text())
    assert (told["first_step"], told["num_steps"]) == (3, 3)
    parts = {part["part"]: part for part in told["parts"]}
    assert (
        {"attention", "router", "experts", "gravity", "loss", "embedding, norms", "optimizer", "data"}
        <= parts.keys()
        <= {*PARTS}
    )
    for name in ("attention", "router", "experts", "embedding, norms"):
        assert min(parts[name]["forward"], parts[name]["backward"]) > 0, name
    for name in ("gravity", "optimizer", "data"):
        assert parts[name]["forward"] > parts[name]["backward"] == 0, name
    assert sum(part["share"] for part in told["parts"]) == pytest.approx(1, abs=1e-6)
    assert len(told["operators"]) == 10
    with gzip.open(tmp_path / "profiled/profile/trace.json.gz") as trace:
        names = {event.get("name") for event in json.load(trace)["traceEvents"]}
    assert {f"{PREFIX}attention", f"{PREFIX}gravity", "aten::mm"} <= names

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("where the time went, by part:")
    assert lines[1].split("\t") == ["part", "forward ms", "backward ms", "ms", "share", "calls"]
    assert len([line for line in lines if line.startswith("attention\t")]) == 1
    assert lines[-1].startswith("trace: ")


@pytest.mark.parametrize(("steps", "first", "number"), [(1, 1, 1), (2, 1, 2), (4, 2, 3), (5, 3, 3)])
def test_a_short_run_warms_up_less(text: Path, tmp_path: Path, steps: int, first: int, number: int) -> None:
    trainer_of(config_of(text, SMALL, train__steps=steps), tmp_path / "run", StepProfile(3)).fit()
    told = json.loads((tmp_path / "run/profile/summary.json").read_text())
    assert (told["first_step"], told["num_steps"]) == (first, number)


class Breaks(Callback):
    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        if record.step == 4:
            raise SomelabError("broken")


def test_an_error_on_the_way_leaves_no_range_behind(text: Path, tmp_path: Path) -> None:
    trainer = trainer_of(config_of(text, SMALL), tmp_path / "run", StepProfile(5), Breaks())
    with pytest.raises(SomelabError, match="broken"):
        trainer.fit()
    assert not [module for module in trainer.model.modules() if "forward" in vars(module)]
    assert not (tmp_path / "run/profile").exists()


def test_a_terminal_gets_tables(tmp_path: Path) -> None:
    screen = io.StringIO()
    breakdown = Breakdown(
        2, 0.25, [PartTime("loss", 0.1, 0.05, 7)], [OperatorTime("aten::mm", "[2, 3]", "loss", 0.1, 4)]
    )
    show(breakdown, Console(file=screen, force_terminal=True, width=120, color_system=None), tmp_path)
    text = screen.getvalue()
    assert "250 ms a step over 2 steps" in text
    (row,) = [line.split() for line in text.splitlines() if line.startswith("loss")]
    assert row == ["loss", "100.0", "50.0", "150.0", "60.0%", "7"]
    assert "\t" not in text
