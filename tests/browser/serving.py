"""A live server in a thread of the test, on a free port, and a client that sends exactly what it is told."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from somelab.cli.models.serve import bound
from somelab.view.page.heavy import Options


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, path: str, *, method: str = "GET", body: Any = None, **headers: str) -> Answer:
        """One request. Paths go out as they are: `..` and `%2e` too. `_` in the names of headers stands for
        `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            named.setdefault("Content-Type", "application/json")
        connection.putrequest(method, path, skip_host="Host" in named, skip_accept_encoding=True)
        for name, value in named.items():
            connection.putheader(name, value)
        if content is not None and "Content-Length" not in named:
            connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        got = connection.getresponse()
        answer = Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        connection.close()
        return answer


@contextmanager
def serving(roots: Sequence[Path], *, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Server]:
    pytest.importorskip("fastapi", reason="the extra `view` is not installed")
    uvicorn = pytest.importorskip("uvicorn", reason="the extra `view` is not installed")
    from somelab.view.live.server import make_app

    options = Options(maps=("pca",), tokens=600, num_permutations=20)
    app = make_app(roots, options, host=host, token=token)
    listening = bound("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    try:
        yield Server(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()
