"""A thousand kills: at system calls that change a file, of every kind, and at any moment; during preparation,
training and evaluation. What is left can be continued, and ends with the same bits."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.hard.amounts import SEED, amount
from tests.hard.conftest import Tell
from tests.hard.lives import End, Server, can_kill
from tests.training.builders import LIVELY, SMALL, assert_same_run, flags_of, state_of

pytestmark = [
    pytest.mark.hard,
    pytest.mark.skipif(not can_kill(), reason="the killer is preloaded: Linux with a C compiler"),
]

TRAINING, PARTS, PREPARATION, EVALUATION = 760, 8, 180, 60
"""Kills. Those in training are split into tests that two processes can share."""
AT_ANY_TIME = 0.25
"""Share of the kills in training that come after a random time, not at a system call."""
# All that a step can leave behind, in few and small steps: a checkpoint after every second one.
TINY: dict[str, Any] = {
    **LIVELY,
    "model.d_model": 16,
    "model.seq_len": 16,
    "experts.d_ffn": 16,
    "train.steps": 8,
    "train.checkpoint_every": 2,
    "train.eval_every": 4,
    "train.snapshot_every": 3,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("killer"))
    yield server
    server.close()


@dataclass
class Lives:
    """Commands in a folder outside of which nothing may be changed, and what they took."""

    server: Server
    folder: Path
    ends: list[End] = field(default_factory=list[End])

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def num_kills(self) -> int:
        return sum(end.was_killed for end in self.ends)

    def live(self, *argv: str, cache: Path | None = None, **kill: Any) -> End:
        end = self.server.run(argv, self.log, environment={"SOMELAB_CACHE": str(cache or self.cache)}, **kill)
        assert end.code == 0 or end.was_killed, self.log.read_text()[-2000:]
        assert not end.outside(self.folder), "something outside was changed"
        self.ends.append(end)
        return end

    def outcome(self, **more: int) -> dict[str, int | float]:
        seconds = sum(end.cpu_seconds for end in self.ends) / max(1, self.num_kills)
        return {**more, "differing bits": 0, "changed files outside": 0, "CPU seconds a kill": seconds}


@pytest.fixture
def lives(server: Server, tmp_path: Path) -> Lives:
    return Lives(server, tmp_path)


def argv_of(text: Path, out: Path) -> list[str]:
    return ["train", "demo", "--out", str(out), *flags_of({"data.source": text, **TINY})]


def is_finished(run: Path) -> bool:
    return (run / "checkpoints" / "last").exists() and state_of(run)["state"]["finished"]


@pytest.mark.parametrize("part", range(PARTS))
def test_training(lives: Lives, text: Path, tmp_path: Path, part: int, tell: Tell) -> None:
    calm = tmp_path / "calm"
    whole = lives.live(*argv_of(text, calm))
    assert whole.num_calls > 100
    rng = random.Random(f"{SEED}/{part}")
    num_runs = 0
    while lives.num_kills < amount(TRAINING // PARTS):
        out = tmp_path / f"run-{num_runs}"
        while not (out / "run.json").exists() or not is_finished(out):
            argv = ["resume", str(out)] if (out / "run.json").exists() else argv_of(text, out)
            if rng.random() < AT_ANY_TIME:
                lives.live(*argv, kill_after=rng.uniform(0, whole.cpu_seconds))
            else:
                lives.live(*argv, kill_at=rng.randint(1, whole.num_calls // 3))
        # A run that was killed after its last checkpoint was marked as finished has nothing left to do.
        ended = lives.server.run(["resume", str(out)], lives.log)
        assert ended.code in (0, 2), lives.log.read_text()[-2000:]
        assert_same_run(out, calm)
        shutil.rmtree(out)
        num_runs += 1
    tell("`SIGKILL` in training, then `resume`", lives.num_kills, lives.outcome(runs=num_runs))


def test_preparation(lives: Lives, text: Path, tmp_path: Path, tell: Tell) -> None:
    argv = ["prepare", "demo", *flags_of({"data.source": text, **SMALL})]
    whole = lives.live(*argv)
    rng = random.Random(f"{SEED}/preparation")
    num_caches = 0
    while lives.num_kills < amount(PREPARATION):
        cache = tmp_path / f"cache-{num_caches}"
        while lives.live(*argv, cache=cache, kill_at=rng.randint(1, whole.num_calls * 6 // 5)).was_killed:
            pass
        assert files_of(cache) == files_of(lives.cache)
        shutil.rmtree(cache)
        num_caches += 1
    tell("`SIGKILL` in `prepare`, then again", lives.num_kills, lives.outcome(caches=num_caches))


def files_of(folder: Path) -> dict[str, bytes]:
    """What is prepared, or what a run holds, without locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock")
    }


def test_evaluation(lives: Lives, text: Path, tmp_path: Path, tell: Tell) -> None:
    """Evaluation changes nothing in a run, whenever it is killed."""
    run = tmp_path / "run"
    lives.live(*argv_of(text, run))
    before, rng = files_of(run), random.Random(f"{SEED}/evaluation")
    cache = tmp_path / "other"  # empty: the text is prepared again, which writes
    whole = lives.live("eval", str(run), cache=cache)
    while lives.num_kills < amount(EVALUATION):
        shutil.rmtree(cache, ignore_errors=True)
        lives.live("eval", str(run), "--json", cache=cache, kill_at=rng.randint(1, whole.num_calls))
        assert files_of(run) == before
    tell("`SIGKILL` in `eval`", lives.num_kills, lives.outcome())
