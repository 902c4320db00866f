"""A run that is killed again and again, also in the middle of a checkpoint, ends as if nothing had happened:
to the bit. So does one that is stopped by Ctrl-C or SIGTERM, which finishes its step and saves before it
goes."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.runs import RunFolder
from tests.training.builders import LIVELY, assert_same_run, flags_of, losses_of, state_of, tensors_of
from tests.training.lives import WRITES, Life


def argv_of(text: Path, out: Path, **settings: Any) -> list[str]:
    given = {
        "data.source": text,
        **LIVELY,
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    return ["train", "demo", "--out", str(out), *flags_of(given)]


@pytest.fixture(scope="module")
def undisturbed(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody interrupts."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    life = Life(argv_of(text, out), out.with_suffix(".log"))
    assert life.end() == 0, life.said()
    return out


def test_the_run_is_lively(undisturbed: Path) -> None:
    """What the comparisons below would miss if it never happened."""
    tensors = tensors_of(undisturbed)
    for layer in (0, 1):
        store = f"blocks.{layer}.feed_forward.keystore"
        assert tensors[f"{store}.respawns"] > 0
        assert tensors[f"{store}.usage_E"].sum() > 0
        assert tensors[f"{store}.load_bias_E"].abs().max() > 0
        assert tensors[f"{store}.query_mean_D"].abs().max() > 0
        assert not torch.equal(tensors[f"{store}.average_ED"], tensors[f"{store}.keys_ED"])
    kinds = [record["kind"] for record in RunFolder(undisturbed).records("metrics")]
    assert (kinds.count("train"), kinds.count("evaluation"), kinds.count("final")) == (30, 2, 1)
    warnings = [
        record["key"] for record in RunFolder(undisturbed).records("metrics") if record["kind"] == "warning"
    ]
    assert {"uniform gates/0", "uniform gates/1"} <= set(warnings)
    assert len(warnings) == len(set(warnings)), "each is given once, also to a run with many lives"
    assert len(RunFolder(undisturbed).records("samples")) == 3
    assert len(set(losses_of(undisturbed))) == 30


class Chain:
    """A run through many lives: the first trains, each later one resumes."""

    def __init__(self, text: Path, folder: Path, **settings: Any) -> None:
        self.out = folder / "run"
        self.first, self.log = argv_of(text, self.out, **settings), folder / "log"
        self.num_kills = 0

    def next_life(self, dies_in: tuple[str, int] | None = None) -> Life:
        begun = (self.out / "run.json").exists()
        return Life(["resume", str(self.out)] if begun else self.first, self.log, dies_in=dies_in)

    def kill_at_random(self, rng: random.Random, num_steps: int) -> None:
        """Kill the next life from outside: while it starts, or somewhere in its next few steps."""
        metrics = self.out / "metrics.jsonl"
        done = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
        life = self.next_life()
        life.wait_for_lines(metrics, rng.randint(max(1, done - 2), done + num_steps))
        time.sleep(rng.uniform(0.0, 0.1))
        life.send(signal.SIGKILL)
        self.count(life)

    def kill_inside_a_write(self, operation: str, number: int) -> None:
        self.count(self.next_life((operation, number)))

    def count(self, life: Life) -> None:
        code = life.end()
        assert code in (0, -signal.SIGKILL), life.said()
        self.num_kills += code != 0

    def finish(self) -> None:
        if not (self.out / "run.json").exists() or not is_finished(self.out):
            life = self.next_life()
            assert life.end() == 0, life.said()


def is_finished(run: Path) -> bool:
    return (run / "checkpoints" / "last").exists() and state_of(run)["state"]["finished"]


def test_kills_leave_no_trace(text: Path, tmp_path: Path, undisturbed: Path) -> None:
    """One kill from outside, one inside the first checkpoint after a resume, one between a later one and its
    link."""
    chain = Chain(text, tmp_path)
    chain.kill_at_random(random.Random(1), num_steps=12)
    chain.kill_inside_a_write("save_file", 2)  # the tensors of the optimizer
    chain.kill_inside_a_write("symlink", 2)
    assert chain.num_kills == 3
    chain.finish()
    assert_same_run(chain.out, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"experts__family": "hadamard", "experts__mixer": True}, {"experts__storage": "int8"}],
    ids=["hadamard", "int8"],
)
def test_pools_of_other_arithmetic_go_on_to_the_bit(
    text: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    whole, killed = (Chain(text, tmp_path / name, **settings) for name in ("whole", "killed"))
    for chain in (whole, killed):
        chain.out.parent.mkdir()
    killed.kill_inside_a_write("symlink", 2)
    assert killed.num_kills == 1
    for chain in (whole, killed):
        chain.finish()
    assert_same_run(killed.out, whole.out)


@pytest.mark.slow
def test_many_kills_at_random_moments(text: Path, tmp_path: Path) -> None:
    calm = tmp_path / "calm"
    life = Life(argv_of(text, calm, train__steps=100), tmp_path / "calm.log")
    assert life.end() == 0
    rng = random.Random(0)
    folder = tmp_path / "chain"
    folder.mkdir()
    chain = Chain(text, folder, train__steps=100)
    while chain.num_kills < 24 and not is_finished(chain.out):
        chain.kill_at_random(rng, num_steps=6)
    assert chain.num_kills >= 20
    chain.finish()
    assert_same_run(chain.out, calm)


@pytest.mark.slow
def test_many_kills_inside_writes(text: Path, tmp_path: Path) -> None:
    settings = {"train__steps": 40, "train__checkpoint_every": 1, "train__eval_every": 3}
    calm = tmp_path / "calm"
    life = Life(argv_of(text, calm, **settings), tmp_path / "calm.log")
    assert life.end() == 0
    rng = random.Random(0)
    folder = tmp_path / "chain"
    folder.mkdir()
    chain = Chain(text, folder, **settings)
    while chain.num_kills < 30 and not is_finished(chain.out):
        chain.kill_inside_a_write(rng.choice(WRITES), rng.randint(1, 3))
    assert chain.num_kills >= 20
    chain.finish()
    assert_same_run(chain.out, calm)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_step_saves_and_says_how_to_go_on(
    number: int, text: Path, tmp_path: Path, undisturbed: Path
) -> None:
    out = tmp_path / "run"
    life = Life(argv_of(text, out), tmp_path / "log")
    life.wait_for_lines(out / "metrics.jsonl", 5)
    life.send(number)
    assert life.end() == 130
    assert f"Continue with: somelab resume {out}" in life.said()
    assert "Traceback" not in life.said()
    step = state_of(out)["state"]["step"]
    assert 0 < step < 30
    assert len(losses_of(out)) == step, "the step at hand is in the journal and in the checkpoint"
    assert f"stopped after step {step};" in life.said()
    life = Life(["resume", str(out)], tmp_path / "log")
    assert life.end() == 0, life.said()
    assert_same_run(out, undisturbed)


def test_a_kill_before_the_first_checkpoint_begins_again(
    text: Path, tmp_path: Path, undisturbed: Path
) -> None:
    """Nothing had been saved, so nothing is lost; the journals do not keep what is told a second time."""
    out = tmp_path / "run"
    life = Life(argv_of(text, out), tmp_path / "log", dies_in=("save_file", 1))
    assert life.end() == -signal.SIGKILL
    assert not (out / "checkpoints" / "last").exists()
    assert len(losses_of(out)) > 0
    life = Life(["resume", str(out)], tmp_path / "log")
    assert life.end() == 0, life.said()
    assert_same_run(out, undisturbed)
