"""Checkpoints: complete or not there, verified to the last bit, and small, since no frozen expert is in
them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from somelab.config import Config, override
from somelab.disk.atomic import WriteError, clear_leftovers
from somelab.disk.checked_json import content_digest
from somelab.model import Decoder, count_parameters
from somelab.runs import RunFolder, checkpoint
from somelab.runs.checkpoint import CheckpointError, RunState
from somelab.training.optimizer import build_optimizer
from tests.training.builders import SMALL

CONFIG = override(Config(), {**SMALL, "model.vocab_size": 300, "gravity.warmup_steps": 0})
FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


class Student:
    """A model and its optimizer that can take a step on random tokens."""

    def __init__(self, config: Config = CONFIG) -> None:
        self.model = Decoder(config)
        self.optimizer = build_optimizer(self.model, config.train)
        self.state = RunState()

    def learn(self) -> None:
        rng = torch.Generator().manual_seed(self.state.step)
        tokens_BT = torch.randint(0, 300, (2, 16), generator=rng)
        logits_BTV = self.model(tokens_BT).logits_BTV
        torch.nn.functional.cross_entropy(
            logits_BTV[:, :-1].flatten(0, 1), tokens_BT[:, 1:].flatten()
        ).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.model.apply_gravity_()
        self.state.step += 1

    def tensors(self) -> dict[str, Tensor]:
        moments = {
            f"{name}/{key}": value
            for name, parameter in self.model.named_parameters()
            for key, value in self.optimizer.state.get(parameter, {}).items()
        }
        return {
            name: value.detach().clone() for name, value in {**self.model.state_dict(), **moments}.items()
        }

    def save(self, run: RunFolder, *, best: bool = False) -> Path:
        if best:
            self.state.best_step = self.state.step
        return checkpoint.save(run, self.model, self.optimizer, self.state)

    def load(self, run: RunFolder, which: str = "last") -> None:
        self.state = checkpoint.load(run, self.model, self.optimizer, which=which)


def assert_equal(got: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert got.keys() == wanted.keys()
    assert [name for name, value in wanted.items() if not torch.equal(got[name], value)] == []


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", CONFIG, {}, {}, "{}")


@pytest.fixture
def student() -> Student:
    made = Student()
    made.learn()
    return made


def names(run: RunFolder) -> dict[str, str | None]:
    """What is in the folder of checkpoints: links with their targets."""
    return {path.name: os.readlink(path) if path.is_symlink() else None for path in run.checkpoints.iterdir()}


def seal(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a state.json and make its own digest fit, as one who knows how would."""
    content = json.loads(path.read_text())
    content.pop("digest")
    change(content)
    path.write_text(json.dumps({**content, "digest": content_digest(content)}))


def test_everything_comes_back(run: RunFolder, student: Student) -> None:
    student.learn()
    student.state = RunState(2, 60, 1.5, 4.25, 2, {"num_sequences": 4}, {"metrics": 100}, True)
    student.save(run)
    other = Student()
    other.load(run)
    assert other.state == student.state == checkpoint.read_state(run)
    assert_equal(other.tensors(), student.tensors())
    assert [layer.keystore.step for layer in other.model.some_layers()] == [2, 2]
    other.learn()
    student.learn()
    assert_equal(other.tensors(), student.tensors())


def test_the_best_and_the_last_two_are_kept(run: RunFolder, student: Student) -> None:
    student.save(run, best=True)
    for _ in range(3):
        student.learn()
        student.save(run)
    assert names(run) == {
        "best": "step-00000001",
        "last": "step-00000004",
        "step-00000001": None,
        "step-00000003": None,
        "step-00000004": None,
    }
    student.learn()
    student.save(run, best=True)
    assert names(run) == {
        "best": "step-00000005",
        "last": "step-00000005",
        "step-00000004": None,
        "step-00000005": None,
    }


