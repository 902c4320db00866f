"""Whatever is wrong with a run folder, its data or the disk: exit code 2, one line that says so, and nothing
is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from somelab.cli.main import main
from somelab.disk.checked_json import content_digest
from somelab.runs import RunFolder
from somelab.runs.trained import load_trained
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.callbacks.recorders import KeySnapshots, LayerJournal, Samples
from somelab.training.loop import Trainer
from tests.training.builders import (
    LIVELY,
    SMALL,
    assert_same_run,
    config_of,
    flags_of,
    state_of,
    trainer_of,
    write_text,
)
from tests.training.lives import Life

# Evaluations at 4 and 8, checkpoints at 3, 6 and 9: stopped after 6, `best` names step 4 and `last` step 6.
SETTINGS = {**SMALL, "train.eval_every": 4, "train.checkpoint_every": 3}
STOPPED_AT = 6


class StopAt(Callback):
    """Asks for a stop, as Ctrl-C does."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        trainer.stop.requested = record.step == self.step


def complaint(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    """The one line of a command that fails; what it says on the way of preparing data is no part of it."""
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("somelab: ")
    assert all(
        line.startswith(("reading text", "training the tokenizer", "encoding ")) for line in lines[:-1]
    )
    return lines[-1].removeprefix("somelab: ")


@pytest.fixture(scope="module")
def original(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped half-way."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    outcome = trainer_of(
        config_of(text, SETTINGS), out, LayerJournal(), KeySnapshots(), Samples(), StopAt(STOPPED_AT)
    ).fit()
    assert (outcome.reason, outcome.state.step) == ("interrupted", STOPPED_AT)
    assert [os.readlink(out / "checkpoints" / link) for link in ("best", "last")] == [
        "step-00000004",
        "step-00000006",
    ]
    return out


@pytest.fixture
def stopped(original: Path, tmp_path: Path) -> Path:
    """A copy of it to be damaged."""
    return Path(shutil.copytree(original, tmp_path / "run", symlinks=True))


@pytest.fixture(scope="module")
def finished(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run without the stop."""
    out = tmp_path_factory.mktemp("finished") / "run"
    assert main(["train", "demo", "--out", str(out), *flags_of({"data.source": text, **SETTINGS})]) == 0
    return out


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


DAMAGES: dict[str, Callable[[Path], None]] = {"flipped": flip, "cut": cut, "removed": Path.unlink}


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint(
    capsys: pytest.CaptureFixture[str], stopped: Path, finished: Path, file: str, damage: str
) -> None:
    """The newest sound one stands in for it, and from there the run ends as it would have."""
    DAMAGES[damage](stopped / "checkpoints" / "last" / file)
    before = contents(stopped)
    words = "missing" if damage == "removed" else "damaged"
    damaged = stopped / "checkpoints" / "step-00000006" / file
    line = complaint(capsys, "eval", stopped, "--checkpoint", "6")
    assert line.startswith(f"{damaged}: is {words}")
    assert "use another one with --checkpoint best" in line
    for argv in (["eval"], ["generate", "--max-new-tokens", "1"]):
        (note,) = notes(capsys, argv[0], stopped, *argv[1:])
        assert note.startswith(f"{damaged}: is {words}")
        assert note.endswith("; using step 4, the newest sound checkpoint")
    assert contents(stopped) == before, "reading changes nothing"
    assert len(notes(capsys, "resume", stopped)) == 1
    assert_same_run(stopped, finished)


def contents(run: Path) -> dict[str, bytes | str]:
    """All files and links of a run but its lock."""
    return {
        str(path.relative_to(run)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(run.rglob("*"))
        if (path.is_file() or path.is_symlink()) and path.name != ".lock"
    }


def notes(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> list[str]:
    """What a command that succeeds remarks on stderr."""
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 0
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]


def test_from_the_best_checkpoint_the_run_ends_as_it_would_have(stopped: Path, finished: Path) -> None:
    """Also where the steps that follow have the names of damaged folders."""
    flip(stopped / "checkpoints" / "last" / "model.safetensors")
    shutil.copy(
        stopped / "keys" / "step-00000005.safetensors", stopped / "keys" / "step-00000099.safetensors"
    )
    assert main(["resume", str(stopped), "--checkpoint", "best"]) == 0
    assert_same_run(stopped, finished)


def test_a_checkpoint_folder_that_is_gone(
    capsys: pytest.CaptureFixture[str], stopped: Path, finished: Path
) -> None:
    """It must not be taken for a run that has not begun, not even without any link."""
    shutil.rmtree((stopped / "checkpoints" / "last").resolve())
    (line,) = notes(capsys, "eval", stopped)
    assert line.endswith("last: there is no such checkpoint; using step 4, the newest sound checkpoint")
    for link in ("last", "best"):
        (stopped / "checkpoints" / link).unlink()
    assert complaint(capsys, "eval", stopped, "--checkpoint", "best").endswith(
        "best: there is no such checkpoint; use another one with --checkpoint step-00000004"
    )
    assert len(notes(capsys, "resume", stopped)) == 1
    assert_same_run(stopped, finished)


@pytest.mark.parametrize("which", ["..", "../checkpoints/last", "/etc", "step-4", "nonsense", "", ".", "-1"])
def test_what_names_no_checkpoint(capsys: pytest.CaptureFixture[str], stopped: Path, which: str) -> None:
    before = contents(stopped)
    for verb in ("resume", "eval", "generate"):
        line = complaint(capsys, verb, stopped, f"--checkpoint={which}")
        assert line == (
            f"--checkpoint {which}: is not the name of a checkpoint; give last, best, or a step such as "
            "step-00000006"
        )
    assert contents(stopped) == before


def test_a_checkpoint_by_its_step(stopped: Path, finished: Path) -> None:
    for which in ("4", "step-00000004"):
        assert load_trained(RunFolder(stopped), which).state.step == 4
    assert main(["resume", str(stopped), "--checkpoint", "4"]) == 0
    assert_same_run(stopped, finished)


def test_a_checkpoint_of_another_run(
    capsys: pytest.CaptureFixture[str], stopped: Path, text: Path, tmp_path: Path
) -> None:
    """Of another width, and of the same width but another seed."""
    for number, (settings, words) in enumerate(
        [
            ({"model.d_model": 16}, "it belongs to another configuration"),
            ({"train.seed": 5}, "are drawn differently here"),
        ]
    ):
        other = tmp_path / f"other{number}"
        trainer_of(config_of(text, {**SMALL, "train.steps": 1, **settings}), other).fit()
        shutil.rmtree((stopped / "checkpoints" / "last").resolve())
        shutil.copytree(
            (other / "checkpoints" / "last").resolve(), (stopped / "checkpoints" / "last").resolve()
        )
        seal_unfinished(stopped)
        for verb in ("resume", "eval"):
            assert words in complaint(capsys, verb, stopped)


def seal_unfinished(run: Path) -> None:
    content = state_of(run)
    content.pop("digest")
    content["state"] |= {"finished": False, "step": STOPPED_AT}
    content["digest"] = content_digest(content)
    (run / "checkpoints" / "last" / "state.json").write_text(json.dumps(content))


@pytest.mark.parametrize("verb", ["resume", "eval", "generate"])
def test_folders_that_are_no_runs(
    capsys: pytest.CaptureFixture[str], stopped: Path, tmp_path: Path, verb: str
) -> None:
    assert "there is no such folder" in complaint(capsys, verb, tmp_path / "none")
    assert "has no run.json" in complaint(capsys, verb, tmp_path)
    (tmp_path / "file").write_text("")
    assert "is not a folder" in complaint(capsys, verb, tmp_path / "file")
    (stopped / "config.yaml").write_text("model: {d_model: many}\n")
    assert "model.d_model" in complaint(capsys, verb, stopped)
    (stopped / "run.json").write_text("{")
    assert "run.json cannot be read" in complaint(capsys, verb, stopped)


def test_a_damaged_tokenizer(capsys: pytest.CaptureFixture[str], stopped: Path) -> None:
    (stopped / "tokenizer.json").write_text("{}")
    assert "tokenizer.json: is damaged (its digest differs)" in complaint(capsys, "generate", stopped)


def test_a_damaged_journal(capsys: pytest.CaptureFixture[str], stopped: Path) -> None:
    path = stopped / "metrics.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:50])
    assert f"metrics.jsonl: has 50 of the {len(content):,} bytes" in complaint(capsys, "resume", stopped)
    path.write_bytes(b"\x00" + content[1:])
    assert "metrics.jsonl: line 1 is damaged" in complaint(capsys, "resume", stopped)
    path.write_bytes(content)
    assert main(["resume", str(stopped)]) == 0


def test_a_finished_run_is_not_resumed(capsys: pytest.CaptureFixture[str], finished: Path) -> None:
    before = (finished / "metrics.jsonl").read_bytes()
    assert "is finished; `somelab eval" in complaint(capsys, "resume", finished)
    assert (finished / "metrics.jsonl").read_bytes() == before


def test_a_kill_between_the_last_evaluation_and_its_checkpoint(stopped: Path, finished: Path) -> None:
    """The journal then already tells of the end, but the checkpoint does not: the run is not finished."""
    with (stopped / "metrics.jsonl").open("ab") as file:
        file.write(b'{"kind":"final","step":12}\n')
    assert main(["resume", str(stopped)]) == 0
    assert_same_run(stopped, finished)


def test_an_out_folder_that_is_in_use(
    capsys: pytest.CaptureFixture[str], stopped: Path, text: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    flags = flags_of({"data.source": text, **SMALL})
    assert "is not empty; choose another folder" in complaint(
        capsys, "train", "--out", tmp_path / "mine", *flags
    )
    assert f"is a run; continue it with `somelab resume {stopped}`" in complaint(
        capsys, "train", "--out", stopped, *flags
    )
    assert "is not a folder" in complaint(capsys, "train", "--out", tmp_path / "mine" / "notes", *flags)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]


def test_changed_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text, out = write_text(tmp_path / "text.txt"), tmp_path / "run"
    trainer_of(config_of(text, SETTINGS), out, StopAt(2)).fit()
    write_text(text, number=299)
    for verb in ("resume", "eval"):
        assert "its data have changed since it began; restore them, or train anew" in complaint(
            capsys, verb, out
        )
    text.unlink()
    assert "there is no such file" in complaint(capsys, "resume", out)
    write_text(text)
    assert main(["resume", str(out)]) == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n \n", "holds no documents"),
        ("Größe".encode("latin-1") * 40, "is not UTF-8 text (byte 2)"),
        (b"one document only", "has one document only"),
        (
            b"one\n<|endoftext|>\ntwo\n<|endoftext|>\nthree",
            "and one batch needs 128 (batch_size 4 x seq_len 32)",
        ),
    ],
)
def test_text_that_cannot_be_trained_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    line = complaint(capsys, "train", "--data", path, "--out", tmp_path / "run", *flags_of(SMALL))
    assert words in line
    assert line.startswith("data.source = ")
    assert not (tmp_path / "run").exists(), "nothing is left of a run that could not begin"


def test_fewer_documents_than_a_padded_batch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = write_text(tmp_path / "text.txt", number=3)
    flags = flags_of({**SMALL, "data.layout": "pad"})
    line = complaint(capsys, "train", "--data", text, "--out", tmp_path / "run", *flags)
    assert (
        "documents for train, and one batch needs 4 (batch_size 4, one document each); lower train.batch_size"
        in line
    )
    assert not (tmp_path / "run").exists()


def full_disk(*arguments: Any, **options: Any) -> None:
    raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


def read_only(*arguments: Any, **options: Any) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


@pytest.mark.parametrize(
    ("name", "trouble", "words"),
    [
        (
            "somelab.runs.checkpoint.save_file",
            full_disk,
            "No space left on device; free some space; what was written before is intact",
        ),
        ("os.replace", read_only, "Read-only file system; allow writing there"),
        ("os.fsync", read_only, "Read-only file system; allow writing there"),
    ],
)
def test_a_disk_that_takes_no_checkpoint(
    capsys: pytest.CaptureFixture[str],
    stopped: Path,
    finished: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    trouble: Callable[..., None],
    words: str,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(name, trouble)
        line = complaint(capsys, "resume", stopped)
    assert line.startswith(f"cannot write {stopped}")
    assert words in line
    assert load_trained(RunFolder(stopped)).state.step == STOPPED_AT
    assert main(["resume", str(stopped)]) == 0
    assert_same_run(stopped, finished)


def test_a_limit_that_the_system_itself_sets(text: Path, tmp_path: Path) -> None:
    """Files may grow to 100 kB, and a checkpoint does not fit: the real errors of the system and of
    safetensors."""
    out, log, wanted = tmp_path / "run", tmp_path / "log", tmp_path / "wanted"
    flags = flags_of({"data.source": text, **LIVELY, "train.steps": 6})
    assert main(["train", "--out", str(wanted), *flags]) == 0
    life = Life(["train", "--out", str(out), *flags], log, largest_file=100_000)
    assert life.end() == 2
    assert (
        life.said()
        .splitlines()[-1]
        .startswith(f"somelab: cannot write {out / 'checkpoints' / 'step-00000004'}: File too large")
    )
    assert "Traceback" not in life.said()
    assert not list((out / "checkpoints").iterdir())
    life = Life(["resume", str(out)], log)
    assert life.end() == 0, life.said()
    assert_same_run(out, wanted)
