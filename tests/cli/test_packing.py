"""pack and play: a small folder that every command opens, with the weights it came from; and the model that
ships."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from safetensors.torch import load_file

from somelab.analysis.reading import read_validation
from somelab.cli.main import main
from somelab.cli.models.play import introduction, shipped
from somelab.config import from_yaml, override, preset
from somelab.model.count import count_parameters
from somelab.runs import RunFolder
from somelab.runs.packing import MEGABYTE, is_packed, reads_of, size_of
from somelab.runs.trained import load_trained
from somelab.training.session import start
from tests.training.builders import SMALL, flags_of, write_text

LARGEST = 5 * MEGABYTE
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packing")
    text = write_text(folder / "short.txt")
    settings = {**SMALL, "train.steps": 12, "train.snapshot_every": 1}
    out = folder / "run"
    assert main(["train", "demo", "--data", str(text), "--out", str(out), *flags_of(settings)]) == 0
    return out


@pytest.fixture(scope="module")
def packed(run: Path) -> Path:
    out = run.with_name("packed")
    assert main(["pack", str(run), "--out", str(out)]) == 0
    return out


def complaint(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 2
    return capsys.readouterr().err.splitlines()[-1].removeprefix("somelab: ")


def test_weights_are_halved_and_keys_are_not(run: Path, packed: Path) -> None:
    before = load_file(run / "checkpoints/last/model.safetensors")
    after = load_file(packed / "checkpoints/last/model.safetensors")
    assert before.keys() == after.keys()
    for name, tensor in after.items():
        if ".keystore." in name or not tensor.is_floating_point():
            assert torch.equal(tensor, before[name]), name
        else:
            assert tensor.dtype == torch.float16, name
            assert torch.equal(tensor, before[name].half()), name
    assert load_file(packed / "checkpoints/last/optimizer.safetensors") == {}


def test_there_are_no_links_and_no_paths_in_it(packed: Path, run: Path) -> None:
    files = [path for path in packed.rglob("*") if path.is_file()]
    assert not [path for path in packed.rglob("*") if path.is_symlink()]
    assert not [path for path in files if str(run.parent).encode() in path.read_bytes()]
    assert RunFolder.open(packed).config().data.source == "short.txt"


def test_the_same_model_comes_out(packed: Path, run: Path) -> None:
    tokens = torch.arange(20).view(2, 10)
    with torch.no_grad():
        here = load_trained(RunFolder.open(packed)).model(tokens).logits_BTV
        there = load_trained(RunFolder.open(run)).model(tokens).logits_BTV
    assert torch.allclose(here, there, atol=0.05)
    assert not torch.equal(here, there)


def test_every_reader_opens_it(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generate", str(packed), "--prompt", "Ben", "--max-new-tokens", "5", "--trace"]) == 0
    assert main(["report", str(packed), "-o", "page.html", "--maps", "pca", "--tokens", "300"]) == 0
    assert (tmp_path / "page.html").stat().st_size > 100_000
    capsys.readouterr()
    assert main(["eval", str(packed), "--data", "builtin:weather", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["val_loss"] > 0
    assert "is packed, without its validation text" in complaint(capsys, "eval", packed)
    assert "is finished" in complaint(capsys, "resume", packed)


def test_it_reads_another_text_than_its_own(packed: Path) -> None:
    trained = load_trained(RunFolder.open(packed))
    assert reads_of(trained.run) == "builtin:story"
    reading = read_validation(trained, 200)
    assert reading.labels == "builtin"
    assert "it reads builtin:story instead" in reading.labels_note


def test_snapshots_fill_the_size_that_is_allowed(
    run: Path, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = (run / "keys/step-00000000.safetensors").stat().st_size
    rest = size_of(RunFolder(packed)) - 13 * one
    megabytes = (rest + 5.5 * one) / MEGABYTE
    out = tmp_path / "small"
    assert main(["pack", str(run), "--out", str(out), "--megabytes", str(megabytes)]) == 0
    kept = sorted(path.name for path in (out / "keys").iterdir())
    assert len(kept) == 5
    assert kept[0] == "step-00000000.safetensors"
    assert kept[-1] == "step-00000012.safetensors"
    assert size_of(RunFolder(out)) <= megabytes * MEGABYTE
    line = complaint(capsys, "pack", run, "--out", tmp_path / "none", "--megabytes", "0.01")
    assert "too little for the model" in line
    assert not (tmp_path / "none").exists()


def test_only_a_packed_run_is_replaced(
    run: Path, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "is a run" in complaint(capsys, "pack", run, "--out", packed)
    assert "is a run" in complaint(capsys, "pack", packed, "--out", run, "--replace")
    assert not is_packed(RunFolder(run))
    out = tmp_path / "again"
    for _ in range(2):
        assert main(["pack", str(run), "--out", str(out), "--replace"]) == 0
    assert RunFolder.open(out).facts()["name"] == "again"
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_an_unfinished_run_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "half"
    text = RunFolder(run).config().data.source
    settings = {"data.source": text, **SMALL, "train.steps": 4}
    start(override(preset("demo").config, settings), out, {"name": "half"}, pause_at=2)
    assert "is not finished" in complaint(capsys, "pack", out, "--out", tmp_path / "packed")


def test_the_model_that_ships_is_small_and_whole() -> None:
    run = RunFolder.open(shipped())
    assert size_of(run) <= LARGEST
    assert not [path for path in run.path.rglob("*") if path.is_symlink()]
    trained = load_trained(run)
    assert trained.config.experts.trainability == "frozen"
    assert len(list(run.keys.iterdir())) >= 5, "the map moves"
    assert "never trained" in " ".join(introduction(run))


def test_the_settings_of_the_long_training_are_the_recommended_ones_and_fit() -> None:
    config, some = from_yaml(str(EXAMPLES / "stories.yaml")), preset("some").config
    assert config.gravity == some.gravity
    assert config.router == some.router
    assert count_parameters(config).trainable * 2 < 4 * MEGABYTE


def test_play_serves_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "somelab", "play", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as child:
        try:
            assert child.stdout is not None
            found = next(m for line in child.stdout if (m := re.search(r"http://\S+", line)))
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert b"<title>" in opener.open(found[0], timeout=60).read()
            place = urlsplit(found[0])
            runs = opener.open(f"{place.scheme}://{place.netloc}/api/runs", timeout=60).read()
            (entry,) = json.loads(runs)["runs"]
            assert (entry["id"], entry["status"]) == ("stories", "finished")
        finally:
            child.terminate()
            deadline = time.monotonic() + 20
            while child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            child.kill()


def test_where_the_model_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--where"]) == 0
    assert capsys.readouterr().out.strip() == str(shipped())
