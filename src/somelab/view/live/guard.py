"""Access control: a check before every request, so that other sites, machines and users cannot read anything.

Only requests that name this machine are answered (a foreign name that resolves to it is DNS rebinding), and
only those that have the token: in the address of the first visit, then in a cookie, or in the Authorization
header. It is compared in constant time."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from somelab.view.live.messages import Problem
from somelab.view.live.policy import NOTHING

COOKIE = "somelab_token"
MOST_BODY = 64_000  # bytes of a request; a prompt is at most 4,000 characters
HEADERS = {
    b"content-security-policy": NOTHING.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
ONCE = (b"host", b"origin", b"content-length", b"authorization")
"""Headers that must not be given twice: two readers could each believe another one."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI: passes a request on, or responds with a one-line error."""

    def __init__(self, app: App, host: str, token: str | None) -> None:
        self.app, self.token = app, token
        self.names = {"localhost", host.lower()}
        if not is_loopback(host):
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        given = self._token_in_address(scope)
        if refused := self._refusal(scope, headers, given):
            await respond(send, *refused)
        elif given is not None:
            await send_cookie(send, cookie_of(headers), given, from_elsewhere=_is_from_elsewhere(headers))
        else:
            await self.app(scope, receive, guarded(send))

    def _refusal(
        self, scope: MutableMapping[str, Any], headers: dict[str, str], given: str | None
    ) -> tuple[int, str] | None:
        names = [name.lower() for name, _ in scope["headers"]]
        if twice := next((name for name in ONCE if names.count(name) > 1), None):
            return 400, f"the header {twice.decode()} is given twice"
        if not scope.get("query_string", b"").isascii():
            return 400, "the address holds bytes that are no characters of addresses"
        if not self._is_our_name(headers.get("host", "")):
            return 403, "this name is not the server's; open the address that `somelab serve` printed"
        if not self._is_our_page(headers):
            return 403, "requests of other sites are refused"
        if self.token is not None and not self._is_known(headers, given):
            return 401, "a token is needed; open the address that `somelab serve` printed"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, f"{scope['method']} is not understood here"
        if scope["method"] == "POST":
            length = headers.get("content-length", "")
            if not (length.isascii() and length.isdecimal()):
                return 411, "the request has no length"
            if len(length) > 15 or int(length) > MOST_BODY:
                return 413, f"the request is too long; at most {MOST_BODY:,} bytes are read"
        return None

    def _is_our_name(self, host: str) -> bool:
        """A numeric address cannot be rebound; of names only our own are accepted."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self.token is not None

    def _is_our_page(self, headers: dict[str, str]) -> bool:
        """Browsers send the origin of a request. Other clients do not, and need only the token."""
        origin = headers.get("origin")
        host = headers.get("host", "").lower()
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return False
        # A link in a mail or on another page may open the page ("navigate"); everything else must come from
        # the page itself.
        site = headers.get("sec-fetch-site", "none")
        return site in ("none", "same-origin") or headers.get("sec-fetch-mode") == "navigate"

    def _token_in_address(self, scope: MutableMapping[str, Any]) -> str | None:
        if self.token is None or scope["path"] != "/" or scope["method"] != "GET":
            return None
        values = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
        return values[0] if values else None

    def _is_known(self, headers: dict[str, str], given: str | None) -> bool:
        assert self.token is not None
        candidates = [given]
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            candidates.append(value.strip())
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(cookie_of(headers))
            candidates.append(cookie.value if cookie else None)
        except CookieError:
            pass
        return any(
            hmac.compare_digest(text.encode(), self.token.encode()) for text in candidates if text is not None
        )


def cookie_of(headers: dict[str, str]) -> str:
    """The name of the cookie. Browsers send the cookies of a machine to all its ports: with the port in it,
    two servers do not take each other's."""
    _, colon, port = headers.get("host", "").rpartition(":")
    return f"{COOKIE}_{port if colon and port.isascii() and port.isdecimal() else '80'}"


def _is_from_elsewhere(headers: dict[str, str]) -> bool:
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def guarded(send: Send) -> Send:
    """Adds the headers that keep browsers from guessing types, framing the page, or keeping its data."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            named = {name.lower() for name, _ in message.get("headers", ())}
            message["headers"] = [
                *message.get("headers", ()),
                *((n, v) for n, v in HEADERS.items() if n not in named),
            ]
        await send(message)

    return sending


async def respond(send: Send, status: int, error: str) -> None:
    """One line of JSON."""
    body = Problem(error=error).model_dump_json().encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await guarded(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_cookie(send: Send, name: str, token: str, *, from_elsewhere: bool) -> None:
    """The token goes from the address into a cookie, so that it is in no history and no link that is passed
    on. `from_elsewhere`: a link on another page led here. A browser then sends no strict cookie after a
    redirect, but does when a page of ours goes on by itself."""
    cookie = f"{name}={token}; HttpOnly; SameSite=Strict; Path=/"
    body = GO_ON if from_elsewhere else b""
    headers = [(b"set-cookie", cookie.encode()), (b"content-length", str(len(body)).encode())]
    headers.append((b"content-type", b"text/html; charset=utf-8") if from_elsewhere else (b"location", b"/"))
    status = 200 if from_elsewhere else 303
    await guarded(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


GO_ON = b'<!doctype html><title>somelab</title><meta http-equiv="refresh" content="0;url=/">'
