"""Who may ask: an ASGI layer in front of every route.

The server binds to the loopback, yet every page that the user's browser shows can send requests there. So a request
needs the cookie, which the browser gets once for the token in the URL that the terminal printed; it must name this host
(a foreign name that resolves to 127.0.0.1 is refused); and it must not come from another site. Requests that change
something need `--write`, the origin of this page, and a second token in a header, which only this page can read.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_BYTES: Final = 24
WRITE_HEADER: Final = "x-indextables-write"
_READING: Final = ("GET", "HEAD")
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def _token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class Access:
    """The secrets of one server: the token of the URL, that of the cookie, and that of requests that write."""

    port: int
    write: bool = False
    token: str = field(default_factory=_token, repr=False)
    session: str = field(default_factory=_token, repr=False)
    write_token: str = field(default_factory=_token, repr=False)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")

    @property
    def cookie(self) -> str:
        """The name of the cookie, by port: browsers share cookies between the ports of a host."""
        return f"indextables-{self.port}"

    @property
    def authorities(self) -> Iterable[str]:
        """What the header Host may be."""
        return [f"{host}:{self.port}" for host in self.hosts]


class Guard:
    """Answers requests that are not allowed; passes the others on, with the headers that confine the page."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is never accepted

        async def send_confined(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(Request(scope))
        await (answer or self._app)(scope, receive, send_confined)

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that goes no further, or None."""
        access, headers = self._access, request.headers
        if headers.get("host", "").lower() not in access.authorities:
            return _refuse(403, "the name of this host is not one that the server answers to")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") or self._is_foreign(headers):
            return _refuse(403, "a request of another site")
        if request.method not in _READING and not (access.write and request.method == "POST"):
            return _refuse(405, "the server is read-only; start it with --write")
        token = request.query_params.get("token")
        if token is not None and request.url.path == "/" and _equal(token, access.token):
            return self._admit()
        if not _equal(request.cookies.get(access.cookie, ""), access.session):
            return _refuse(401, "open the URL that `indextables ui` printed: it has the token")
        if request.method == "POST" and not (
            "origin" in headers and _equal(headers.get(WRITE_HEADER, ""), access.write_token)
        ):
            return _refuse(403, "a request that writes must come from the page of this server")
        return None

    def _is_foreign(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        return origin is not None and origin.lower() not in [
            f"http://{name}" for name in self._access.authorities
        ]

    def _admit(self) -> Response:
        """Exchange the token for the cookie, and take it out of the URL."""
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(
            self._access.cookie, self._access.session, httponly=True, samesite="strict", path="/"
        )
        return answer


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _refuse(status: int, reason: str) -> Response:
    return PlainTextResponse(f"{reason}\n", status_code=status)
