"""What each tracker wrote, read back with the tracker's own reader: losses, measures, histograms, images."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import somelab
from somelab.cli.main import main
from somelab.errors import SomelabError
from somelab.interop.trackers import TRACKERS, trackers_of
from somelab.interop.trackers.picture import PIXELS, KeyPicture
from tests.training.builders import SMALL, flags_of

MEASURES = ("gini", "entropy_bits", "crowding", "drift", "respawns", "gate_entropy")
SETTINGS = {**SMALL, "gravity.respawn": True, "train.eval_every": 6}


def trained(text: Path, out: Path, tracker: str) -> somelab.LanguageModel:
    return somelab.train("demo", data=text, out=out, settings=SETTINGS, log=[tracker])


def losses(lm: somelab.LanguageModel) -> list[float]:
    return [record["loss"] for record in lm.run.records("metrics") if record["kind"] == "train"]


def test_tensorboard(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    lm = trained(text, tmp_path / "run", "tensorboard")
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"), size_guidance={"images": 0})
    events.Reload()
    read = events.Scalars("train/loss")
    assert [event.step for event in read] == list(range(1, 13))
    assert np.allclose([event.value for event in read], losses(lm))
    for name in MEASURES:
        assert len(events.Scalars(f"layer_1/{name}")) == 12, name
    final = lm.run.records("metrics")[-1]
    assert math.isclose(events.Scalars("evaluation/val_loss")[-1].value, final["val_loss"], rel_tol=1e-6)
    assert [event.step for event in events.Scalars("evaluation/val_loss")][-1] == 12
    last = events.Histograms("layer_0/use")[-1].histogram_value
    usage_E = lm.layers[0].keystore.usage_E
    assert last.num == len(usage_E)
    assert math.isclose(last.sum, float(usage_E.sum()), rel_tol=1e-5)
    image = events.Images("layer_0/keys")[-1]
    assert (image.width, image.height) == (PIXELS, PIXELS)
    assert image.encoded_image_string.startswith(b"\x89PNG")


def test_tensorboard_goes_on_where_a_run_was_stopped(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from somelab.training.callbacks import Pause

    out = tmp_path / "run"
    somelab.train("demo", data=text, out=out, settings=SETTINGS, log=["tensorboard"], callbacks=[Pause(5)])
    assert main(["resume", str(out), "--log", "tensorboard"]) == 0
    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == list(range(1, 13))


def test_mlflow(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow: Any = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    lm = trained(text, tmp_path / "run", "mlflow")
    folder = tmp_path / "run" / "mlflow"
    client = mlflow.MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("somelab")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["experts.num_experts"] == "8"
    read = client.get_metric_history(run.info.run_id, "train/loss")
    assert np.allclose([one.value for one in sorted(read, key=lambda one: one.step)], losses(lm))
    for name in MEASURES:
        assert len(client.get_metric_history(run.info.run_id, f"layer_0/{name}")) == 12
    highest = client.get_metric_history(run.info.run_id, "layer_0/use_quantile_1.00")[-1]
    assert math.isclose(highest.value, float(lm.layers[0].keystore.usage_E.max()), rel_tol=1e-5)
    assert len(list((folder / "artifacts").rglob("step_*.png"))) == 2 * 12


def log_records(content: bytes) -> Iterator[bytes]:
    """The records of a log in LevelDB's format, in which wandb writes: after a head of 7 bytes, blocks of 32
    KiB that hold pieces, each with a sum (4 bytes), a length (2) and a kind (1: whole, 2 to 4: first to
    last)."""
    assert content[:4] == b":W&B"
    at, parts = 7, b""
    while at + 7 <= len(content):
        left = 32768 - at % 32768
        if left < 7:
            at += left  # too little for a head: padding
            continue
        length, kind = struct.unpack("<HB", content[at + 4 : at + 7])
        parts += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield parts
            parts = b""


def test_wandb(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="the extra wandb is not installed")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.delenv("WANDB_MODE", raising=False)
    lm = trained(text, tmp_path / "run", "wandb")
    (written,) = (tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb")
    steps: dict[int, dict[str, Any]] = {}
    for data in log_records(written.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            steps.setdefault(int(items["_step"]), {}).update(items)
    assert np.allclose([steps[step]["train/loss"] for step in range(1, 13)], losses(lm))
    assert {f"layer_1/{name}" for name in MEASURES} <= steps[12].keys()
    assert steps[12]["layer_0/use/_type"] == "histogram"
    assert steps[12]["layer_0/keys/_type"] == "image-file"
    final = lm.run.records("metrics")[-1]
    assert math.isclose(steps[12]["evaluation/val_loss"], final["val_loss"], rel_tol=1e-6)


def test_trackio(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("trackio", reason="the extra trackio is not installed")
    from trackio.sqlite_storage import SQLiteStorage

    lm = trained(text, tmp_path / "run-of-trackio", "trackio")
    read = SQLiteStorage.get_logs("somelab", "run-of-trackio")
    found = {one["step"]: one for one in read if "train/loss" in one}
    assert np.allclose([found[step]["train/loss"] for step in range(1, 13)], losses(lm))
    assert {f"layer_1/{name}" for name in MEASURES} <= found[12].keys()
    assert found[12]["layer_0/use"]["_type"] == "trackio.histogram"
    assert found[12]["layer_0/keys"]["_type"] == "trackio.image"


def test_several_at_once_and_training_is_not_changed(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
    plain = somelab.train("demo", data=text, out=tmp_path / "plain", settings=SETTINGS)
    command = ["train", "demo", "--data", str(text), "--out", str(tmp_path / "logged"), *flags_of(SETTINGS)]
    names = [name for name in ("tensorboard", "wandb") if _is_installed(name)]
    assert main([*command, *(word for name in names for word in ("--log", name))]) == 0
    assert all((tmp_path / "logged" / name).is_dir() for name in names)
    logged = somelab.load(tmp_path / "logged")
    assert losses(logged) == losses(plain)
    assert [layer.keystore.digest() for layer in logged.layers] == [
        layer.keystore.digest() for layer in plain.layers
    ]


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


def test_a_misspelt_tracker_is_refused_before_anything_is_written(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "demo", "--data", str(text), "--out", str(tmp_path / "run"), "--log", "tensorbord"]
    assert main(command) == 2
    assert "did you mean tensorboard?" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", TRACKERS)
def test_a_missing_package_names_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, TRACKERS[name][0], None)
    with pytest.raises(SomelabError, match=rf"pip install 'somelab\[{name}\]'"):
        trackers_of([name])


def test_the_picture_shows_a_disc_per_key() -> None:
    keys_ED = np.array([[1, 0, 0], [-1, 0, 0], [0, 0.5, 0]], dtype=np.float32)
    image = KeyPicture(keys_ED).draw(keys_ED, np.array([1, 0, 0.5], dtype=np.float32))
    assert image.shape == (PIXELS, PIXELS, 3)
    drawn = (image != image[0, 0]).any(axis=2)
    assert 30 < drawn.sum() < 400
    row, column = np.argwhere((image == [214, 84, 35]).all(axis=2)).mean(axis=0)
    assert {round(column / PIXELS, 1), round(row / PIXELS, 1)} & {0.9, 0.1}
