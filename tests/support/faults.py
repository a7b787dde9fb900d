"""A store in memory and the faults that real ones have, to be combined: `FaultyStore(MemoryStore(), fault, ...)`.

A fault strikes the calls of one operation whose key matches, a given number of times, and decides whether the
call reaches the store and what its caller gets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indextables.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from indextables.storage import ExistsByHead, ObjectInfo
from indextables.storage.store import check_size

Call = Callable[[], Any]


class MemoryStore(ExistsByHead):
    """A plain dict; its clock is the number of writes so far."""

    def __init__(self, uri: str = "memory://test") -> None:
        self.uri = uri
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.writes = 0

    def get(self, key: str, limit: int | None = None) -> bytes:
        try:
            data = self.objects[key][0]
        except KeyError:
            raise ObjectNotFoundError(f"{self.uri}/{key} does not exist") from None
        check_size(f"{self.uri}/{key}", len(data), limit)
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self.get(key)[start : start + length]

    def head(self, key: str) -> ObjectInfo:
        return ObjectInfo(key, len(self.get(key)), self.objects[key][1])

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        for key in sorted(self.objects):
            if key.startswith(prefix and prefix.rstrip("/") + "/") and (
                start_after is None or key > start_after
            ):
                yield self.head(key)

    def create(self, key: str, data: bytes) -> None:
        if key in self.objects:
            raise ObjectExistsError(f"{self.uri}/{key} exists already")
        self.put(key, data)

    def put(self, key: str, data: bytes) -> None:
        self.writes += 1
        self.objects[key] = (data, self.writes)

    def put_file(self, key: str, source: Path) -> None:
        self.put(key, source.read_bytes())

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)

    def local_path(self, key: str) -> Path | None:
        return None


@dataclass
class Fault:
    """Strikes up to `times` calls of `operation` on keys that match, after letting `spare` of them pass."""

    operation: str
    strike: Callable[[Call], Any]
    key: str = ""
    times: int = 1
    spare: int = 0
    struck: int = field(default=0, init=False)

    def wants(self, operation: str, key: str) -> bool:
        if operation != self.operation or not re.search(self.key, key) or self.struck >= self.times:
            return False
        if self.spare:
            self.spare -= 1
            return False
        self.struck += 1
        return True


class FaultyStore(ExistsByHead):
    """Another store, seen through faults. The first fault that wants a call has it. Counts every call."""

    def __init__(self, inner: Any, *faults: Fault) -> None:
        self.inner = inner
        self.uri = inner.uri
        self.faults = list(faults)
        self.calls: list[tuple[str, str]] = []

    def _run(self, operation: str, key: str, call: Call) -> Any:
        self.calls.append((operation, key))
        fault = next((fault for fault in self.faults if fault.wants(operation, key)), None)
        return call() if fault is None else fault.strike(call)

    def get(self, key: str, limit: int | None = None) -> bytes:
        return self._run("get", key, lambda: self.inner.get(key, limit))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self._run("get_range", key, lambda: self.inner.get_range(key, start, length))

    def head(self, key: str) -> ObjectInfo:
        return self._run("head", key, lambda: self.inner.head(key))

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        return iter(self._run("list_from", prefix, lambda: list(self.inner.list_from(prefix, start_after))))

    def create(self, key: str, data: bytes) -> None:
        self._run("create", key, lambda: self.inner.create(key, data))

    def put(self, key: str, data: bytes) -> None:
        self._run("put", key, lambda: self.inner.put(key, data))

    def put_file(self, key: str, source: Path) -> None:
        self._run("put_file", key, lambda: self.inner.put_file(key, source))

    def delete(self, key: str) -> None:
        self._run("delete", key, lambda: self.inner.delete(key))

    def local_path(self, key: str) -> Path | None:
        return self.inner.local_path(key)


def fails(call: Call) -> Any:
    """The request never arrives."""
    raise StorageError("the connection was refused")


def loses_the_answer(call: Call) -> Any:
    """The request is carried out, and its caller gets an error."""
    call()
    raise StorageError("the connection was reset")


def repeats_itself(call: Call) -> Any:
    """The request is carried out, answered with an error, repeated by some layer between, and meets itself."""
    call()
    call()


def claims_it_exists(call: Call) -> Any:
    """A 409 for two requests at once, although neither is carried out."""
    raise ObjectExistsError("conflicting conditional request")


def after(first: Callable[[], Any]) -> Callable[[Call], Any]:
    """Something else happens first, such as another writer's commit."""

    def strike(call: Call) -> Any:
        first()
        return call()

    return strike


@dataclass
class Delayed:
    """Requests that time out on their caller and are still under way, until `deliver`."""

    pending: list[Call] = field(default_factory=list)

    def strike(self, call: Call) -> Any:
        self.pending.append(call)
        raise StorageError("the request timed out")

    def deliver(self) -> None:
        for call in self.pending:
            try:
                call()
            except ObjectExistsError:
                continue
        self.pending.clear()
