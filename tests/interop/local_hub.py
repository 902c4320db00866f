"""A Hub in a folder: the few requests that an upload makes, answered over HTTP on this machine."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "hf_local"


class _Handler(BaseHTTPRequestHandler):
    root: Path

    def do_POST(self) -> None:
        body = self._body()
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"error": "Invalid credentials"})
        elif self.path == "/api/repos/create":
            wanted = json.loads(body)
            name = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
            (self.root / name).mkdir(parents=True, exist_ok=True)
            self._answer(200, {"url": f"http://{self.headers['Host']}/{name}", "name": name, "id": name})
        elif "/preupload/" in self.path:
            regular = {"uploadMode": "regular", "shouldIgnore": False}
            files = [{"path": one["path"], **regular} for one in json.loads(body)["files"]]
            self._answer(200, {"files": files})
        elif self.path == "/api/validate-yaml":  # of the model card
            self._answer(200, {"errors": [], "warnings": []})
        elif "/commit/" in self.path:
            name = self.path.removeprefix("/api/models/").split("/commit/")[0]
            for line in body.splitlines():
                one = json.loads(line)
                if one["key"] == "file":
                    content = base64.b64decode(one["value"]["content"])
                    (self.root / name / one["value"]["path"]).write_bytes(content)
            host = self.headers["Host"]
            commit = {"commitUrl": f"http://{host}/{name}/commit/{'0' * 40}", "commitOid": "0" * 40}
            self._answer(200, {**commit, "hookOutput": "", "success": True})
        else:
            self._answer(404, {"error": f"not here: {self.path}"})

    def do_GET(self) -> None:
        self._answer(200, {"id": "me/model", "siblings": [], "sha": "0" * 40})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, code: int, content: dict[str, Any]) -> None:
        written = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


@contextmanager
def local_hub(root: Path) -> Iterator[str]:
    """Serve a folder as a Hub; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"root": root}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
