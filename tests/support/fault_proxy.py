"""A proxy before a real object store that answers as a bad network would, and writes down what was asked.

Conditional creates meet the faults of `Fault` in turn; everything else meets errors that a client repeats by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import random
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET

from bench.proxies import forward, read_request, running
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
            request = await read_request(reader)
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
        answer = await forward(self.upstream, line, headers, body)
        method, target, _ = line.split(" ")
        status = int(answer.split(b" ", 2)[1]) if answer else 0
        self.passed.append(
            Passed(method, target.partition("?")[0], headers.get("range"), status, len(answer))
        )
        return answer


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
