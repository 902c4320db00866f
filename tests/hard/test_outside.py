"""Nothing outside of a run is opened for writing: not by a run that was made to lead there, by links in the
place of each of its files and folders, and not by a sound one. Other tests here watch the same for each
command that they kill."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hard.amounts import SEED, amount
from tests.hard.conftest import Tell
from tests.hard.lives import Server, can_kill
from tests.hard.test_kills import argv_of

pytestmark = [
    pytest.mark.hard,
    pytest.mark.skipif(not can_kill(), reason="a library is preloaded: Linux with a C compiler"),
]
Replace = Callable[[Path, Path], None]
VERBS: dict[str, list[str]] = {
    "resume": [],
    "eval": ["--json"],
    "generate": ["--prompt", "Ann", "--max-new-tokens", "4"],
    "report": ["--tokens", "0", "--maps", "pca", "-o", "report.html"],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("killer"))
    yield server
    server.close()


def soft(place: Path, outside: Path) -> None:
    """The file or folder is elsewhere, and a link stands in its place."""
    shutil.move(place, outside)
    place.symlink_to(outside)


def hard(place: Path, outside: Path) -> None:
    os.link(place, outside)


def cases(run: Path) -> list[tuple[str, Replace]]:
    names = sorted(str(path.relative_to(run)) for path in run.rglob("*") if not path.is_symlink())
    files = [name for name in names if (run / name).is_file() and not name.startswith("checkpoints/last")]
    return [*((name, soft) for name in names), *((name, hard) for name in files)]


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file below a folder, or of a file."""
    files = [path for path in (folder, *folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_links_lead_no_write_out_of_a_run(server: Server, text: Path, tmp_path: Path, tell: Tell) -> None:
    environment = {"SOMELAB_CACHE": str(tmp_path / "cache")}
    log, begun = tmp_path / "log", tmp_path / "begun"
    whole = server.run(argv_of(text, tmp_path / "whole"), log, environment=environment)
    assert whole.code == 0, log.read_text()
    # Stopped on its way: there are checkpoints, snapshots and journals, and resuming writes all of them.
    assert server.run(argv_of(text, begun), log, whole.num_calls * 2 // 3, environment).was_killed
    found = [(verb, name, replace) for name, replace in cases(begun) for verb in VERBS]
    tried = random.Random(SEED).sample(found, amount(len(found), least=8))
    codes: Counter[int] = Counter()
    for number, (verb, name, replace) in enumerate(tried):
        here = tmp_path / f"here-{number}"
        run, outside = here / "run", tmp_path / f"outside-{number}"
        shutil.copytree(begun, run, symlinks=True)
        replace(run / name, outside)
        before = state_of(outside)
        log.unlink()
        argv = [
            verb,
            str(run),
            *(str(here / word) if word == "report.html" else word for word in VERBS[verb]),
        ]
        end = server.run(argv, log, environment=environment)
        label = f"{verb} with {replace.__name__} link for {name}"
        assert end.code in (0, 2), f"{label}: {log.read_text()[-2000:]}"
        assert "Traceback" not in log.read_text(), label
        assert state_of(outside) == before, label
        assert not end.outside(here, tmp_path / "cache"), label
        codes[end.code] += 1
        shutil.rmtree(here)
    outcome = {"refused in one line": codes[2], "done without harm": codes[0], "changed files outside": 0}
    tell("a link in place of a file of a run, and a verb", len(tried), outcome)
