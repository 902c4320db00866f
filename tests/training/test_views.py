"""What a person sees while a run trains: figures that are right, a panel that leaves the terminal as it found
it."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest
from rich.console import Console

from somelab.errors import SomelabError
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.callbacks.recorders import LayerJournal
from somelab.training.callbacks.views import LivePanel, Pace, PlainLines, duration, sparkline
from somelab.training.loop import Trainer
from tests.training.builders import SMALL, config_of, trainer_of

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def test_a_sparkline_by_hand() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 0, 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0.0, 0.49, 0.5, 1.0], 0, 1) == "▁▄▅█"
    assert sparkline([-5.0, 9.0], 0, 1) == "▁█", "beyond the range is at its end"
    assert sparkline([3.0, 3.0], 3.0, 3.0) == "▁▁", "a range of nothing divides by nothing"
    assert sparkline([], 0, 1) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (12.4, "12 s"),
        (59.7, "1 min 00 s"),
        (60, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7620, "2 h 07 min"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def record(step: int, seconds: float, tokens: int = 100, loss: float = 2.0) -> StepRecord:
    return StepRecord(step, loss, 1e-3, 1.0, step * tokens, 0.0, tokens, seconds, step / 10)


def test_pace_is_the_median_step(text: Path, tmp_path: Path) -> None:
    trainer = trainer_of(config_of(text, SMALL, train__steps=10), tmp_path / "run")
    pace = Pace()
    assert (pace.tokens_per_second, pace.left(trainer)) == (0.0, None)
    for step, seconds in enumerate((0.5, 0.5, 4.0), 1):
        pace.add(record(step, seconds))
    trainer.state.step = 3
    assert pace.tokens_per_second == 200, "one slow step does not sway the speed"
    assert pace.left(trainer) == pytest.approx(7 * 0.5, abs=0.2), "nor the forecast"


def test_the_time_left_counts_evaluations(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("somelab.training.callbacks.views.time.monotonic", lambda: now)
    trainer = trainer_of(
        config_of(text, SMALL, train__steps=10, train__eval_every=2, train__eval_tokens=10), tmp_path / "run"
    )
    pace = Pace()
    for step in (1, 2):
        pace.add(record(step, 1.0))
    pace.begin_evaluation()
    now += 6.0
    pace.add(record(3, 1.0))
    trainer.state.step = 3
    assert list(pace.evaluations) == [5.0], "without the step itself"
    final = 5.0 * 2 * trainer.data.val.num_tokens / 10
    assert pace.left(trainer) == 7 * 1.0 + 3 * 5.0 + final, "at steps 4, 6 and 8, and the last one"
    now += 2.0
    assert pace.left(trainer) == 7 * 1.0 + 3 * 5.0 + final - 2.0, "it also falls between steps"


def test_the_panel_moves_during_an_evaluation(text: Path, tmp_path: Path) -> None:
    class Slow(Callback):
        def on_evaluation_begin(self, trainer: Trainer, *, final: bool) -> None:
            time.sleep(1.0 if final else 0.0)

    out, layers = io.StringIO(), LayerJournal()
    trainer = trainer_of(config_of(text, SMALL, train__steps=3), tmp_path / "run")
    trainer.callbacks = [layers, LivePanel(layers, terminal(out)), Slow()]
    trainer.fit()
    assert len(re.findall(r"evaluating, \d+ s", out.getvalue())) >= 2


def test_the_smoothed_loss_follows_the_last_steps() -> None:
    pace = Pace()
    for loss in (4.0, 2.0):
        pace.add(record(1, 1.0, loss=loss))
    assert pace.loss == pytest.approx(0.9 * 4 + 0.1 * 2)


def test_what_is_left_of_a_budget_of_time_is_the_clocks(text: Path, tmp_path: Path) -> None:
    trainer = trainer_of(config_of(text, SMALL, train__steps=None, train__minutes=2), tmp_path / "run")
    trainer.state.seconds = 45.0
    assert Pace().left(trainer) == 75.0


def test_plain_lines_tell_the_beginning_the_evaluations_and_the_end(text: Path, tmp_path: Path) -> None:
    out, layers = io.StringIO(), LayerJournal()
    trainer = trainer_of(config_of(text, SMALL, train__eval_every=5), tmp_path / "run")
    trainer.callbacks = [layers, PlainLines(Console(file=out, width=160, highlight=False))]
    outcome = trainer.fit()
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("step 1/12  loss ")
    assert "tokens/s" in lines[0]
    steps = [line.split()[1] for line in lines if "val_loss" in line]
    assert steps == ["5", "10", "12"]
    assert outcome.evaluation is not None
    assert lines[-1].startswith(f"step 12  final val_loss {outcome.evaluation.val_loss:.4f}")
    assert all("\x1b" not in line and len(line) <= 160 for line in lines)


def test_warnings_are_told_once(text: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    trainer = trainer_of(config_of(text, SMALL), tmp_path / "run")
    trainer.callbacks = [PlainLines(Console(file=out, width=160))]
    for _ in range(3):
        trainer.warn("keys have fused", "fusion/0")
    assert out.getvalue() == "warning: keys have fused\n"
    assert [r["kind"] for r in trainer.run.records("metrics")] == ["warning"]


def terminal(out: io.StringIO) -> Console:
    return Console(
        file=out, force_terminal=True, width=100, height=30, color_system="standard", legacy_windows=False
    )


def test_the_panel_shows_progress_loss_and_every_layer(text: Path, tmp_path: Path) -> None:
    out, layers = io.StringIO(), LayerJournal()
    trainer = trainer_of(config_of(text, SMALL, gravity__respawn=True), tmp_path / "run")
    view = LivePanel(layers, terminal(out))
    trainer.callbacks = [layers, view]
    outcome = trainer.fit()
    assert outcome.evaluation is not None
    plain = Console(file=io.StringIO(), width=80, no_color=True)
    with plain.capture() as captured:
        plain.print(view._panel(trainer))
    panel = captured.get()
    assert "100%" in panel
    assert "step 12 of 12" in panel
    assert f"val_ppl {outcome.evaluation.val_ppl:.2f}" in panel
    rows = [line.split() for line in panel.splitlines() if line.split() and line.split()[0] in ("0", "1")]
    assert [row[:2] for row in rows] == [
        [str(i), f"{layer['gini']:.3f}"] for i, layer in enumerate(layers.latest)
    ]
    assert "Ctrl-C" not in panel, "there is nothing left to stop"
    assert max(len(line.rstrip()) for line in panel.splitlines()) <= 80
    assert out.getvalue().count(HIDE_CURSOR) == out.getvalue().count(SHOW_CURSOR) == 1


def test_the_panel_of_a_run_that_fails_gives_the_cursor_back(text: Path, tmp_path: Path) -> None:
    class Failing(Callback):
        def on_step(self, trainer: Trainer, record: StepRecord) -> None:
            raise SomelabError("the disk is full")

    out, layers = io.StringIO(), LayerJournal()
    trainer = trainer_of(config_of(text, SMALL), tmp_path / "run")
    trainer.callbacks = [layers, LivePanel(layers, terminal(out)), Failing()]
    with pytest.raises(SomelabError, match="the disk is full"):
        trainer.fit()
    assert out.getvalue().rstrip().endswith(SHOW_CURSOR)


def test_the_panel_keeps_the_last_warnings(text: Path, tmp_path: Path) -> None:
    out, layers = io.StringIO(), LayerJournal()
    trainer = trainer_of(config_of(text, SMALL), tmp_path / "run")
    trainer.callbacks = [LivePanel(layers, terminal(out))]
    for number in range(5):
        trainer.warn(f"warning number {number}", str(number))
    trainer.fit()
    shown = out.getvalue()
    assert "! warning number 4" in shown
    assert "! warning number 1" not in shown
