"""`prepare` killed at each of its writes: what is left is complete or not there, and the next one works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from somelab.config import Config, override
from somelab.data.prepare import prepare

pytestmark = pytest.mark.hard

# Files of the cache that are opened for writing, renamed, made or removed are counted; at one, the process
# ends as if the machine had.
CHILD = """
import os, signal, sys
from pathlib import Path
from somelab.config import Config, override
from somelab.data.prepare import prepare

cache, source, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
seen = 0

def watch(event, arguments):
    global seen
    if event not in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"):
        return
    if cache not in str(arguments[0]):
        return
    if event == "open" and isinstance(arguments[1], str) and not set(arguments[1]) & set("wax+"):
        return
    seen += 1
    if seen == last:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
prepare(override(Config(), {"data.source": source, "model.vocab_size": 300}), Path(cache))
"""


def test_prepared_data_survive_a_kill_at_any_write(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("\n<|endoftext|>\n".join(f"text {number} of many" for number in range(60)))
    config: Config = override(Config(), {"data.source": str(source), "model.vocab_size": 300})
    expected = prepare(config, tmp_path / "reference").digest
    for last in range(1, 100):
        cache = tmp_path / f"cache{last}"
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(cache), str(source), str(last)], timeout=120, check=False
        )
        assert prepare(config, cache).digest == expected
        left = [path.name for path in (cache / "prepared").iterdir() if path.suffix != ".lock"]
        assert len(left) == 1, left
        if done.returncode == 0:
            assert last > 8, "the kills were not at writes"
            return
    raise AssertionError("no run came to its end")
