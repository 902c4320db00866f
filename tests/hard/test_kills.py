"""Kills at every kind of system call that changes a file, during preparation, training and evaluation: what
is left can be continued, and ends with the same bits."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hard.lives import End, Server, can_kill
from tests.training.builders import LIVELY, SMALL, assert_same_run, flags_of, state_of

pytestmark = [
    pytest.mark.hard,
    pytest.mark.skipif(not can_kill(), reason="the killer is preloaded: Linux with a C compiler"),
]

# With the variable set, as many kills in all; the default suits a quick look.
KILLS = int(os.environ.get("SOMELAB_KILLS", "1000"))
SHARES = {"train": 0.8, "prepare": 0.15, "evaluate": 0.05}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("killer"))
    yield server
    server.close()


def num_kills(part: str) -> int:
    return max(1, round(KILLS * SHARES[part]))


def argv_of(text: Path, out: Path) -> list[str]:
    given: dict[str, Any] = {"data.source": text, **LIVELY, "train.steps": 12, "train.eval_every": 6}
    return ["train", "demo", "--out", str(out), *flags_of(given)]


def is_finished(run: Path) -> bool:
    return (run / "checkpoints" / "last").exists() and state_of(run)["state"]["finished"]


def test_training(server: Server, text: Path, tmp_path: Path, record_property: Any) -> None:
    calm, log = tmp_path / "calm", tmp_path / "log"
    whole = server.run(argv_of(text, calm), log)
    assert whole.code == 0, log.read_text()
    assert whole.num_calls > 100
    rng = random.Random(0)
    kills = chains = 0
    while kills < num_kills("train"):
        out = tmp_path / f"run-{chains}"
        while not (out / "run.json").exists() or not is_finished(out):
            begun = (out / "run.json").exists()
            argv = ["resume", str(out)] if begun else argv_of(text, out)
            end = server.run(argv, log, rng.randint(1, whole.num_calls // 3))
            assert end.code == 0 or end.was_killed, log.read_text()[-2000:]
            kills += end.was_killed
        finish(server, out, log)
        assert_same_run(out, calm)
        shutil.rmtree(out)
        chains += 1
    record_property("kills", kills)
    print(f"training: {kills} kills in {chains} runs, 0 differing bits")


def finish(server: Server, out: Path, log: Path) -> None:
    """A run that was killed after its last checkpoint was marked as finished has nothing left to do."""
    end = server.run(["resume", str(out)], log)
    assert end.code in (0, 2), log.read_text()[-2000:]


def test_preparation(server: Server, text: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def prepare(cache: Path, kill_at: int = 0) -> End:
        argv = ["prepare", "demo", *flags_of({"data.source": text, **SMALL})]
        return server.run(argv, log, kill_at, {"SOMELAB_CACHE": str(cache)})

    calm = tmp_path / "calm"
    whole = prepare(calm)
    assert whole.code == 0, log.read_text()
    rng = random.Random(1)
    kills = chains = 0
    while kills < num_kills("prepare"):
        cache = tmp_path / f"cache-{chains}"
        while (end := prepare(cache, rng.randint(1, 2 * whole.num_calls))).was_killed:
            kills += 1
        assert end.code == 0, log.read_text()[-2000:]
        assert files_of(cache) == files_of(calm)
        shutil.rmtree(cache)
        chains += 1
    print(f"preparation: {kills} kills in {chains} caches, 0 differing bytes")


def files_of(cache: Path) -> dict[str, bytes]:
    """What is prepared, without locks."""
    return {
        str(path.relative_to(cache)): path.read_bytes()
        for path in sorted(cache.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock")
    }


def test_evaluation(server: Server, text: Path, tmp_path: Path) -> None:
    """Evaluation changes nothing in a run, whenever it is killed."""
    run, log = tmp_path / "run", tmp_path / "log"
    assert server.run(argv_of(text, run), log).code == 0, log.read_text()
    before = files_of(run)
    rng = random.Random(2)
    kills = 0
    for number in range(num_kills("evaluate")):
        cache = tmp_path / f"cache-{number}"  # empty: the text is prepared again, which writes
        end = server.run(["eval", str(run), "--json"], log, rng.randint(1, 40), {"SOMELAB_CACHE": str(cache)})
        assert end.code == 0 or end.was_killed, log.read_text()[-2000:]
        kills += end.was_killed
        assert files_of(run) == before
        shutil.rmtree(cache, ignore_errors=True)
    assert kills
    print(f"evaluation: {kills} kills, 0 files changed")
