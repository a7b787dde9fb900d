"""The server: a socket on the loopback, the URL with its token, and the browser."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import uvicorn

from indextables.errors import InputError, StorageError
from indextables.table import Table
from indextables.ui.app import make_app
from indextables.ui.guard import Access

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True)
class Address:
    """Where the server listens, and the URL that admits a browser."""

    socket: socket.socket
    access: Access

    @property
    def url(self) -> str:
        """The URL with the token."""
        return f"http://{self.access.hosts[0]}:{self.access.port}/?token={self.access.token}"


def listen(host: str = LOOPBACK, port: int = 0, *, write: bool = False, trusted: bool = False) -> Address:
    """Bind the socket: port 0 is a free one. InputError for another host than the loopback unless `trusted`.

    >>> with listen().socket as bound:
    ...     bound.getsockname()[0]
    '127.0.0.1'
    """
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not trusted:
        raise InputError(
            f"the host {host!r} is not this machine's loopback: everyone on the network could try to read the tables, "
            "without encryption. From another machine use ssh -L PORT:127.0.0.1:PORT, or add --i-know"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen()  # from here on a browser may connect; it waits until the server runs
    except OSError as reason:
        bound.close()
        raise StorageError(f"port {port} of {host} cannot be used: {reason.strerror}") from None
    number = bound.getsockname()[1]
    if loopback:
        return Address(bound, Access(number, write=write))
    return Address(bound, Access(number, write=write, hosts=(host,)))


def serve(
    tables: Sequence[Table],
    address: Address,
    *,
    browser: bool = False,
    ready: Callable[[str], object] = lambda _: None,
) -> None:
    """Answer requests until an interrupt."""
    numbered = {str(number): table for number, table in enumerate(tables)}
    app = make_app(numbered, address.access)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        limit_concurrency=64,
    )
    server = uvicorn.Server(config)
    ready(address.url)
    if browser:
        webbrowser.open(address.url)
    asyncio.run(server.serve(sockets=[address.socket]))