def test_a_second_save_of_a_step_keeps_the_tensors_and_takes_the_state(
    run: RunFolder, student: Student
) -> None:
    """The last step is saved when it is made, and again when it has been evaluated."""
    folder = student.save(run)
    before = {file: (folder / file).stat().st_ino for file in FILES}
    student.state.best_val_loss, student.state.finished = 3.5, True
    student.save(run, best=True)
    after = {file: (folder / file).stat().st_ino for file in FILES}
    assert [before[file] == after[file] for file in FILES] == [True, True, False]
    assert checkpoint.read_state(run) == checkpoint.read_state(run, "best") == student.state
    Student().load(run)


def test_others_may_read_what_the_owner_lets_them_read(run: RunFolder, student: Student) -> None:
    folder = student.save(run)
    assert len({(folder / file).stat().st_mode for file in FILES}) == 1


class Killed(BaseException):
    """Stands for a kill: from then on nothing touches the disk any more, not even what cleans up."""


class Fate:
    """Lets the n-th call that touches the disk fail, or kills there."""

    def __init__(self, patch: pytest.MonkeyPatch, *, kills: bool) -> None:
        self.num_calls, self.at, self.kills, self.dead = 0, 0, kills, False
        for module, names in ((os, ("replace", "fsync", "symlink")), (checkpoint, ("save_file",))):
            for name in names:
                patch.setattr(module, name, self._fated(getattr(module, name)))
        if kills:
            patch.setattr(shutil, "rmtree", self._fated(shutil.rmtree))
            patch.setattr(os, "unlink", self._fated(os.unlink))

    def _fated(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def fated(*arguments: Any, **options: Any) -> Any:
            self.num_calls += 1
            if self.kills and (self.dead or self.num_calls == self.at):
                self.dead = True
                raise Killed
            if self.num_calls == self.at and act is save_file:
                raise SafetensorError(
                    "Error while serializing: I/O error: No space left on device (os error 28)"
                )
            if self.num_calls == self.at:
                raise OSError(errno.ENOSPC, "No space left on device")
            return act(*arguments, **options)

        return fated


@pytest.mark.parametrize("kills", [False, True])
def test_a_save_that_ends_at_any_call_leaves_a_sound_checkpoint(tmp_path: Path, kills: bool) -> None:
    """Of the step before or of this one, and never of anything between."""
    student = Student()
    student.learn()
    start = RunFolder.create(tmp_path / "start", CONFIG, {}, {}, "{}")
    student.save(start, best=True)
    tensors = {1: student.tensors()}
    student.learn()
    tensors[2] = student.tensors()
    reached: list[int] = []
    ends: list[str] = []
    for at in range(1, 40):
        run = RunFolder(tmp_path / f"run{at}")
        shutil.copytree(start.path, run.path, symlinks=True)
        with pytest.MonkeyPatch.context() as patch:
            fate = Fate(patch, kills=kills)
            fate.at = at
            try:
                student.save(run, best=True)
            except (WriteError, Killed) as end:
                ends.append(str(end))
        clear_leftovers(run.checkpoints)
        other = Student()
        for which in ("best", "last"):
            other.load(run, which)
            assert_equal(other.tensors(), tensors[other.state.step])
        reached.append(other.state.step)
        checkpoint.go_back(run, other.state)
        assert names(run)["best"] == names(run)["last"] == f"step-{other.state.step:08d}"
        other.learn()  # and from there the run goes on, over whatever was left
        other.save(run)
        assert set(names(run)) <= {"last", "best", "step-00000001", "step-00000002", "step-00000003"}
        if fate.num_calls < at:
            break
    assert reached.count(1) >= 6, "two files of tensors, their two syncs, the rename, the link"
    assert reached[-1] == 2
    assert all(kills or "No space left on device; free some space" in end for end in ends)


def test_going_back_to_another_checkpoint(run: RunFolder, student: Student) -> None:
    """Steps that follow are written anew, also where a folder of that name is there: it may be the damaged
    one."""
    student.save(run, best=True)
    student.learn()
    wanted = student.tensors()
    damaged = student.save(run) / "model.safetensors"
    damaged.write_bytes(b"no tensors")
    other = Student()
    other.load(run, "best")
    checkpoint.go_back(run, other.state)
    assert names(run)["last"] == "step-00000001"
    other.learn()
    other.save(run)
    fresh = Student()
    fresh.load(run)
    assert fresh.state.step == 2
    assert_equal(fresh.tensors(), wanted)


def test_any_flipped_bit_is_noticed(run: RunFolder, student: Student) -> None:
    folder = student.save(run)
    rng, other = random.Random(0), Student()
    for trial in range(60):
        path = folder / FILES[trial % 3]
        content = path.read_bytes()
        place, bit = rng.randrange(len(content)), rng.randrange(8)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
        with pytest.raises(CheckpointError, match="is damaged"):
            other.load(run)
        path.write_bytes(content)
    other.load(run)


@pytest.mark.parametrize("file", FILES)
def test_missing_cut_and_emptied_files_are_noticed(
    run: RunFolder, student: Student, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    student.save(run, best=True)
    student.learn()
    path = student.save(run) / file
    content = path.read_bytes()
    for damage, words in (
        (content[: len(content) // 2], "is damaged"),
        (b"", "is damaged"),
        (None, "is missing"),
    ):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(
            CheckpointError, match=f"{file}: {words}.*; use another one with --checkpoint best"
        ) as caught:
            Student().load(run, "2")
        assert "\n" not in str(caught.value)
        other = Student()
        other.load(run)
        assert other.state.step == 1, "the newest sound one stands in for `last`"
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"note: {path}: {words}")
        assert line.endswith("using step 1, the newest sound checkpoint")
        assert names(run)["last"] == "step-00000002", "reading changes nothing on disk"
        path.touch()
    other = Student()
    other.load(run, "best")
    assert other.state.step == 1


def test_without_another_checkpoint_the_message_offers_none(run: RunFolder, student: Student) -> None:
    (student.save(run, best=True) / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="there is no other checkpoint, train again"):
        Student().load(run)


def test_a_link_to_nowhere_is_not_taken_for_a_fresh_run(run: RunFolder, student: Student) -> None:
    assert not checkpoint.is_any(run)
    shutil.rmtree(student.save(run))
    assert checkpoint.is_any(run)
    for which in ("last", "best", "7"):
        with pytest.raises(CheckpointError, match="there is no such checkpoint"):
            Student().load(run, which)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model.d_model": 16}, "has shape .* it belongs to another configuration"),
        ({"model.num_layers": 3}, "has no blocks.2.* it belongs to another configuration"),
        ({"model.num_layers": 1}, "holds blocks.1.* it belongs to another configuration"),
        ({"experts.num_experts": 16}, "has shape .* it belongs to another configuration"),
        ({"router.kind": "mlp"}, "it belongs to another configuration"),
        ({"train.seed": 1}, "the frozen experts of blocks.0.feed_forward.experts are drawn differently"),
        (
            {"experts.init": "sparse"},
            "the frozen experts of blocks.0.feed_forward.experts are drawn differently",
        ),
    ],
)
def test_a_foreign_checkpoint_is_refused(
    run: RunFolder, student: Student, settings: dict[str, Any], words: str
) -> None:
    student.save(run)
    with pytest.raises(CheckpointError, match=words):
        Student(override(CONFIG, settings)).load(run)


def test_a_foreign_optimizer_is_refused(run: RunFolder, student: Student) -> None:
    folder = student.save(run)
    tensors = checkpoint.load_file(folder / "optimizer.safetensors")
    name = next(iter(tensors))
    tensors[f"stranger/{name.rsplit('/')[-1]}"] = tensors.pop(name)
    checkpoint.save_file(tensors, folder / "optimizer.safetensors")
    digest = checkpoint._file_digest(run, folder / "optimizer.safetensors")
    seal(folder / "state.json", lambda content: content["files"].update({"optimizer.safetensors": digest}))
    with pytest.raises(CheckpointError, match=r"holds stranger/.* it belongs to another configuration"):
        Student().load(run)


def test_an_edited_digest_of_a_pool_is_refused(run: RunFolder, student: Student) -> None:
    path = student.save(run) / "state.json"

    def change(content: dict[str, Any]) -> None:
        content["pools"]["blocks.1.feed_forward.experts"]["digest"] = "0" * 32

    sound = path.read_text()
    content = json.loads(sound)
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"state\.json: is damaged"):
        Student().load(run)
    path.write_text(sound)
    seal(path, change)
    with pytest.raises(
        CheckpointError, match=r"the frozen experts of blocks\.1\.feed_forward\.experts are drawn differently"
    ):
        Student().load(run)


