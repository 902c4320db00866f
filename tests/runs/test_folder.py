"""The run folder: what it holds, what it refuses, and what may begin in it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from somelab.config import Config, override
from somelab.disk.atomic import WriteError
from somelab.errors import ConfigError
from somelab.runs import RunError, RunFolder

CONFIG = override(Config(), {"model.d_model": 64, "train.steps": 7})


def create(path: Path, config: Config = CONFIG) -> RunFolder:
    return RunFolder.create(path, config, {"name": "mine"}, {"python": "3"}, "{}")


def test_a_run_explains_itself(tmp_path: Path) -> None:
    create(tmp_path / "deep" / "run")
    run = RunFolder.open(tmp_path / "deep" / "run")
    assert run.config() == CONFIG
    assert run.facts() == {"format": 1, "name": "mine"}
    assert json.loads((run.path / "environment.json").read_text()) == {"python": "3"}
    assert run.tokenizer.read_text() == "{}"
    assert run.records("metrics") == []
    assert run.checkpoints.is_dir()
    assert run.keys.is_dir()


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert create(tmp_path / "run").config() == CONFIG


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("mine")
    with pytest.raises(RunError, match="is not empty; choose another folder"):
        create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
    assert (tmp_path / "config.yaml").read_text() == "mine"


@pytest.mark.parametrize("made", [["checkpoints"], ["checkpoints", "keys"]])
def test_a_run_that_was_killed_between_its_folders_is_begun_again(tmp_path: Path, made: list[str]) -> None:
    for name in made:
        (tmp_path / "run" / name).mkdir(parents=True)
    assert create(tmp_path / "run").config() == CONFIG
    for number, content in enumerate(({"checkpoints": "a file"}, {"keys": None})):
        folder = tmp_path / f"other-{number}"
        folder.mkdir()
        for name, text in content.items():
            (folder / name).write_text(text) if text else (folder / name).mkdir()
        with pytest.raises(RunError, match="is not empty; choose another folder"):
            create(folder)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    create(tmp_path / "run")
    with pytest.raises(RunError, match="is a run; continue it with `somelab resume"):
        create(tmp_path / "run", Config())
    assert RunFolder.open(tmp_path / "run").config() == CONFIG


def test_a_file_or_a_dangling_link_is_no_place_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(RunError, match=f"{name}: is not a folder; choose another"):
            create(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_run_killed_while_it_was_made_does_not_block_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the kill falls: without run.json there is no run, and the next attempt takes the place."""
    replace, num_calls = os.replace, 0

    class Killed(BaseException):
        pass

    def dying(*arguments: Any) -> None:
        nonlocal num_calls
        num_calls += 1
        if num_calls == dies_at:
            raise Killed
        replace(*arguments)

    monkeypatch.setattr(os, "replace", dying)
    deaths = 0
    for dies_at in range(1, 10):
        num_calls, path = 0, tmp_path / f"run{dies_at}"
        try:
            create(path)
        except Killed:
            deaths += 1
            with pytest.raises(RunError, match=r"has no run\.json"):
                RunFolder.open(path)
            (path / ".writing-config.yaml~1-abc").write_text("half")
            create(path)
        assert RunFolder.open(path).config() == CONFIG
        assert not list(path.glob(".writing-*"))
    assert deaths == 4, "config, environment, tokenizer, run.json"


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(
        WriteError, match="Permission denied; allow writing there, or choose another folder with --out"
    ):
        create(tmp_path / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_really_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(WriteError, match="Permission denied; allow writing there"):
        create(tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "run.json cannot be read"),
        ("[1]", "run.json holds no object"),
        ("{}", "has format None, this version reads 1"),
        ('{"format": 99}', "has format 99, this version reads 1"),
        (b"\xff\xfe", "run.json cannot be read"),
    ],
)
def test_a_corrupt_run_json(tmp_path: Path, content: str | bytes, words: str) -> None:
    run = create(tmp_path / "run")
    (run.path / "run.json").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(RunError, match=words) as caught:
        RunFolder.open(run.path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("model: [", "is not YAML"),
        ("model: {d_model: -3}", "model.d_model"),
        ("modle: {}", "is not a setting"),
        (None, "no such file"),
    ],
)
def test_a_corrupt_config(tmp_path: Path, content: str | None, words: str) -> None:
    run = create(tmp_path / "run")
    if content is None:
        (run.path / "config.yaml").unlink()
    else:
        (run.path / "config.yaml").write_text(content)
    with pytest.raises(ConfigError, match=words):
        RunFolder.open(run.path).config()


def test_what_is_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, words in (
        ("none", "there is no such folder"),
        ("file", "is not a folder"),
        ("", r"has no run\.json"),
    ):
        with pytest.raises(RunError, match=words):
            RunFolder.open(tmp_path / name)


def test_data_are_compared_by_their_digest(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", CONFIG, {"data": {"digest": "abc"}}, {}, "{}")
    run.check_data("abc")
    with pytest.raises(RunError, match="its data have changed since it began"):
        run.check_data("abd")
    with pytest.raises(RunError, match="its data have changed"):
        create(tmp_path / "other").check_data("abc")
