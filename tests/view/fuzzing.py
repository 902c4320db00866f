"""Requests of every kind for the server, drawn by hypothesis: known addresses with odd parts, odd headers,
bodies that are nearly right."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.view.asgi import Application, Reply, application
from tests.view.result_builders import write_study, write_sweep

SECRET = "the secret outside"
HANGS = 60.0
LONGEST = 5.0
"""Seconds. Answers take milliseconds; a machine that is busy with other work may need more."""
IDS = ("stories", "broken", "leak", "sweep", "study", "nobody", "..", "", "a" * 5_000, "%00", "stories\x00")
PARTS = ("", "/galaxies", "/guilds", "/traces", "/events", "/trace", "/nothing", "/")
NUMBERS = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.sampled_from([0, -1, 1, 256, 257, 1e-40, 1e308, 2**63, 2**64, 10**400]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
PROMPTS = st.one_of(
    st.text(max_size=40), st.sampled_from(["x" * 4_000, "x" * 4_001, " ", "\U0001f600" * 300])
)
ODD_BODIES = (
    b"",
    b"null",
    b"{",
    b"[" * 20_000,
    b'{"a":' * 5_000,
    b"\xff\xfe",
    b'{"prompt":"\\ud800"}',
    b'{"prompt":"x","temperature":NaN}',
    b'{"prompt":"x","seed":' + b"9" * 6_000 + b"}",
    b"x" * 63_999,
    b"x" * 64_001,
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Prompts: right, nearly right, and not at all."""
    if draw(st.booleans()):
        return draw(st.one_of(st.sampled_from(ODD_BODIES), st.binary(max_size=60)))
    fields: dict[str, Any] = {"prompt": draw(PROMPTS), "max_new_tokens": draw(st.integers(-1, 3))}
    for name in draw(st.lists(st.sampled_from(["prompt", "max_new_tokens", "temperature", "seed", "odd"]))):
        fields[name] = draw(st.one_of(NUMBERS, VALUES))
    if isinstance(fields["max_new_tokens"], int) and fields["max_new_tokens"] > 3:
        fields["max_new_tokens"] = draw(st.sampled_from([3, 10**9]))  # right ones may take seconds
    return json.dumps(fields).encode()


LATIN = st.text(st.characters(max_codepoint=255), max_size=30).map(lambda text: text.encode("latin-1"))
ODD_HEADERS = st.one_of(
    st.sampled_from(
        [
            (b"origin", b"http://["),
            (b"origin", b"http://127.0.0.1"),
            (b"host", b"["),
            (b"cookie", b"somelab_token_80=\xff; ;;=; a"),
            (b"cookie", b'a="' + b"\\" * 500),
            (b"authorization", b"Bearer \xff"),
            (b"last-event-id", b"9" * 5_000),
            (b"last-event-id", b"-1"),
            (b"content-length", b"9" * 5_000),
            (b"content-length", b"-1"),
            (b"content-length", b"\xb2"),
            (b"content-type", b"text/plain"),
            (b"sec-fetch-site", b"cross-site"),
            (b"range", b"bytes=0-1"),
            (b"expect", b"100-continue"),
            (b"transfer-encoding", b"chunked"),
        ]
    ),
    st.tuples(
        st.sampled_from([b"origin", b"host", b"cookie", b"authorization", b"last-event-id", b"accept", b"x"]),
        LATIN,
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """The arguments of `Application.ask`."""
    is_known = draw(st.integers(0, 99)) % 4 != 3
    run_id = "stories" if is_known else draw(st.one_of(st.sampled_from(IDS), st.text(max_size=12)))
    path = draw(
        st.one_of(
            st.just(f"/api/runs/{run_id}{draw(st.sampled_from(PARTS))}"),
            st.just("/api/runs/stories/trace"),
            st.sampled_from(["/", "/api/runs", "/api/compare", "/api", "/favicon.ico", "//", "*", ""]),
            st.sampled_from([f"/api/sweeps/{run_id}", f"/api/studies/{run_id}", f"/{run_id}"]),
        )
    )
    is_post = path.endswith("/trace") and draw(st.integers(0, 9)) != 5
    is_odd = draw(st.integers(0, 99)) % 8 == 7
    odd_method = draw(st.sampled_from(["POST", "HEAD", "PUT", "OPTIONS", "X"])) if is_odd else "GET"
    method = "POST" if is_post else odd_method
    query = draw(
        st.one_of(
            st.just(b""),
            st.just(b""),
            st.sampled_from(
                [b"quick=1", b"quick=%ff", b"ids=stories", b"ids=" + b"a," * 3_000, b"after=-1", b"after=x"]
            ),
            st.sampled_from([b"after=" + b"9" * 5_000, b"token=x", b"token=%ff", b"&&&=%zz"]),
            st.binary(max_size=30),
        )
    )
    body = draw(bodies()) if method != "GET" else b""
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), length]
    odd = draw(st.one_of(st.just([]), st.just([]), st.lists(ODD_HEADERS, min_size=1, max_size=2)))
    for name, value in odd:
        if draw(st.booleans()):
            headers = [header for header in headers if header[0] != name]
        headers.append((name, value))
    leaves = draw(st.integers(0, 19)) == 13  # hypothesis prefers the ends
    return {
        "path": path, "method": method, "query": query, "headers": headers, "body": body, "leaves": leaves
    }  # fmt: skip


def check(served: Application, request: dict[str, Any], seen: Counter[int]) -> Reply:
    """Ask, and hold the answer to the contract: success or a refusal in one line, and soon."""
    begun = time.monotonic()
    reply = served.ask(**request, seconds=HANGS)
    taken = time.monotonic() - begun
    seen[reply.status] += 1
    assert taken < LONGEST, f"{taken:.1f} s"
    assert 200 <= reply.status < 500, reply
    assert reply.headers["x-content-type-options"] == "nosniff"
    if reply.status >= 400 and request["method"] != "HEAD":
        assert list(reply.json) == ["error"]
        assert "\n" not in reply.json["error"]
        assert "Traceback" not in reply.json["error"]
    return reply


@contextmanager
def served_runs(root: Path, some_run: Path) -> Iterator[Application]:
    """Runs and results, sound, broken and refused, whose models have been loaded."""
    (root / "secret.txt").write_text(SECRET)
    runs = root / "runs"
    shutil.copytree(some_run, runs / "stories", symlinks=True)
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{")
    leak = shutil.copytree(some_run, runs / "leak", symlinks=True)
    (leak / "samples.jsonl").unlink()
    (leak / "samples.jsonl").symlink_to(root / "secret.txt")
    write_sweep(runs / "sweep")
    write_study(runs / "study")
    with application([runs]) as made:
        for part in ("", "/galaxies", "/guilds", "/traces"):
            assert made.ask(f"/api/runs/stories{part}").status == 200
        yield made
