"""somelab serve: the page about runs, live, on this machine."""

from __future__ import annotations

import contextlib
import html
import socket
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from somelab.errors import ConfigError, SomelabError

if TYPE_CHECKING:
    from somelab.view.page.heavy import Options

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 900
"""At once, below the 1,024 open files that a process may often have; more are told to come back."""


@dataclass(frozen=True)
class Arguments:
    """Show runs in a browser while they train: curves that grow, key maps, guilds, traces of prompts that you
    type. The printed address holds a token, without which nothing is shown. Other machines see it only with
    --host."""

    runs: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUNS ...", help_behavior_hint="")
    ] = ()
    """Folders of runs, sweeps and continual studies, or folders that hold some. Without any: the folder
    `runs`."""
    host: str = LOOPBACK
    """The address to listen at; 0.0.0.0 for all of this machine's."""
    port: int = 8321
    """The port; 0 takes any free one."""
    token: Annotated[str | None, tyro.conf.arg(metavar="TOKEN", help_behavior_hint="")] = None
    """The access token; without this, a new random one at every start. Other users of the machine see what is
    typed here in the list of processes."""
    no_token: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Ask for no token: every user of this machine can read the runs. On loopback only."""
    maps: Annotated[str, tyro.conf.arg(metavar="LIST")] = "pca,tsne"
    """Which maps of the keys: pca, tsne, umap (slow, and prompts wait for it); runs in progress get pca
    alone."""
    tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """Tokens of its own validation text that a model reads for words and guilds; 0: no text outside the run
    folder is read."""
    open: bool = False
    """Open the page in the browser."""


def run(arguments: Arguments) -> None:
    check_installed("serve")
    if not 0 <= arguments.port <= 65535:
        raise ConfigError("--port", arguments.port, "is not a port", "choose 0 to 65535")
    if arguments.token is not None and not (
        arguments.token.isascii() and arguments.token.isalnum() and len(arguments.token) >= 8
    ):
        raise ConfigError(
            "--token",
            arguments.token,
            "is short or has odd characters",
            "choose 8 or more letters and digits",
        )
    if arguments.no_token:
        _check_no_token(arguments)
    if arguments.tokens < 0:
        raise ConfigError("--tokens", arguments.tokens, "is less than 0", "choose 0 or more")
    from somelab.analysis.maps import parse_methods
    from somelab.view.page.heavy import Options

    options = Options(maps=parse_methods(arguments.maps), tokens=arguments.tokens)
    roots = arguments.runs or (Path("runs"),)
    if arguments.runs and (missing := [root for root in roots if not root.is_dir()]):
        raise SomelabError(f"{missing[0]}: there is no such folder; name a run, or a folder of runs")
    serve(roots, options, arguments)


def check_installed(verb: str) -> None:
    """Raise where the packages of a server are missing."""
    from importlib.util import find_spec

    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise SomelabError(f"`somelab {verb}` needs fastapi and uvicorn; pip install 'somelab[view]'")


def _check_no_token(arguments: Arguments) -> None:
    from somelab.view.live.guard import is_loopback

    if arguments.token is not None:
        raise ConfigError("--no-token", True, "--token gives one", "leave one of the two out")
    if not is_loopback(arguments.host):
        raise ConfigError("--no-token", True, f"{arguments.host} is open to other machines", "leave it out")


def serve(roots: tuple[Path, ...], options: Options, arguments: Arguments, view: str = "") -> None:
    """Listen until interrupted. `view`: what the address opens, such as `galaxies/a1`; empty: overview."""
    import secrets
    import webbrowser

    import uvicorn

    from somelab.view.live.server import make_app

    token = None if arguments.no_token else arguments.token or secrets.token_hex(16)
    app = make_app(roots, options, host=arguments.host, token=token)
    listening = bound(arguments.host, arguments.port)
    listening.listen(2048)  # before the address is printed: who opens it at once waits instead of failing
    address = address_of(arguments.host, listening.getsockname()[1], token) + (f"#/{view}" if view else "")
    print(f"somelab serves {', '.join(str(root) for root in roots)} at {address}", flush=True)
    if token is None:
        print("Without a token every user of this machine can read these runs.", file=sys.stderr, flush=True)
    print("Ctrl-C ends it.", flush=True)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
    )
    with listening, contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        if arguments.open:
            webbrowser.open(stack.enter_context(opening_page(address)))
        uvicorn.Server(config).run(sockets=[listening])  # until Ctrl-C, the usual way to end


@contextlib.contextmanager
def opening_page(address: str) -> Generator[str]:
    """A file that leads to the address. It is what the browser is started with: other users see the arguments
    of a process, and the token must not be among them."""
    with tempfile.TemporaryDirectory(prefix="somelab-") as folder:  # for this user alone
        path = Path(folder) / "open.html"
        path.write_text(
            f'<!doctype html><meta name="referrer" content="no-referrer"><title>somelab</title>'
            f'<meta http-equiv="refresh" content="0;url={html.escape(address)}">'
            f'<a href="{html.escape(address)}">somelab</a>\n',
            encoding="utf-8",
        )
        yield path.as_uri()


def bound(host: str, port: int) -> socket.socket:
    """A listening socket, or a one-line error."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError as error:
        raise SomelabError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --port, or 0 for any"
        ) from None
    return made


def address_of(host: str, port: int, token: str | None) -> str:
    """The URL to open. For all addresses (0.0.0.0) the machine's name is used."""
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