def test_frozen_pools_are_not_stored(tmp_path: Path) -> None:
    config = override(CONFIG, {"experts.num_experts": 64, "experts.d_ffn": 256})
    run = RunFolder.create(tmp_path / "run", config, {}, {}, "{}")
    student = Student(config)
    student.learn()
    folder = student.save(run)
    counts = count_parameters(config)
    d_model, num_layers = config.model.d_model, config.model.num_layers
    # Keys, and per expert usage, mass, load bias and birth (eight bytes), and the mean of the queries.
    stores = 4 * num_layers * (64 * d_model + 5 * 64 + d_model)
    headers = 20_000
    assert (folder / "model.safetensors").stat().st_size < 4 * counts.trainable + stores + headers
    assert (folder / "optimizer.safetensors").stat().st_size < 2 * 4 * counts.trainable + headers
    assert 4 * counts.frozen > 10 * (folder / "model.safetensors").stat().st_size
    pools = json.loads((folder / "state.json").read_text())["pools"]
    for layer, module in enumerate(student.model.some_layers()):
        described = pools[f"blocks.{layer}.feed_forward.experts"]
        assert described["digest"] == module.experts.digest()
        assert described["recipe"] == {
            "seed": 0,
            "layer": layer,
            "init": "default",
            "num_experts": 64,
            "d_model": 32,
            "d_ffn": 256,
            "storage": "float32",
            "family": "dense",
        }


