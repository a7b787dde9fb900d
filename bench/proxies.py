"""Proxies before an object store on this machine. A proxy serves one request a connection, and keeps a record of it.

Requests are passed on byte for byte but for `Connection`, so that signatures over Host and the other headers hold.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar


class Proxy(Protocol):
    """Serves connections at `address`, which `running` sets."""

    address: str

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...


AnyProxy = TypeVar("AnyProxy", bound=Proxy)


@dataclass(frozen=True)
class Exchange:
    """One request that was answered: when it arrived and when its answer was sent, in seconds."""

    method: str
    target: str
    start: float
    end: float
    answer_bytes: int


@dataclass
class SlowProxy:
    """Answers each request `delay` seconds late, as a store in another place would."""

    upstream: str
    delay: float
    exchanges: list[Exchange] = field(default_factory=list)
    address: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await read_request(reader)
            if request is None:
                return
            start = time.perf_counter()
            await asyncio.sleep(self.delay)
            answer = await forward(self.upstream, *request)
            method, target, _ = request[0].split(" ")
            # Recorded before it is sent: a client that has its answer may look at the record at once.
            self.exchanges.append(Exchange(method, target, start, time.perf_counter(), len(answer)))
            writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # a client that went away needs no answer, nor does one whose proxy is stopping
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):  # as above
                await writer.wait_closed()


def rounds(exchanges: Sequence[Exchange]) -> int:
    """Return how many of the requests were waited for one after the other: the longest chain without an overlap.

    >>> at = [Exchange("GET", "/", *times, 0) for times in ((0.0, 0.3), (0.1, 0.4), (0.5, 0.8))]
    >>> rounds(at)
    2
    """
    count, free_at = 0, float("-inf")
    for exchange in sorted(exchanges, key=lambda exchange: exchange.end):
        if exchange.start >= free_at:
            count, free_at = count + 1, exchange.end
    return count


@contextlib.contextmanager
def running(proxy: AnyProxy) -> Iterator[AnyProxy]:
    """Serve in a thread until the end of the block, at `proxy.address`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy")
    thread.start()

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(proxy.serve, "127.0.0.1", 0)

    async def drain(server: asyncio.Server) -> None:
        server.close()
        await server.wait_closed()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    try:
        server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
        host, port = server.sockets[0].getsockname()
        proxy.address = f"{host}:{port}"
        try:
            yield proxy
        finally:
            asyncio.run_coroutine_threadsafe(drain(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    """Return the request line, the headers by lower-case name without `connection`, and the body.

    None if the client closed the connection without a request.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as broken:
        if broken.partial:
            raise
        return None
    line, *rest = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in rest)}
    headers.pop("connection", None)
    if "transfer-encoding" in headers:
        raise ValueError("obstore sends bodies of a known length")
    return line, headers, await reader.readexactly(int(headers.get("content-length", "0")))


async def forward(upstream: str, line: str, headers: dict[str, str], body: bytes) -> bytes:
    """Send a request to the store at `upstream`, and return its answer."""
    host, _, port = upstream.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        lines = [line, *(f"{name}: {value}" for name, value in headers.items()), "connection: close"]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
