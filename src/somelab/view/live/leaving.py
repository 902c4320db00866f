"""Clients that leave before they are answered: what was begun for them alone is not worth going on with."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from starlette.requests import Request

Value = TypeVar("Value")


async def while_there(request: Request, answer: Coroutine[Any, Any, Value]) -> Value:
    """Wait for an answer as long as the client does. If it leaves, the answer is cancelled, and
    ClientDisconnect raised. The content of the request must have been read before."""
    from starlette.requests import ClientDisconnect

    working, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
