"""The server as an application in the test's own process, on an event loop in a thread: requests in any form,
thousands of them, without sockets."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from somelab.view.page.heavy import Options

SECONDS = 60.0  # a guard against hanging, not a measure


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Application:
    """Sends requests to the application, each header and byte as given."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.app, self.loop = app, loop

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        query: bytes = b"",
        headers: Sequence[tuple[bytes, bytes]] | None = None,
        body: bytes = b"",
        leaves: bool = False,
        seconds: float = SECONDS,
    ) -> Reply:
        """One request. A stream is left after its first part. `leaves`: the client sends no content."""
        scope = self._scope(path, method, query, headers, body)
        asked = asyncio.run_coroutine_threadsafe(self._ask(scope, body, leaves), self.loop)
        return asked.result(seconds)

    def prompt(self, path: str, body: bytes) -> tuple[Future[Reply], Callable[[], None]]:
        """A prompt that waits for its answer, and how its client leaves before."""
        left = asyncio.Event()
        scope = self._scope(path, "POST", b"", None, body)
        asked = asyncio.run_coroutine_threadsafe(self._ask(scope, body, False, left), self.loop)
        return asked, lambda: self.loop.call_soon_threadsafe(left.set) and None

    @staticmethod
    def _scope(
        path: str, method: str, query: bytes, headers: Sequence[tuple[bytes, bytes]] | None, body: bytes
    ) -> dict[str, Any]:
        given = [(b"host", b"127.0.0.1")] if headers is None else list(headers)
        if method == "POST" and headers is None:
            given += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        return {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode("utf-8", "surrogateescape"),
            "query_string": query,
            "root_path": "",
            "scheme": "http",
            "headers": given,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

    async def _ask(
        self, scope: dict[str, Any], body: bytes, leaves: bool, left: asyncio.Event | None = None
    ) -> Reply:
        left = left or asyncio.Event()
        if leaves:
            left.set()
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if parts and not leaves:
                return parts.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)
            if message["type"] == "http.response.body":
                left.set()

        await self.app(scope, receive, send)
        start = sent[0]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
        return Reply(start["status"], headers, b"".join(part.get("body", b"") for part in sent[1:]))


@contextmanager
def application(roots: Sequence[Path], *, token: str | None = None) -> Iterator[Application]:
    pytest.importorskip("fastapi", reason="the extra `view` is not installed")
    from somelab.view.live.server import make_app

    app = make_app(
        roots, Options(maps=("pca",), tokens=600, num_permutations=20), host="127.0.0.1", token=token
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield Application(app, loop)
    finally:
        asyncio.run_coroutine_threadsafe(app.state.service.close(), loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SECONDS)
