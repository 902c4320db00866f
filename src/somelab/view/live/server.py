"""The live server: the same page as a report, and its few endpoints. Reads run folders, writes nothing.

GET /                          the page                    GET  /api/runs/{id}/galaxies?quick=1
GET /api/runs                  the list                    GET  /api/runs/{id}/guilds, /traces
GET /api/runs/{id}             a run without heavy parts   POST /api/runs/{id}/trace     continue a prompt
GET /api/runs/{id}/events      what is new, as it comes    GET  /api/compare?ids=a,b
GET /api/sweeps/{id}           a sweep with its curves     GET  /api/studies/{id}        a continual study
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from somelab.errors import SomelabError
from somelab.view.live.events import Channels, event_lines
from somelab.view.live.guard import Guard
from somelab.view.live.listing import LiveList
from somelab.view.live.messages import Problem, RunList, TraceRequest
from somelab.view.live.models import Models
from somelab.view.live.table import RunTable, UnknownRun
from somelab.view.page.groups import page_with
from somelab.view.page.payload import UNREADABLE, not_a_run, one_line, run_of
from somelab.view.page.studies import study_of
from somelab.view.page.sweeps import sweep_of
from somelab.view.report import static_page
from somelab.view.schema.page import Galaxy, LayerGuilds, Trace

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    from somelab.view.page.heavy import Options

MOST_COMPARED = 24
SECONDS_OF_A_LIST = 1.0
Handler = Callable[["Request"], Awaitable["Response"]]


class Bad(SomelabError):
    """An invalid request."""


class Service:
    """The endpoints. File access and models run in threads."""

    def __init__(self, roots: Sequence[Path], options: Options) -> None:
        self.table = RunTable(roots)
        self.list = LiveList(self.table)
        self.models = Models(options)
        self.channels = Channels()
        self._listed: tuple[float, RunList] | None = None
        self.table.look()

    async def page(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        return HTMLResponse(static_page(), headers={"Content-Security-Policy": "frame-ancestors 'none'"})

    async def runs(self, request: Request) -> Response:
        """Refreshed at most once a second."""
        if self._listed is None or time.monotonic() - self._listed[0] > SECONDS_OF_A_LIST:
            self._listed = (time.monotonic(), await asyncio.to_thread(self.list.look))
        return _json(self._listed[1])

    async def run(self, request: Request) -> Response:
        return _json(await asyncio.to_thread(self._run, request.path_params["run_id"]))

    def _run(self, run_id: str) -> BaseModel:
        from somelab.runs import RunFolder

        entry = self.table.entry(run_id)
        if entry.problem is not None:
            return not_a_run(RunFolder(entry.path), run_id, "foreign", entry.problem)
        return run_of(entry.path, run_id)

    async def galaxies(self, request: Request) -> Response:
        folder, quick = self._folder(request), request.query_params.get("quick") == "1"
        found = await asyncio.to_thread(lambda: self.models.galaxies(folder, quick=quick))
        return _json_list(list[Galaxy], found)

    async def guilds(self, request: Request) -> Response:
        return _json_list(
            list[LayerGuilds], await asyncio.to_thread(self.models.guilds, self._folder(request))
        )

    async def traces(self, request: Request) -> Response:
        return _json_list(list[Trace], await asyncio.to_thread(self.models.traces, self._folder(request)))

    async def trace(self, request: Request) -> Response:
        folder = self._folder(request)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Bad("the request is not application/json")
        try:
            wanted = TraceRequest.model_validate_json(await request.body())
        except ValidationError as error:
            raise Bad(_first_problem(error)) from None
        return _json(await asyncio.to_thread(self.models.trace, folder, wanted))

    async def compare(self, request: Request) -> Response:
        ids = [run_id for run_id in request.query_params.get("ids", "").split(",") if run_id]
        if not 0 < len(ids) <= MOST_COMPARED:
            raise Bad(f"ids names {len(ids)} runs; name 1 to {MOST_COMPARED}, separated by commas")
        folders = [self.table.folder(run_id) for run_id in dict.fromkeys(ids)]
        runs = await asyncio.to_thread(
            lambda: [run_of(path, run_id) for path, run_id in zip(folders, dict.fromkeys(ids))]
        )
        return _json(page_with(runs))

    async def sweep(self, request: Request) -> Response:
        sweep_id = request.path_params["run_id"]
        return _json(await asyncio.to_thread(sweep_of, self._folder(request), sweep_id, self.table.id_of))

    async def study(self, request: Request) -> Response:
        return _json(await asyncio.to_thread(study_of, self._folder(request), request.path_params["run_id"]))

    async def events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        folder = self._folder(request)
        after = request.headers.get("last-event-id") or request.query_params.get("after") or "-1"
        if not after.lstrip("-").isdecimal():
            raise Bad(f"after = {after!r}: is not a step")
        lines = event_lines(self.channels.of(folder).listen(int(after)))
        return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    def _folder(self, request: Request) -> Path:
        return self.table.folder(request.path_params["run_id"])


def make_app(roots: Sequence[Path], options: Options, *, host: str, token: str | None) -> FastAPI:
    """The server as an ASGI application, guarded."""
    from fastapi import FastAPI
    from starlette.exceptions import HTTPException

    service = Service(roots, options)

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        await service.channels.close()

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
    for kind in (*UNREADABLE, HTTPException, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_middleware(Guard, host=host, token=token)
    return app


async def _failed(request: Request, error: Exception) -> Response:
    """Every failure is one line of JSON; internal errors hide their details."""
    from starlette.exceptions import HTTPException

    if isinstance(error, HTTPException):
        return _problem(error.status_code, f"{request.url.path}: {error.detail}")
    if isinstance(error, UnknownRun):
        return _problem(404, str(error))
    if isinstance(error, SomelabError):
        return _problem(422, str(error))
    if isinstance(error, UNREADABLE):
        return _problem(422, one_line(error, "this run cannot be read"))
    return _problem(
        500, f"an error of somelab itself ({type(error).__name__}); see the terminal of `somelab serve`"
    )


def _problem(status: int, error: str) -> Response:
    from starlette.responses import Response

    body = Problem(error=" ".join(error.split())).model_dump_json()
    return Response(body, status_code=status, media_type="application/json")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "the request"
    return f"{name} = {json.dumps(first.get('input'), default=str)[:80]}: {first['msg']}"


def _json(content: BaseModel) -> Response:
    from starlette.responses import Response

    return Response(content.model_dump_json(), media_type="application/json")


def _json_list(kind: Any, content: list[Any]) -> Response:
    from starlette.responses import Response

    return Response(TypeAdapter(kind).dump_json(content), media_type="application/json")
