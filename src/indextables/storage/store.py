"""What a store offers: the few operations from which a table is built.

Keys are `/`-separated, relative to the root of the store, and taken literally: no percent-decoding, no `..`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from indextables.errors import CorruptTableError, StorageError

MAX_WHOLE_BYTES: Final = 1 << 30
"""What is read as a whole (version files, states, manifests) is far smaller. A larger object is not what it seems."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object of a listing; `modified_ms` is the store's clock, in milliseconds since 1970."""

    key: str
    size: int
    modified_ms: int


class Store(Protocol):
    """A directory of objects. Every failure is a StorageError that names the object and holds no secret."""

    @property
    def uri(self) -> str:
        """The canonical address of the root, without credentials."""

    def get(self, key: str, limit: int | None = None) -> bytes:
        """The whole object. ObjectNotFoundError when there is none.

        CorruptTableError, before it is read, if it has more than `limit` bytes, or than `MAX_WHOLE_BYTES` without one.
        """

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Exactly `length` bytes from `start`; an object too short for that is a StorageError."""

    def head(self, key: str) -> ObjectInfo:
        """What a listing would say of the object. ObjectNotFoundError when there is none."""

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        """The objects below directory `prefix` ("" = all), at any depth, sorted by key, after `start_after`."""

    def create(self, key: str, data: bytes) -> None:
        """Write the object if it is absent, wholly or not at all, durable before the call returns.

        ObjectExistsError when it is there. The request is sent once and never repeated behind the caller's
        back: a repeated create would meet its own first success and call it somebody else's.
        """

    def put(self, key: str, data: bytes) -> None:
        """Write or replace the object, wholly or not at all."""

    def put_file(self, key: str, source: Path) -> None:
        """As `put`, from a local file, which may be gone afterwards: a local store moves it."""

    def delete(self, key: str) -> None:
        """Remove the object; an absent one is fine."""

    def local_path(self, key: str) -> Path | None:
        """Where the object lies on this machine's disk, or None for stores that are elsewhere."""


def check_size(name: str, size: int, limit: int | None) -> int:
    """Return the size of an object that is about to be read, unless it is larger than any honest one of its kind.

    >>> check_size("/data/logs/_last_checkpoint", 9, limit=8)
    Traceback (most recent call last):
        ...
    indextables.errors.CorruptTableError: /data/logs/_last_checkpoint has 9 bytes or more, and up to 8 are read
    """
    limit = MAX_WHOLE_BYTES if limit is None else limit
    if size > limit:
        raise CorruptTableError(f"{name} has {size} bytes or more, and up to {limit} are read")
    return size


def check_key(uri: str, key: str) -> str:
    """The key itself, if it names an object below the root; hostile logs try others.

    >>> check_key("/data/logs", "../../etc/passwd")
    Traceback (most recent call last):
        ...
    indextables.errors.StorageError: '../../etc/passwd' is not a key below /data/logs
    """
    if "\0" in key or not all(part not in ("", ".", "..") for part in key.split("/")):
        raise StorageError(f"{key!r} is not a key below {uri}")
    return key
