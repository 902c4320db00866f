"""The demo: two models for the same time, sentences that follow from the numbers, a page; and what happens if
one of them fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from somelab.cli.demo.demo import Arguments, pair_of
from somelab.cli.demo.pair import Learner, training
from somelab.cli.demo.story import (
    Result,
    compared,
    indented,
    learned,
    next_steps,
    second_act,
    whole_sentences,
)
from somelab.cli.demo.watching import panel
from somelab.cli.main import COMPLETION, VERBS, main
from somelab.cli.opening import has_display
from somelab.config import override, preset
from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.view.report import data_of


def test_the_two_models_differ_in_their_block_alone(tmp_path: Path) -> None:
    some, dense = pair_of(tmp_path, Arguments(minutes=1.5, seed=3))
    assert list(some.flags) == ["demo", "--minutes", "1.5", "--seed", "3"]
    assert list(dense.flags[:5]) == list(some.flags)
    assert dense.flags[5:7] == ["--model.feed_forward", "dense"]
    assert some.folder.parent == dense.folder.parent == tmp_path


@pytest.mark.parametrize(
    ("dense", "tokens", "words"),
    [
        (
            1.0,
            200,
            "is better, at 1.00, 0.20 lower; in the same time it read 2.0 times as many tokens, because",
        ),
        (1.125, 200, "is better, at 1.12, 0.08 lower; in the same time"),  # 1.20 less 1.12, as printed
        (1.4, 100, "is worse, at 1.40, 0.20 higher; in the same time it read 1.00 times as many tokens."),
        (1.19, 150, "ends level with it, at 1.19; in the same time it read 1.5 times as many tokens"),
    ],
)
def test_the_comparison_follows_from_the_numbers(dense: float, tokens: int, words: str) -> None:
    sentence = compared(Result(1.2, 100, 730_000), Result(dense, tokens, 726_000))
    assert words in sentence
    assert "0.73 million" in sentence
    assert "one run each" in sentence


def test_what_was_learned_in_one_sentence() -> None:
    sentence = learned(Result(1.0, 100, 730_000), 2048, 64)
    assert "from 7.62 nats per token" in sentence
    assert "to 1.00 (as good as a choice among 2.7)" in sentence
    assert sentence.count(". ") == 0


def test_a_text_ends_with_a_sentence() -> None:
    text = "A recipe for rice with swedes, enough for two. Take a large p"
    assert whole_sentences(text) == "A recipe for rice with swedes, enough for two."
    assert whole_sentences("A recipe. For ") == "A recipe. For", "little would be left"


def test_paragraphs_have_a_margin() -> None:
    lines = indented("one two three four five six seven eight nine\n\nten", 44).splitlines()
    assert lines == ["    one two three four five six seven", "    eight nine", "    ten"]


def test_the_commands_at_the_end_can_be_typed(tmp_path: Path) -> None:
    import shlex
    from importlib import import_module

    from somelab.cli.arguments import parse_arguments

    commands = [command for command, _ in next_steps(tmp_path, tmp_path / "some")]
    commands += second_act(tmp_path)
    verbs = [command.split()[1] for command in commands]
    assert verbs == ["serve", "report", "generate", "play", "train", "report"]
    for command in commands:
        _, verb, *rest = shlex.split(command)
        assert not rest or parse_arguments(import_module(VERBS[verb].module).Arguments, rest, verb)


def test_a_model_that_fails_says_why(tmp_path: Path) -> None:
    learners = (
        Learner("SoME", tmp_path / "some", ["demo", "--train.learning-rate", "-1"]),
        Learner("dense", tmp_path / "dense", ["nothing-of-that-name"]),
    )
    with training(learners) as pair:
        pair.wait()
        with pytest.raises(SomelabError, match=r"learning_rate = -1") as raised:
            pair.check()
    assert str(tmp_path / "some") in str(raised.value)


def test_leaving_early_ends_both(tmp_path: Path) -> None:
    class Left(Exception):
        pass

    learners = (Learner("SoME", tmp_path / "some", ["demo"]), Learner("dense", tmp_path / "dense", ["demo"]))
    with pytest.raises(Left), training(learners) as pair:
        raise Left
    assert not pair.is_running()


def test_the_panel_shows_both_and_what_is_written(tmp_path: Path) -> None:
    some, dense = Learner("SoME", tmp_path, []), Learner("dense", tmp_path, [])
    some.loss, some.tokens, some.seconds, some.text = 1.5, 2048, 30.0, "A recipe for soup."
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(panel((some, dense), 60.0))
    shown = captured.get()
    assert "loss 1.50" in shown
    assert "2,048" in shown
    assert "A recipe for soup." in shown
    assert "about 1 min 15 s left" in shown


def test_a_browser_is_opened_only_before_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert has_display()
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_display()


def test_completion_knows_verbs_and_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([COMPLETION, "bash"]) == 0
    script = tmp_path / "completion.sh"
    script.write_text(capsys.readouterr().out)
    lines = [
        f"source {script}",
        'COMP_WORDS=(somelab tra); COMP_CWORD=1; _tyro_somelab; echo "${COMPREPLY[@]}"',
        'COMP_WORDS=(somelab train --min); COMP_CWORD=2; _tyro_somelab; echo "${COMPREPLY[@]}"',
    ]
    made = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert made.stdout.splitlines() == ["train", "--minutes"]
    assert main([COMPLETION, "fish"]) == 2


@pytest.mark.slow
def test_the_demo_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    command = [sys.executable, "-m", "somelab", "demo", "--minutes", "0.2", "--out", str(out)]
    made = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    for words in ("What SoME writes", "What was learned", "How it compares", "somelab serve", "somelab play"):
        assert words in made.stdout
    page = data_of((out / "report.html").read_text(encoding="utf-8"))
    assert {run.name for run in page.runs} == {"some", "dense"}
    configs = [RunFolder.open(out / name).config() for name in ("some", "dense")]
    assert configs[0] == override(preset("demo").config, {"train.minutes": 0.2})
    assert configs[1].model.feed_forward == "dense"
    final = [
        record
        for record in RunFolder(out / "some").records("metrics")
        if record["kind"] in ("final", "warning")
    ]
    assert [record["kind"] for record in final] == ["final"], json.dumps(final)
