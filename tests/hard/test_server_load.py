"""A real server under load: many event streams, queued prompts and a long journal open. The list of runs is
still answered soon, in bounded memory, and prompts whose clients have left make room for others."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hard.amounts import amount
from tests.hard.conftest import Tell
from tests.view.builders import append, synthetic_run

pytestmark = [
    pytest.mark.hard,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]
STREAMS, PROMPTS, MEGABYTES = amount(200, least=4), amount(50, least=4), amount(100)
READERS = 6
LOOKS = 40
MOST_MEDIAN = 1.0  # seconds
MOST_MEMORY = 1_500_000_000
HANGS = 120.0


@contextmanager
def served(runs: Path) -> Iterator[tuple[int, int, str]]:
    """A server in a process of its own: its id, port and token."""
    command = [sys.executable, "-m", "somelab", "serve", str(runs), "--port", "0", "--tokens", "600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/\?token=(\w+)", process.stdout.readline())
        assert found is not None
        yield process.pid, int(found[1]), found[2]
        assert process.poll() is None, "the server has ended"
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=HANGS)
    assert "Traceback" not in errors


class Client:
    def __init__(self, port: int, token: str) -> None:
        self.port, self.headers = port, {"Authorization": f"Bearer {token}"}

    def ask(self, path: str, body: Any = None) -> tuple[int, int, float]:
        """Status, bytes and seconds."""
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)
        content = None if body is None else json.dumps(body)
        headers = {**self.headers, **({"Content-Type": "application/json"} if content else {})}
        connection.request("POST" if content else "GET", path, content, headers)
        reply = connection.getresponse()
        length = len(reply.read())
        connection.close()
        return reply.status, length, time.monotonic() - begun

    def ask_until_answered(self, path: str) -> tuple[int, int, float]:
        """Asks again, as it is told to, when the answer takes longer than a client is made to wait."""
        begun = time.monotonic()
        while (found := self.ask(path))[0] == 503 and time.monotonic() - begun < HANGS:
            pass
        return *found[:2], time.monotonic() - begun

    def stream(self, path: str) -> socket.socket:
        """An open stream of which the first event has come; the rest stays unread, as for a slow client."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=HANGS)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        got = b""
        while b"event: increment" not in got:
            part = connection.recv(65536)
            assert part, got
            got += part
        return connection


def memory_of(process: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) * 1000


def write_long_journal(run: Path, megabytes: int) -> int:
    step = 4
    with (run / "metrics.jsonl").open("a") as file:
        while file.tell() < megabytes * 1_000_000:
            for _ in range(10_000):
                step += 1
                file.write(
                    f'{{"kind":"train","step":{step},"loss":{3 + 1 / step},"learning_rate":0.00030000001,'
                    f'"grad_norm":{1 + 1 / step},"tokens":{512 * step}}}\n'
                )
    return step


def seconds_after_leaving(client: Client) -> float:
    """How long a prompt takes after some whose clients have left: theirs are not worked on."""
    body = json.dumps({"prompt": "Once upon a time", "max_new_tokens": 256}).encode()
    lines = ["POST /api/runs/stories/trace HTTP/1.1", f"Host: 127.0.0.1:{client.port}"]
    lines += [*(f"{name}: {value}" for name, value in client.headers.items()), f"Content-Length: {len(body)}"]
    head = "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode()
    connections = [socket.create_connection(("127.0.0.1", client.port), timeout=HANGS) for _ in range(8)]
    for connection in connections:
        connection.sendall(head + body)
    time.sleep(0.2)
    for connection in connections:
        connection.close()
    status, _, taken = client.ask("/api/runs/stories/trace", {"prompt": "Once", "max_new_tokens": 1})
    assert status == 200
    return taken


def test_the_list_is_answered_under_load(tmp_path: Path, some_run: Path, tell: Tell) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(some_run, runs / "stories", symlinks=True)
    long = synthetic_run(runs / "long")
    last = write_long_journal(long.path, MEGABYTES)
    stop, prompts, reads, looks = threading.Event(), Counter[int](), [], []

    def train() -> None:
        step = last
        while not stop.wait(0.2):
            step += 1
            append(long, "metrics", [{"kind": "train", "step": step, "loss": 1.0, "tokens": step}])

    with served(runs) as (process, port, token), ThreadPoolExecutor(PROMPTS + READERS + 1) as clients:
        client = Client(port, token)
        at_rest = memory_of(process, "VmRSS")
        training = clients.submit(train)
        try:
            streams = [
                client.stream(f"/api/runs/{'long' if number % 4 else 'stories'}/events?after={last}")
                for number in range(STREAMS)
            ]
            body = {"prompt": "Once upon a time", "max_new_tokens": 64}
            asked = [clients.submit(client.ask, "/api/runs/stories/trace", body) for _ in range(PROMPTS)]
            reading = [clients.submit(client.ask_until_answered, "/api/runs/long") for _ in range(READERS)]
            for _ in range(LOOKS):
                looks.append(client.ask("/api/runs"))
                time.sleep(0.1)
            reads = [one.result(2 * HANGS) for one in reading]
            prompts.update(one.result(HANGS)[0] for one in asked)
            after_leaving = seconds_after_leaving(client)
        finally:
            stop.set()
        training.result(HANGS)
        most = memory_of(process, "VmHWM")
        for stream in streams:
            stream.close()
    seconds = sorted(taken for _, _, taken in looks)
    median, worst = statistics.median(seconds), seconds[-1]
    what = f"a server with {STREAMS} streams, {PROMPTS} prompts and a journal of {MEGABYTES} MB, looked at"
    outcome: dict[str, int | float] = {
        "prompts answered": prompts[200],
        "sent away (429)": prompts[429],
        "/api/runs, median (s)": median,
        "worst (s)": worst,
        f"{READERS} readers of the journal (s)": max(taken for _, _, taken in reads),
        "a prompt after 8 whose clients left (s)": after_leaving,
        "memory at rest (MB)": at_rest / 1e6,
        "at most (MB)": most / 1e6,
    }
    tell(what, LOOKS, outcome)
    assert {status for status, _, _ in looks} == {200}
    assert {status for status, _, _ in reads} == {200}
    assert max(length for _, length, _ in reads) < 2_000_000
    assert set(prompts) <= {200, 429}
    assert prompts[200] > 0
    assert median < MOST_MEDIAN
    assert most < MOST_MEMORY
