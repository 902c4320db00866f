"""The flags of `somelab train` that ask for a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.cli.models.train import Arguments
from tests.training.builders import SMALL, flags_of, write_text


def test_how_many_steps() -> None:
    assert Arguments().profiled() is None
    assert Arguments(profile=True).profiled() == 3
    assert Arguments(profile=True, profile_steps=7).profiled() == 7


@pytest.mark.parametrize(
    ("flags", "remedy"),
    [(["--profile-steps", "2"], "--profile"), (["--profile", "--profile-steps", "0"], "1")],
)
def test_flags_that_make_no_sense(
    flags: list[str], remedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "demo", "--out", str(tmp_path / "run"), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--profile-steps" in line
    assert remedy in line.split(";")[-1]
    assert not (tmp_path / "run").exists()


def test_train_with_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "cache"))
    text = write_text(tmp_path / "short.txt")
    flags = flags_of({**SMALL, "train.steps": 4})
    assert (
        main(
            [
                "train",
                "demo",
                "--data",
                str(text),
                "--out",
                str(tmp_path / "run"),
                "--profile",
                "--profile-steps=1",
                *flags,
            ]
        )
        == 0
    )
    assert "ms a step over 1 steps" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "run/profile").iterdir()} == {"trace.json.gz", "summary.json"}
