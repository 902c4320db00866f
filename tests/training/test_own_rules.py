"""A rule of one's own, from a file or a notebook: it moves keys, is remembered, and a run resumes with it
alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import somelab
from somelab.cli.main import main
from somelab.config import GravityConfig
from somelab.core.gravity import ORDER, KeyState, Moment, with_rules
from somelab.core.keystore import KeyStore
from somelab.core.statistics import RoutingStatistics
from somelab.errors import ConfigError
from somelab.runs import RunFolder
from somelab.training.user_files import rules_in
from tests.training.builders import SMALL, assert_same_run, flags_of

WIND = '''
"""Wind: all keys drift along the first axis."""
from dataclasses import replace
import somelab

def wind(state, seen, now):
    keys_ED = state.keys_ED.clone()
    keys_ED[:, 0] += now.extra("wind")
    return replace(state, keys_ED=keys_ED)

RULE = somelab.Rule(wind, extra=("wind",))
'''


def gather(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """A rule as in a notebook: every key goes to the mean query of the step, as far as it was selected."""
    return replace(state, keys_ED=state.keys_ED + 0.1 * seen.pull_sum_ED)


@pytest.fixture
def wind(tmp_path: Path) -> Path:
    file = tmp_path / "wind.py"
    file.write_text(WIND)
    return file


def arguments(text: Path, out: Path, steps: int, *more: str) -> list[str]:
    flags = flags_of({**SMALL, "train.steps": steps, "gravity.norm": "none", "gravity.extra": "{wind: 0.2}"})
    return ["train", "demo", "--data", str(text), "--out", str(out), *flags, *more]


def test_the_command_trains_with_a_rule_from_a_file(
    text: Path, wind: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, whole = tmp_path / "run", tmp_path / "whole"
    assert main(arguments(text, whole, 8, "--rule", str(wind))) == 0
    keys_ED = somelab.load(whole).layers[0].keys
    assert float(keys_ED[:, 0].min()) > 0.4, "all keys drift along the first axis, against attraction"
    assert [rule["name"] for rule in RunFolder(whole).facts()["rules"]] == ["wind"]
    # Stopped and continued, it is the same run; without the rule, or with another one, it is refused.
    somelab.train(RunFolder(whole).config(), out=out, callbacks=[Stop(4)], rules=rules_in(wind))
    capsys.readouterr()
    assert main(["resume", str(out)]) == 2
    assert "was trained with the rule wind; give its file with --rule" in capsys.readouterr().err
    wind.write_text(WIND.replace("+=", "-="))
    assert main(["resume", str(out), "--rule", str(wind)]) == 2
    assert "the rule wind has changed since; restore its file" in capsys.readouterr().err
    wind.write_text(WIND)
    assert main(["resume", str(out), "--rule", str(wind)]) == 0
    assert_same_run(out, whole)


class Stop(somelab.Callback):
    """Ends a run after a step, as Ctrl-C does."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, trainer: object, record: object) -> None:
        if record.step == self.step:  # type: ignore[attr-defined]
            trainer.stop.requested = True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text_of_file", "words"),
    [
        (None, "is no file; give a Python file for --rule"),
        ("x = 1\n", "defines no rule; add RULE = somelab.Rule"),
        ("1 / 0\n", "cannot be executed (ZeroDivisionError: division by zero)"),
        (
            WIND.replace('extra=("wind",)', 'before="nrom"'),
            "'wind': stands before 'nrom', which is no rule; did you mean norm?",
        ),
        (WIND.replace("wind", "decay"), "'decay': is already the name of a rule"),
    ],
)
def test_a_bad_file_is_one_line(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text_of_file: str | None, words: str
) -> None:
    file = tmp_path / "rule.py"
    if text_of_file is not None:
        file.write_text(text_of_file)
    assert (
        main(["train", "demo", "--data", str(text), "--out", str(tmp_path / "run"), "--rule", str(file)]) == 2
    )
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("somelab:")]
    assert words in line
    assert not (tmp_path / "run").exists()


def test_a_rule_gets_the_statistics_that_it_declares() -> None:
    """Without attraction nothing collects queries, unless a rule says that it reads them."""
    still = {"attraction": False, "credit": 0.0}
    silent = somelab.SomeLayer(16, {"num_experts": 8, "top_k": 2}, gravity=still)
    assert silent.statistics.pull_sum_ED.shape[0] == 0
    order = with_rules(ORDER, [somelab.Rule(gather, reads=("queries",), before="norm")])
    layer = somelab.SomeLayer(16, {"num_experts": 8, "top_k": 2}, gravity=still, order=order)
    layer(torch.randn(20, 16))
    report = layer.apply_gravity_()
    assert report is not None
    assert report.mean_drift > 0
    fixed = somelab.SomeLayer(16, {"num_experts": 8, "top_k": 2}, gravity={"keys": "fixed"}, order=order)
    assert fixed.statistics.pull_sum_ED.shape[0] == 0, "a rule that moves keys rests where they are fixed"


def test_a_store_knows_the_names_of_its_own_order() -> None:
    config = GravityConfig(extra={"wind": 0.1})
    with pytest.raises(
        ConfigError, match=r"gravity\.extra\.wind = 0\.1: no rule of that name is in the order; add the rule"
    ):
        KeyStore(4, 3, config, seed=0)
    order = with_rules(ORDER, [somelab.Rule(gather, extra=("wind",))])
    assert KeyStore(4, 3, config, seed=0, order=order).order is order
