"""A proxy before a real object store that answers as a bad network would, and writes down what was asked.

It hands on the request byte for byte but for `Connection`, so signatures over Host and the other headers hold. One
connection serves one request. Conditional creates meet the faults of `Fault` in turn; everything else meets errors
that a client repeats by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import random
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET

from bench.servers import Server


class Fault(enum.Enum):
    """What can happen to a conditional create."""

    LOST_ANSWER = "carried out, and the connection is reset before the answer"
    ERROR_AFTER = "carried out, and answered with 500"
    UNAVAILABLE_AFTER = "carried out, and answered with 503"
    CONFLICT = "answered with 409 for two requests at once, and not carried out"
    RESET_BEFORE = "the connection is reset, and nothing is carried out"
    HALF_ANSWER = "carried out, and the answer breaks off"
    LATENCY = "carried out late"


@dataclass(frozen=True)
class Passed:
    """One request: `range` is its Range header, `size` how many bytes the answer had in all."""

    method: str
    path: str
    range: str | None
    status: int
    size: int


@dataclass
class FaultProxy:
    """Every second conditional create is struck, by a fault from a shuffled deck of them: a few strikes meet all.

    Of the other requests, one in `spared` is answered with 503 before it is handed on. `faults=()` only watches.
    """

    upstream: str
    seed: int = 0
    faults: tuple[Fault, ...] = tuple(Fault)
    spared: int = 20
    struck: Counter[Fault] = field(default_factory=Counter)
    passed: list[Passed] = field(default_factory=list)
    address: str = ""

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._deck: list[Fault] = []
        self._creates = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _message(reader)
            if request is not None:
                await self._answer(*request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # a client that went away needs no answer
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(
        self, line: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        fault = self._fault(headers)
        if fault is Fault.RESET_BEFORE:
            return _reset(writer)
        if fault is Fault.CONFLICT:
            return _reply(writer, 409, "ConditionalRequestConflict")
        if fault is None and self.faults and self._rng.randrange(self.spared) == 0:
            return _reply(writer, 503, "SlowDown")
        if fault is Fault.LATENCY:
            await asyncio.sleep(self._rng.uniform(0.05, 0.3))
        answer = await self._forward(line, headers, body)
        if fault is Fault.LOST_ANSWER:
            return _reset(writer)
        if fault is Fault.ERROR_AFTER:
            return _reply(writer, 500, "InternalError")
        if fault is Fault.UNAVAILABLE_AFTER:
            return _reply(writer, 503, "SlowDown")
        writer.write(answer[:20] if fault is Fault.HALF_ANSWER else answer)
        return await writer.drain()

    def _fault(self, headers: dict[str, str]) -> Fault | None:
        if not self.faults or headers.get("if-none-match") != "*":
            return None
        self._creates += 1
        if self._creates % 2:
            return None
        if not self._deck:
            self._deck = self._rng.sample(self.faults, len(self.faults))
        fault = self._deck.pop()
        self.struck[fault] += 1
        return fault

    async def _forward(self, line: str, headers: dict[str, str], body: bytes) -> bytes:
        host, _, port = self.upstream.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            lines = [line, *(f"{name}: {value}" for name, value in headers.items()), "connection: close"]
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            await writer.drain()
            answer = await reader.read()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        method, target, _ = line.split(" ")
        status = int(answer.split(b" ", 2)[1]) if answer else 0
        self.passed.append(
            Passed(method, target.partition("?")[0], headers.get("range"), status, len(answer))
        )
        return answer


@contextlib.contextmanager
def running(proxy: FaultProxy) -> Iterator[FaultProxy]:
    """Serves in a thread of its own until the end of the block, at `proxy.address`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fault proxy")
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


async def _message(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    """Request line, headers by lower-case name without `connection`, and body; None when the client only came by."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as broken:
        if broken.partial:
            raise
        return None
    line, *rest = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in rest)}
    headers.pop("connection", None)
    assert "transfer-encoding" not in headers, "obstore sends bodies of a known length"
    return line, headers, await reader.readexactly(int(headers.get("content-length", "0")))


def _reset(writer: asyncio.StreamWriter) -> None:
    # Lingering for no time makes the kernel send a reset instead of a farewell.
    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _reply(writer: asyncio.StreamWriter, status: int, code: str) -> None:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>"
    writer.write(
        f"HTTP/1.1 {status} Injected\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n"
        f"Connection: close\r\n\r\n{body}".encode()
    )


@contextlib.contextmanager
def bad_network(server: Server) -> Iterator[Server]:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    with running(FaultProxy(server.address, seed=seed)) as proxy:
        yield server.through(proxy.address)
    print("struck", {fault.name: count for fault, count in proxy.struck.items()})
    assert set(proxy.struck) == set(Fault), "every kind of fault was met"
