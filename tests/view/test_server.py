"""The live server as a client sees it: what it answers, whom it refuses, and that every failure is one
line."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from somelab.errors import SomelabError
from somelab.view.live.messages import MAX_NEW_TOKENS, MAX_PROMPT_CHARACTERS, RunList, TraceResponse
from somelab.view.report import PLAYGROUND, static_page
from somelab.view.schema.page import Galaxy, LayerGuilds, Page, Run, Trace
from tests.browser.serving import Answer, Server, serving
from tests.view.asgi import application

SECRET = "the secret outside"
TOKEN = "correcthorsebattery"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, some_run: Path) -> Path:
    """A folder of runs, beside it a file that must never be read."""
    root = tmp_path_factory.mktemp("served")
    (root / "secret.txt").write_text(SECRET)
    folder = root / "runs"
    shutil.copytree(some_run, folder / "stories", symlinks=True)
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    leak = shutil.copytree(some_run, folder / "leak", symlinks=True)
    (leak / "samples.jsonl").unlink()
    (leak / "samples.jsonl").symlink_to(root / "secret.txt")
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    with serving([runs]) as made:
        yield made


@pytest.fixture(scope="module")
def locked(runs: Path) -> Iterator[Server]:
    with serving([runs], host="0.0.0.0", token=TOKEN) as made:
        yield made


def is_one_line(answer: Answer) -> bool:
    return (
        list(answer.json) == ["error"]
        and "\n" not in answer.json["error"]
        and "Traceback" not in answer.json["error"]
    )


def test_the_page_needs_nothing_from_elsewhere(server: Server) -> None:
    answer = server.ask("/")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    page = answer.body.decode()
    assert "default-src 'none'" in page
    assert page.count('id="data"') == 1
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"


def directives(policy: str) -> dict[str, str]:
    return dict(part.strip().partition(" ")[::2] for part in policy.split(";"))


def test_the_page_may_run_its_own_script_alone(server: Server) -> None:
    answer = server.ask("/")
    found = directives(answer.headers["content-security-policy"])
    built = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', answer.body.decode())
    assert built is not None
    hashes = {name: directives(built[1])[name] for name in ("script-src", "style-src")}
    assert found == {
        "default-src": "'none'",
        **hashes,
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", one) for one in hashes.values())


def test_the_playground_is_served_with_its_own_policy(server: Server) -> None:
    answer, page = server.ask("/playground"), server.ask("/")
    assert answer.status == 200
    assert answer.body.decode() == static_page(PLAYGROUND)
    policy = directives(answer.headers["content-security-policy"])
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] != directives(page.headers["content-security-policy"])["script-src"]


@pytest.mark.parametrize(
    "path",
    ["/", "/api/runs", "/api/runs/stories", "/api/runs/nobody", "/nothing", "/api/compare?ids=stories"],
)
def test_browsers_are_told_what_not_to_do(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_the_list(server: Server) -> None:
    listed = RunList.model_validate_json(server.ask("/api/runs").body)
    by_id = {run.id: run for run in listed.runs}
    assert {name: run.status for name, run in by_id.items()} == {
        "stories": "finished",
        "broken": "broken",
        "leak": "foreign",
    }
    assert by_id["stories"].num_steps == by_id["stories"].step == 24
    assert len(by_id["stories"].sparkline) == 24
    assert by_id["leak"].problem is not None
    assert "leaves the runs folder" in by_id["leak"].problem


def test_a_run_and_its_heavy_parts(server: Server) -> None:
    run = Run.model_validate_json(server.ask("/api/runs/stories").body)
    assert run.id == "stories"
    assert run.curves.train.step[-1] == 24
    assert run.galaxies is None
    galaxies = [Galaxy.model_validate(part) for part in server.ask("/api/runs/stories/galaxies?quick=1").json]
    assert [galaxy.layer for galaxy in galaxies] == [0, 1, 2]
    assert not galaxies[0].words
    guilds = [LayerGuilds.model_validate(part) for part in server.ask("/api/runs/stories/guilds").json]
    assert [layer.layer for layer in guilds] == [0, 1, 2]
    full = [Galaxy.model_validate(part) for part in server.ask("/api/runs/stories/galaxies").json]
    assert len(full[0].words) == 8
    traces = [Trace.model_validate(part) for part in server.ask("/api/runs/stories/traces").json]
    assert {trace.kind for trace in traces} == {"sample", "validation"}


def test_a_prompt_is_continued_and_traced(server: Server) -> None:
    request = {"prompt": "Once upon a time", "max_new_tokens": 5, "temperature": 0, "seed": 3}
    answers = [
        TraceResponse.model_validate_json(
            server.ask("/api/runs/stories/trace", method="POST", body=request).body
        )
        for _ in "ab"
    ]
    assert answers[0] == answers[1]
    trace = answers[0].trace
    assert "".join(trace.tokens) == answers[0].text
    assert answers[0].text.startswith("Once upon a time")
    assert 0 < len(trace.tokens) - trace.num_prompt_tokens <= 5
    assert [[len(token) for token in layer] for layer in trace.experts] == [[2] * len(trace.tokens)] * 3


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": ""},
        {"prompt": "x" * (MAX_PROMPT_CHARACTERS + 1)},
        {"prompt": "x", "max_new_tokens": MAX_NEW_TOKENS + 1},
        {"prompt": "x", "max_new_tokens": 0},
        {"prompt": "x", "max_new_tokens": 10**400},
        {"prompt": "x", "max_new_tokens": 1.5},
        {"prompt": "x", "max_new_tokens": "many"},
        {"prompt": "x", "temperature": -1},
        {"prompt": "x", "temperature": 1e-40},
        {"prompt": "x", "temperature": float("nan")},
        {"prompt": "x", "temperature": float("inf")},
        {"prompt": "x", "temperature": [1]},
        {"prompt": "x", "temperature": None},
        {"prompt": ["x"]},
        {"prompt": {"x": 1}},
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "\xff"}',
        b"[" * 30_000,
        b'{"prompt": ' * 5_000,
        b'{"prompt": "x", "seed": 1' + b"0" * 5_000 + b"}",
        b"",
        b"null",
        {"prompt": "x", "seed": -1},
        {"prompt": "x", "shell": "rm"},
        {},
        b"{",
        b"[]",
    ],
)
def test_odd_prompts_are_refused(server: Server, body: object) -> None:
    answer = server.ask("/api/runs/stories/trace", method="POST", body=body)
    assert answer.status == 422
    assert is_one_line(answer)


def test_the_model_is_loaded_again_when_last_moves(tmp_path: Path, runs: Path) -> None:
    run = shutil.copytree(runs / "stories", tmp_path / "runs" / "a", symlinks=True)
    request = {"prompt": "The", "max_new_tokens": 1}
    with serving([tmp_path / "runs"]) as made:
        before = made.ask("/api/runs/a/trace", method="POST", body=request).json
        checkpoints = run / "checkpoints"
        target = checkpoints / (checkpoints / "last").resolve().name
        shutil.rmtree(checkpoints / "step-99999999", ignore_errors=True)
        shutil.copytree(target, checkpoints / "step-99999999")
        (checkpoints / "last").unlink()
        (checkpoints / "last").symlink_to("step-99999999")
        (checkpoints / "step-99999999" / "model.safetensors").write_bytes(b"damaged")
        after = made.ask("/api/runs/a/trace", method="POST", body=request)
    assert "trace" in before
    assert after.status == 200
    assert after.json == before, "the newest sound checkpoint stands in for a damaged one"


def test_compare(server: Server) -> None:
    page = Page.model_validate_json(server.ask("/api/compare?ids=stories").body)
    assert [run.id for run in page.runs] == ["stories"]
    assert page.groups[0].run_ids == ["stories"]
    for path in (
        "/api/compare",
        "/api/compare?ids=",
        "/api/compare?ids=" + ",".join("abcdefghijklmnopqrstuvwxyz"),
    ):
        assert server.ask(path).status == 422
    assert server.ask("/api/compare?ids=stories,nobody").status == 404
    assert server.ask("/api/compare?ids=stories,leak").status == 422


def test_events_begin_with_what_is_later(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/api/runs/stories/events", headers={"Last-Event-ID": "20"})
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [answer.readline().decode().strip() for _ in range(3)]
    connection.close()
    assert lines[:2] == ["event: increment", "id: 24"]
    assert '"step":[21,22,23,24]' in lines[2]


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/../../secret.txt",
        "/api/runs/..%2f..%2fsecret.txt",
        "/api/runs/%2e%2e/%2e%2e/secret.txt",
        "/api/runs/%2e%2e%2fsecret.txt",
        "/api/runs/%252e%252e%252fsecret.txt",
        "/api/runs/..",
        "/api/runs/%2e%2e",
        "/api/runs/....//secret.txt",
        "/api/runs/stories/../../../secret.txt",
        "/api/runs/stories%2f..%2f..%2fsecret.txt",
        "/api/runs/stories%00",
        "/api/runs//etc/passwd",
        "/api/runs/%2fetc%2fpasswd/galaxies",
        "/api/runs/..\\..\\secret.txt",
        "/static/../../../secret.txt",
        "/secret.txt",
        "/../secret.txt",
        "//etc/passwd",
    ],
)
def test_nothing_outside_is_read(server: Server, path: str) -> None:
    answer = server.ask(path)
    assert answer.status in (400, 404, 405)
    assert SECRET.encode() not in answer.body
    assert b"root:" not in answer.body
    if answer.status != 400:  # uvicorn itself refuses what is no address at all
        assert is_one_line(answer)


@pytest.mark.parametrize("part", ["", "/galaxies", "/guilds", "/traces", "/events"])
def test_a_run_with_a_link_out_is_not_read(server: Server, part: str) -> None:
    answer = server.ask(f"/api/runs/leak{part}")
    assert SECRET.encode() not in answer.body
    assert b"leaves the runs folder" in answer.body
    assert answer.status == (422 if part else 200)


def test_a_broken_run_breaks_nothing(server: Server) -> None:
    assert Run.model_validate_json(server.ask("/api/runs/broken").body).status == "broken"
    assert server.ask("/api/runs/broken/galaxies").json == []
    for part in ("guilds", "traces"):
        answer = server.ask(f"/api/runs/broken/{part}")
        assert answer.status == 422
        assert is_one_line(answer)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1", "[::1", "stories"]
)
def test_other_names_are_dns_rebinding(server: Server, host: str) -> None:
    answer = server.ask("/api/runs", Host=host)
    assert answer.status == 403
    assert is_one_line(answer)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:1234", "[::1]:80"])
def test_own_names_are_let_in(server: Server, host: str) -> None:
    assert server.ask("/api/runs", Host=host).status == 200


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "null", "", "http://127.0.0.1", "http://\xff", "//", "http://a:b:c"]
)
def test_odd_origins_are_refused(server: Server, origin: str) -> None:
    answer = server.ask("/api/runs", Origin=origin)
    assert answer.status == 403
    assert is_one_line(answer)
    assert server.ask("/api/runs", Origin=server.url.rstrip("/")).status == 200


def test_a_client_that_leaves_before_its_content_is_no_error(
    runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    head = b"POST /api/runs/stories/trace HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with serving([runs]) as made:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", made.port), timeout=30) as connection:
                connection.sendall(head + b'Content-Length: 40\r\n\r\n{"prompt": ')
        assert made.ask("/api/runs").status == 200
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err + printed.out
    with application([runs]) as app:
        left = app.ask("/api/runs/stories/trace", method="POST", body=b"{}", leaves=True)
    assert left.status == 400


def test_headers_that_are_given_twice_are_refused(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(
            b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
            b"Origin: http://evil.example\r\nConnection: close\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("after", ["x", "1e9", "9" * 5_000, "--1", "\u0661"])
def test_odd_steps_are_refused(server: Server, after: str) -> None:
    answer = server.ask(f"/api/runs/stories/events?after={quote(after)}")
    assert answer.status == 422
    assert is_one_line(answer)


def test_other_sites_are_refused(server: Server) -> None:
    body = {"prompt": "x", "max_new_tokens": 1}
    assert (
        server.ask("/api/runs/stories/trace", method="POST", body=body, Origin="http://evil.example").status
        == 403
    )
    assert server.ask("/api/runs", Sec_Fetch_Site="cross-site").status == 403
    assert server.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert server.ask("/api/runs", Sec_Fetch_Site="same-origin").status == 200
    plain = server.ask(
        "/api/runs/stories/trace", method="POST", body=b'{"prompt":"x"}', Content_Type="text/plain"
    )
    assert plain.status == 422


def test_large_and_odd_requests_are_refused(server: Server) -> None:
    assert server.ask("/api/runs/stories/trace", method="POST", body=b"x" * 70_000).status == 413
    for length in ("9" * 30, "9" * 5_000):
        answer = server.ask("/api/runs/stories/trace", method="POST", Content_Length=length)
        assert answer.status in (400, 413)
    assert server.ask(
        "/api/runs/stories/trace", method="POST", Transfer_Encoding="chunked", Content_Length=""
    ).status in (400, 411)
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert server.ask("/api/runs", method=method).status == 405


@pytest.mark.parametrize(
    "path", ["/", "/api/runs", "/api/runs/stories", "/api/runs/stories/events", "/nothing"]
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Cookie": "somelab_token=wrong"},
        {"Authorization": TOKEN},
        {"Cookie": ";;="},
    ],
)
def test_without_the_token_nothing_is_shown(locked: Server, path: str, headers: dict[str, str]) -> None:
    answer = locked.ask(path, **headers)
    assert answer.status == 401
    assert is_one_line(answer)


def test_the_token_opens(locked: Server) -> None:
    assert locked.ask("/api/runs", Authorization=f"Bearer {TOKEN}").status == 200
    named = f"somelab_token_{locked.port}={TOKEN}"
    assert locked.ask("/api/runs", Cookie=f"other=1; {named}").status == 200
    other = locked.ask("/api/runs", Cookie=f"somelab_token_{locked.port + 1}={TOKEN}")
    assert other.status == 401  # a browser sends it, but it belongs to the server at the other port
    assert locked.ask(f"/api/runs?token={TOKEN}").status == 401  # in an address it is taken by the page alone
    assert locked.ask("/?token=wrong").status == 401
    opened = locked.ask(f"/?token={TOKEN}")
    assert (opened.status, opened.headers["location"]) == (303, "/")
    assert opened.headers["set-cookie"] == f"{named}; HttpOnly; SameSite=Strict; Path=/"
    assert opened.headers["referrer-policy"] == "no-referrer"
    linked = locked.ask(f"/?token={TOKEN}", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert linked.status == 200  # after a redirect a browser would send no strict cookie
    assert b'content="0;url=/"' in linked.body
    assert TOKEN.encode() not in linked.body


def test_beyond_loopback_addresses_in_numbers_and_own_names_are_let_in(locked: Server) -> None:
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert locked.ask("/api/runs", Host="192.168.1.5:8321", **known).status == 200
    assert locked.ask("/api/runs", Host="evil.example", **known).status == 403


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    from somelab.cli.models.serve import bound

    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(SomelabError, match="choose another --port"):
            bound("127.0.0.1", taken.getsockname()[1])


def test_there_is_a_token_unless_it_is_turned_off(
    monkeypatch: pytest.MonkeyPatch, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import uvicorn

    from somelab.cli.main import main

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    drawn: list[str] = []
    for flags in (["--host", "0.0.0.0"], [], []):
        assert main(["serve", str(runs), "--port", "0", *flags]) == 0
        drawn.append(capsys.readouterr().out.partition("?token=")[2].split()[0])
    assert [len(token) for token in drawn] == [32, 32, 32]
    assert len(set(drawn)) == 3
    assert main(["serve", str(runs), "--port", "0", "--no-token"]) == 0
    printed = capsys.readouterr()
    assert "token" not in printed.out
    assert printed.err.count("\n") == 1
    assert "every user of this machine" in printed.err


def test_the_browser_is_not_started_with_the_token(
    monkeypatch: pytest.MonkeyPatch, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every user of a machine sees the arguments of its processes."""
    import webbrowser

    import uvicorn

    from somelab.cli.main import main

    opened: list[str] = []

    def look(self: object, sockets: object) -> None:
        path = Path(urlsplit(opened[0]).path)
        assert path.parent.stat().st_mode & 0o077 == 0
        opened.append(path.read_text())

    monkeypatch.setattr(uvicorn.Server, "run", look)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["serve", str(runs), "--port", "0", "--open"]) == 0
    token = capsys.readouterr().out.partition("?token=")[2].split()[0]
    address, page = opened
    assert token not in address
    assert f"?token={token}" in page
    assert not Path(urlsplit(address).path).exists()


@pytest.mark.parametrize(
    "flags",
    [
        ["--port", "70000"],
        ["--token", "short"],
        ["--tokens", "-1"],
        ["--maps", "atlas"],
        ["--no-token", "--host", "0.0.0.0"],
        ["--no-token", "--token", "correcthorse"],
    ],
)
def test_bad_flags_are_told_in_one_line(
    runs: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from somelab.cli.main import main

    assert main(["serve", str(runs), *flags]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["serve", "no/such/folder"]) == 2
