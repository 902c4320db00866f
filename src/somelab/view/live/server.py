"""The live server: the same page as a report, and its few endpoints. Reads run folders, writes nothing.

GET /                          the page                    GET  /api/runs/{id}/galaxies?quick=1
GET /api/runs                  the list                    GET  /api/runs/{id}/guilds, /traces
GET /api/runs/{id}             a run without heavy parts   POST /api/runs/{id}/trace     continue a prompt
GET /api/runs/{id}/events      what is new, as it comes    GET  /api/compare?ids=a,b
GET /api/sweeps/{id}           a sweep with its curves     GET  /api/studies/{id}        a continual study
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from somelab.errors import SomelabError
from somelab.view.live.events import Channels, event_lines
from somelab.view.live.guard import MOST_BODY, Guard
from somelab.view.live.leaving import while_there
from somelab.view.live.listing import LiveList
from somelab.view.live.messages import Problem, TraceRequest
from somelab.view.live.models import Models
from somelab.view.live.opened import OpenedRuns
from somelab.view.live.policy import policy_of
from somelab.view.live.pools import Busy, Pool, TooLong
from somelab.view.live.table import RunTable, UnknownRun
from somelab.view.page.groups import page_with
from somelab.view.page.payload import UNREADABLE, not_a_run, one_line
from somelab.view.page.studies import study_of
from somelab.view.page.sweeps import sweep_of
from somelab.view.report import PLAYGROUND, static_page
from somelab.view.schema.page import Galaxy, LayerGuilds, Run, Trace

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    from somelab.view.page.heavy import Options

MOST_COMPARED = 24
MOST_WAITING_FOR_MODELS = 16
"""Prompts and studies. At some seconds each, the last of them waits a minute or two."""
SECONDS_OF_A_LIST = 1.0
SECONDS_FOR_A_LIST = 0.5
"""That a client waits for a new list, when there is an earlier one."""
SECONDS_OF_A_REQUEST = 10.0
Handler = Callable[["Request"], Awaitable["Response"]]


class Bad(SomelabError):
    """An invalid request."""


class Service:
    """The endpoints. Files, models and the making of answers are for threads: the event loop only waits."""

    def __init__(self, roots: Sequence[Path], options: Options) -> None:
        self.table = RunTable(roots)
        self.list = LiveList(self.table)
        self.opened = OpenedRuns()
        self.models = Models(options)
        self.channels = Channels()
        self.pools = {
            "list": Pool("the list of runs", threads=1, waiting=1, seconds=60),
            # Two: while one reads a long journal, another run can be opened.
            "reading": Pool("runs", threads=2, waiting=64, seconds=60),
            # One: models share the processor, and prompts take seconds each.
            "models": Pool("models", threads=1, waiting=MOST_WAITING_FOR_MODELS, seconds=600),
        }
        self._listed: tuple[float, bytes] | None = None
        self._listing: asyncio.Future[bytes] | None = None
        self.table.look()
        self._pages = {
            path: (content, policy_of(content))
            for path, content in (("/", static_page()), ("/playground", static_page(PLAYGROUND)))
        }

    async def page(self, request: Request) -> Response:
        """The page, or the playground."""
        from starlette.responses import HTMLResponse

        content, policy = self._pages[request.scope["path"]]
        return HTMLResponse(content, headers={"Content-Security-Policy": policy})

    async def runs(self, request: Request) -> Response:
        """Refreshed at most once a second. While a long look goes on, clients get the list before it."""
        if self._listing is None or self._listing.done():
            if self._listed is not None and time.monotonic() - self._listed[0] < SECONDS_OF_A_LIST:
                return _json(self._listed[1])
            self._listing = asyncio.ensure_future(self._look())
        wait = None if self._listed is None else SECONDS_FOR_A_LIST
        try:
            return _json(await asyncio.wait_for(asyncio.shield(self._listing), wait))
        except asyncio.TimeoutError:
            assert self._listed is not None
            return _json(self._listed[1])

    async def _look(self) -> bytes:
        found = await self.pools["list"].run(lambda: self.list.look().model_dump_json().encode())
        self._listed = (time.monotonic(), found)
        return found

    async def run(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]

        def read() -> bytes:
            return self._run(run_id).model_dump_json().encode()

        return await self._shared(request, "reading", ("run", run_id), read)

    def _run(self, run_id: str) -> Run:
        from somelab.runs import RunFolder

        entry = self.table.entry(run_id)
        if entry.problem is not None:
            return not_a_run(RunFolder(entry.path), run_id, "foreign", entry.problem)
        return self.opened.run(entry)

    async def galaxies(self, request: Request) -> Response:
        quick = request.query_params.get("quick") == "1"
        return await self._of_model(
            request, list[Galaxy], lambda folder: self.models.galaxies(folder, quick=quick), quick
        )

    async def guilds(self, request: Request) -> Response:
        return await self._of_model(request, list[LayerGuilds], self.models.guilds)

    async def traces(self, request: Request) -> Response:
        return await self._of_model(request, list[Trace], self.models.traces)

    async def _of_model(
        self, request: Request, kind: Any, make: Callable[[Path], Any], *variant: object
    ) -> Response:
        """Parts that need a model or all snapshots. Clients that wait for the same part share it."""
        run_id = request.path_params["run_id"]

        def made() -> bytes:
            return TypeAdapter(kind).dump_json(make(self.table.folder(run_id)))

        return await self._shared(request, "models", (run_id, str(kind), *variant), made)

    async def trace(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Bad("the request is not application/json")
        body = await body_of(request)
        try:
            wanted = TraceRequest.model_validate_json(body)
        except ValidationError as error:
            raise Bad(_first_problem(error)) from None
        run_id = request.path_params["run_id"]

        left = threading.Event()

        def made() -> bytes:
            folder = self.table.folder(run_id)
            return self.models.trace(folder, wanted, left.is_set).model_dump_json().encode()

        return _json(await while_there(request, self.pools["models"].run(made, left)))

    async def _shared(
        self, request: Request, pool: str, key: Hashable, work: Callable[[], bytes]
    ) -> Response:
        """An answer that clients who ask for the same share. It is not begun if all of them have left."""
        return _json(await while_there(request, self.pools[pool].shared(key, work)))

    async def compare(self, request: Request) -> Response:
        ids = [run_id for run_id in request.query_params.get("ids", "").split(",") if run_id]
        if not 0 < len(ids) <= MOST_COMPARED:
            raise Bad(f"ids names {len(ids)} runs; name 1 to {MOST_COMPARED}, separated by commas")
        asked = tuple(dict.fromkeys(ids))

        def read() -> bytes:
            entries = [self.table.readable(run_id) for run_id in asked]
            return page_with([self.opened.run(entry) for entry in entries]).model_dump_json().encode()

        return await self._shared(request, "reading", ("compare", asked), read)

    async def sweep(self, request: Request) -> Response:
        sweep_id = request.path_params["run_id"]

        def read() -> bytes:
            return (
                sweep_of(self.table.folder(sweep_id), sweep_id, self.table.id_of).model_dump_json().encode()
            )

        return await self._shared(request, "reading", ("sweep", sweep_id), read)

    async def study(self, request: Request) -> Response:
        study_id = request.path_params["run_id"]

        def read() -> bytes:
            return study_of(self.table.folder(study_id), study_id).model_dump_json().encode()

        return await self._shared(request, "reading", ("study", study_id), read)

    async def events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        after = request.headers.get("last-event-id") or request.query_params.get("after") or "-1"
        if not re.fullmatch(r"-?[0-9]{1,18}", after):
            raise Bad(f"after = {after[:40]!r}: is not a step")
        run_id = request.path_params["run_id"]
        entry = await self.pools["reading"].run(lambda: self.table.readable(run_id))
        lines = event_lines(self.channels.of(entry.path, inside=entry.root).listen(int(after)))
        return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def close(self) -> None:
        await self.channels.close()
        for pool in self.pools.values():
            pool.close()


def make_app(roots: Sequence[Path], options: Options, *, host: str, token: str | None) -> FastAPI:
    """The server as an ASGI application, guarded."""
    from fastapi import FastAPI
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect

    service = Service(roots, options)

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        await service.close()

    app = FastAPI(
        title="somelab",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    routes: tuple[tuple[str, Handler, str], ...] = (
        ("/", service.page, "GET"),
        ("/playground", service.page, "GET"),
        ("/api/runs", service.runs, "GET"),
        ("/api/compare", service.compare, "GET"),
        ("/api/sweeps/{run_id}", service.sweep, "GET"),
        ("/api/studies/{run_id}", service.study, "GET"),
        ("/api/runs/{run_id}", service.run, "GET"),
        ("/api/runs/{run_id}/galaxies", service.galaxies, "GET"),
        ("/api/runs/{run_id}/guilds", service.guilds, "GET"),
        ("/api/runs/{run_id}/traces", service.traces, "GET"),
        ("/api/runs/{run_id}/events", service.events, "GET"),
        ("/api/runs/{run_id}/trace", service.trace, "POST"),
    )
    for path, handler, method in routes:
        app.add_route(path, handler, methods=[method])
    for kind in (*UNREADABLE, HTTPException, ClientDisconnect, Exception):
        app.add_exception_handler(kind, _failed)
    app.state.service = service
    app.add_middleware(Guard, host=host, token=token)
    return app


async def _failed(request: Request, error: Exception) -> Response:
    """Every failure is one line of JSON; internal errors hide their details."""
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect

    if isinstance(error, HTTPException):
        return _problem(error.status_code, f"{request.scope['path'][:200]}: {error.detail}")
    if isinstance(error, ClientDisconnect):
        return _problem(400, "the client has left")  # nobody is there to read it
    if isinstance(error, Busy):
        return _problem(429, str(error), {"Retry-After": str(error.seconds)})
    if isinstance(error, TooLong):
        return _problem(503, str(error), {"Retry-After": "30"})
    if isinstance(error, UnknownRun):
        return _problem(404, str(error))
    if isinstance(error, SomelabError):
        return _problem(422, str(error))
    if isinstance(error, UNREADABLE):
        return _problem(422, one_line(error, "this run cannot be read"))
    return _problem(
        500, f"an error of somelab itself ({type(error).__name__}); see the terminal of `somelab serve`"
    )


async def body_of(request: Request) -> bytes:
    """The content of a request: bounded, and not waited for for ever."""

    async def read() -> bytes:
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > MOST_BODY:
                raise Bad(f"the request has more than {MOST_BODY:,} bytes")
        return content

    try:
        return await asyncio.wait_for(read(), SECONDS_OF_A_REQUEST)
    except asyncio.TimeoutError:
        raise Bad(f"the content of the request has not come within {SECONDS_OF_A_REQUEST:.0f} s") from None


def _problem(status: int, error: str, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    body = Problem(error=" ".join(error.split())).model_dump_json()
    return Response(body, status_code=status, media_type="application/json", headers=headers)


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    name = ".".join(str(part)[:40] for part in first["loc"][:3]) or "the request"
    # Shortened before it is written out: the value may be all of the request, nested as deeply as it can be.
    shown = repr(first.get("input"))[:80] if isinstance(first.get("input"), _SHORT) else "..."
    return f"{name} = {shown}: {first['msg']}"


_SHORT = (str, bytes, int, float, bool, type(None))


def _json(content: bytes) -> Response:
    from starlette.responses import Response

    return Response(content, media_type="application/json")