@pytest.mark.parametrize("trainability", ["full", "lora", "gains", "readout"])
def test_what_is_trained_of_the_experts_is_stored(tmp_path: Path, trainability: str) -> None:
    config = override(CONFIG, {"experts.trainability": trainability})
    run = RunFolder.create(tmp_path / "run", config, {}, {}, "{}")
    student = Student(config)
    student.learn()
    student.save(run)
    other = Student(config)
    other.load(run)
    assert_equal(other.tensors(), student.tensors())
    stored = checkpoint.load_file(run.checkpoints / "last" / "model.safetensors")
    assert ("blocks.0.feed_forward.experts.down_EFD" in stored) is (trainability == "full")


@pytest.mark.parametrize("saved_before", [False, True])
def test_a_finished_run_has_its_best_whenever_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved_before: bool
) -> None:
    """It is not resumed, so that nothing would set the link later."""
    student, replace, num_finished = Student(), os.replace, 0
    for dies_at in range(1, 6):
        run = RunFolder(tmp_path / f"run-{dies_at}")
        run.checkpoints.mkdir(parents=True)
        student.state = RunState()
        student.learn()
        student.save(run, best=True)
        student.learn()
        if saved_before:
            student.save(run)
        student.state.finished = True
        calls: list[str] = []

        def counting(*names: Any, calls: list[str] = calls, dies_at: int = dies_at) -> None:
            calls.append(str(names[1]))
            if len(calls) == dies_at:
                raise KeyboardInterrupt
            replace(*names)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", counting)
            with contextlib.suppress(KeyboardInterrupt):
                student.save(run, best=True)
        if checkpoint.read_state(run).finished:
            num_finished += 1
            assert os.readlink(run.checkpoints / "best") == "step-00000002"
        else:
            assert checkpoint.read_state(run, "best").step in (1, 2)
    assert num_finished in (2, 3)
