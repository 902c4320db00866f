"""What is checked when a run is used: its configuration, its own files, and that no link leads out of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save

from somelab.analysis.snapshots import read_history
from somelab.cli.main import main
from somelab.disk.checked_json import content_digest
from somelab.errors import SomelabError
from somelab.runs import RunError, RunFolder, checkpoint
from somelab.runs.checkpoint import CheckpointError
from somelab.runs.trained import load_trained
from somelab.training.session import start
from tests.training.builders import SMALL, assert_same_run, config_of

SETTINGS = {**SMALL, "train.eval_every": 4, "train.checkpoint_every": 3}


@pytest.fixture(scope="module")
def original(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after step 6; `best` names step 4."""
    out = tmp_path_factory.mktemp("original") / "run"
    start(config_of(text, SETTINGS), out, {"name": "run"}, pause_at=6)
    return out


@pytest.fixture(scope="module")
def finished(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    start(config_of(text, SETTINGS), out, {"name": "run"})
    return out


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "run", symlinks=True))


def said(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    """The line of a command that fails."""
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 2
    return capsys.readouterr().err.splitlines()[-1].removeprefix("somelab: ")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def reseal(path: Path, change: dict[str, Any]) -> dict[str, Any]:
    """Change a state.json and make its digest fit, as one who knows how would."""
    content = json.loads(path.read_text())
    content.pop("digest")
    content["state"] |= change
    path.write_text(json.dumps({**content, "digest": content_digest(content)}))
    return content


def test_a_changed_setting_is_refused_by_name(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    before = RunFolder(run).config().train.clip
    edit(run / "config.yaml", f"  clip: {before}", "  clip: 0.25")
    for verb in ("resume", "eval", "generate"):
        assert said(capsys, verb, run) == (
            f"run {run}: config.yaml was changed since training began (train.clip was {before} and is 0.25); "
            f"restore it, or continue with the change: `somelab resume {run} --accept-config`"
        )
    assert main(["report", str(run), "-o", str(run.parent / "report.html"), "--tokens", "0"]) == 0
    assert "config.yaml was changed since training began" in capsys.readouterr().out


def test_a_change_that_is_accepted_is_recorded(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    before = RunFolder(run).config().train.clip
    edit(run / "config.yaml", f"  clip: {before}", "  clip: 0.25")
    edit(run / "config.yaml", "  steps: 12", "  steps: 8")
    assert main(["resume", str(run), "--accept-config"]) == 0
    facts = RunFolder(run).facts()
    changes = {"train.steps": [12, 8], "train.clip": [before, 0.25]}
    assert facts["config_changes"] == [{"step": 6, "changes": changes}]
    assert RunFolder(run).config().train.clip == 0.25
    assert main(["eval", str(run)]) == 0
    edit(run / "config.yaml", "  clip: 0.25", "  clip: 0.5")
    assert "train.clip was 0.25 and is 0.5" in said(capsys, "eval", run)


def test_a_change_that_the_weights_do_not_fit_is_not_recorded(
    capsys: pytest.CaptureFixture[str], run: Path
) -> None:
    edit(run / "config.yaml", "  d_model: 32", "  d_model: 64")
    edit(run / "config.yaml", "  d_ffn: 32", "  d_ffn: 64")
    facts = (run / "run.json").read_bytes()
    assert "it belongs to another configuration" in said(capsys, "resume", run, "--accept-config")
    assert (run / "run.json").read_bytes() == facts


def test_comments_and_defaults_may_change(run: Path, finished: Path) -> None:
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text("# mine\n" + text.replace("  clip: 1.0 ", "  clip: 1 "))
    assert main(["resume", str(run), "--accept-config"]) == 0
    assert "config_changes" not in RunFolder(run).facts()
    assert_same_run(run, finished)


def test_a_run_of_an_earlier_version_is_read_without_digests(run: Path, finished: Path) -> None:
    """Its run.json has neither digest nor copy, its journals no sums, its snapshots no digest."""
    folder = RunFolder(run)
    records = {path: folder.records(path.stem) for path in run.glob("*.jsonl")}
    (run / "run.json").write_text(json.dumps(folder.facts()))
    lengths: dict[str, int] = {}
    for path, found in records.items():
        path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in found))
        lengths[path.stem] = path.stat().st_size
    reseal(run / "checkpoints" / "last" / "state.json", {"journals": lengths})
    for path in (run / "keys").iterdir():
        path.write_bytes(save(load_file(path)))
    assert len(read_history(folder)[0].steps) == len(list((run / "keys").iterdir()))
    assert load_trained(RunFolder.open(run)).state.step == 6
    assert main(["resume", str(run)]) == 0
    assert '"sum"' not in (run / "metrics.jsonl").read_text()
    assert RunFolder(run).records("metrics") == RunFolder(finished).records("metrics")


def test_flipped_words_in_run_json_are_noticed(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    text = (run / "run.json").read_text()
    for old, new in (
        ('"train_tokens": ', '"train_tokens": 1'),
        ('"digest"', '"digesu"'),
        ('"integrity"', '"integritz"'),
        ('"with sums"', '"with"'),
        ('"name": "run"', '"name": "ruin"'),
    ):
        assert old in text
        (run / "run.json").write_text(text.replace(old, new, 1))
        assert "run.json cannot be read (its digest differs)" in said(capsys, "eval", run)


DEEP = "[" * 100_000 + "]" * 100_000
NESTED = '{"a":' * 100_000 + "1" + "}" * 100_000


@pytest.mark.parametrize("content", [DEEP, NESTED])
def test_deep_brackets_are_damage(capsys: pytest.CaptureFixture[str], run: Path, content: str) -> None:
    journal = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_text(content + "\n")
    assert "metrics.jsonl: " in said(capsys, "resume", run)
    (run / "metrics.jsonl").write_bytes(journal)
    (run / "checkpoints" / "step-00000006" / "state.json").write_text(content)
    assert "state.json: is damaged (is nested too deeply)" in said(capsys, "eval", run, "--checkpoint", "6")
    (run / "run.json").write_text(content)
    assert "run.json cannot be read (is nested too deeply)" in said(capsys, "eval", run)
    (run / "config.yaml").write_text(content[:20_000])
    with pytest.raises(SomelabError) as caught:
        RunFolder(run).config_as_it_is()
    assert "\n" not in str(caught.value)


def test_a_file_beyond_its_limit_is_not_read(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    with (run / "run.json").open("wb") as file:
        file.truncate(1 << 34)
    assert "run.json: has more than" in said(capsys, "eval", run)


def test_a_fifo_is_not_waited_for(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    for name in ("metrics.jsonl", "run.json"):
        (run / name).unlink()
        os.mkfifo(run / name)
        assert f"{name}: is not a regular file" in said(capsys, "resume", run)


FOREIGN: list[dict[str, Any]] = [
    {"step": "6"},
    {"step": -6},
    {"step": True},
    {"finished": "no"},
    {"finished": 0},
    {"best_step": [4]},
    {"best_val_loss": "low"},
    {"seconds": None},
    {"loader": 3},
    {"journals": {"metrics": "many"}},
    {"journals": [1]},
    {"unknown": 1},
    {"step": 7},
]


@pytest.mark.parametrize("change", FOREIGN, ids=str)
def test_foreign_types_in_a_state_are_damage(run: Path, change: dict[str, Any]) -> None:
    path = run / "checkpoints" / "step-00000006" / "state.json"
    content = reseal(path, change)
    folder = RunFolder(run)
    with pytest.raises(CheckpointError, match=r"state\.json: is damaged"):
        checkpoint.read_state(folder, "6")
    assert load_trained(folder).state.step == 4
    for key, value in (("files", 3), ("pools", []), ("state", None), ("files", {"../x": "y"})):
        path.write_text(json.dumps({**content, key: value}))
        with pytest.raises(CheckpointError):
            checkpoint.read_state(folder, "6")


def test_a_foreign_position_in_the_data(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    reseal(run / "checkpoints" / "last" / "state.json", {"loader": {"nonsense": 1}})
    assert "the position in the data of step 6 is damaged" in said(capsys, "resume", run)


MINE = "my notes\n" * 1000


def leading_out(run: Path, outside: Path) -> dict[str, Callable[[], None]]:
    """Ways to make a file or folder of a run lead to the user's own."""

    def link(name: str, target: Path) -> Callable[[], None]:
        def make() -> None:
            path = run / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
            path.symlink_to(target)

        return make

    def moved(name: str) -> Callable[[], None]:
        def make() -> None:
            shutil.move(run / name, outside / name)
            (run / name).symlink_to(outside / name)

        return make

    files = [".lock", *(f"{name}.jsonl" for name in ("metrics", "layers", "samples", "timing"))]
    return {
        **{name: link(name, outside / "mine.txt") for name in files},
        **{name: moved(name) for name in ("keys", "checkpoints", "run.json", "config.yaml")},
    }


WAYS = (
    ".lock",
    "metrics.jsonl",
    "layers.jsonl",
    "samples.jsonl",
    "timing.jsonl",
    "keys",
    "checkpoints",
    "run.json",
    "config.yaml",
)


@pytest.mark.parametrize("way", WAYS)
def test_a_link_out_of_the_run_is_not_followed(
    capsys: pytest.CaptureFixture[str], run: Path, tmp_path: Path, way: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text(MINE)
    leading_out(run, outside)[way]()

    def everything() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in sorted(outside.rglob("*")) if path.is_file()}

    before = everything()
    line = said(capsys, "resume", run)
    assert "is a link" in line or "leads out of" in line
    assert everything() == before


@pytest.mark.parametrize("link", ["last", "best"])
@pytest.mark.parametrize(
    "target", ["..", "../../mine", "/etc", "step-00000004/../step-00000004", "best", "last"]
)
def test_links_of_checkpoints_name_a_step_beside_them(run: Path, link: str, target: str) -> None:
    (run / "checkpoints" / link).unlink()
    (run / "checkpoints" / link).symlink_to(target)
    with pytest.raises(CheckpointError, match=f"{link}: leads to {target} instead of a step beside it"):
        checkpoint._verified(RunFolder(run), link)
    if link == "last":
        assert load_trained(RunFolder(run)).state.step == 6, "the newest sound one"


def test_a_step_that_is_a_link_out_is_not_read(run: Path, tmp_path: Path) -> None:
    shutil.move(run / "checkpoints" / "step-00000006", tmp_path / "elsewhere")
    (run / "checkpoints" / "step-00000006").symlink_to(tmp_path / "elsewhere")
    assert load_trained(RunFolder(run)).state.step == 4
    for file in ("state.json", "model.safetensors"):
        path = run / "checkpoints" / "step-00000004" / file
        shutil.move(path, tmp_path / file)
        path.symlink_to(tmp_path / file)
        with pytest.raises(CheckpointError, match="leads out of"):
            load_trained(RunFolder(run), "4")
        path.unlink()
        shutil.move(tmp_path / file, path)


def test_a_file_that_goes_while_it_is_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*arguments: Any, **options: Any) -> Any:
        shutil.rmtree(run, ignore_errors=True)
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("somelab.runs.checkpoint.load_file", gone)
    with pytest.raises(CheckpointError, match="cannot be read") as caught:
        load_trained(RunFolder(run))
    assert "\n" not in str(caught.value)
    with pytest.raises(RunError, match="there is no such folder"):
        RunFolder.open(run)
