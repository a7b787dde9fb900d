"""The interface of a store: the few operations from which a table is built.

Keys are `/`-separated, relative to the root of the store, and taken literally: no percent-decoding, no `..`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError

LOG_DIRECTORY: Final = "_transaction_log"
"""The directory of a table's transaction log. Stores know it, as they are probed there before the first commit."""

MAX_WHOLE_BYTES: Final = 1 << 30
"""The limit of `Store.get`. Objects that are read as a whole (version files, states, manifests) are far smaller."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object of a listing; `modified_ms` is by the store's clock, in milliseconds since 1970."""

    key: str
    size: int
    modified_ms: int


class Store(Protocol):
    """A directory of objects. Every failure is a StorageError that names the object and holds no secret."""

    @property
    def uri(self) -> str:
        """Return the canonical address of the root, without credentials."""

    def get(self, key: str, limit: int | None = None) -> bytes:
        """Return the whole object. ObjectNotFoundError if it does not exist.

        CorruptTableError, before it is read, if it has more than `limit` bytes, or than `MAX_WHOLE_BYTES` without one.
        """

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes from `start`. StorageError if the object ends before."""

    def head(self, key: str) -> ObjectInfo:
        """Return the size and time of the object. ObjectNotFoundError if it does not exist."""

    def exists(self, key: str) -> bool:
        """Return True if there is an object. IrregularFileError if it is a link, a pipe or a device."""

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        """Yield the objects below directory `prefix` ("" = all), at any depth, sorted by key, after `start_after`."""

    def create(self, key: str, data: bytes) -> None:
        """Write the object if it does not exist, wholly or not at all, durable before the call returns.

        ObjectExistsError if it exists. The request is sent once and never repeated by the client: a repeated create
        could find the object of its own first request, and report it as another writer's.
        """

    def put(self, key: str, data: bytes) -> None:
        """Write or replace the object, wholly or not at all."""

    def put_file(self, key: str, source: Path) -> None:
        """Write or replace the object from a local file, which may be gone afterwards: a local store moves it."""

    def delete(self, key: str) -> None:
        """Remove the object, if it exists."""

    def local_path(self, key: str) -> Path | None:
        """Return the path of the object on this machine's disk, or None for a store that is elsewhere."""


class ExistsByHead:
    """`Store.exists` in terms of `Store.head`, for every store that has no cheaper way."""

    def exists(self: Store, key: str) -> bool:
        """Return True if there is an object."""
        try:
            self.head(key)
        except ObjectNotFoundError:
            return False
        return True


def check_size(name: str, size: int, limit: int | None) -> int:
    """Return the size of an object that is about to be read. CorruptTableError if it is over the limit.

    >>> check_size("/data/logs/_last_checkpoint", 9, limit=8)
    Traceback (most recent call last):
        ...
    indextables.errors.CorruptTableError: /data/logs/_last_checkpoint has 9 bytes or more; at most 8 are read
    """
    limit = MAX_WHOLE_BYTES if limit is None else limit
    if size > limit:
        raise CorruptTableError(f"{name} has {size} bytes or more; at most {limit} are read")
    return size


def check_key(uri: str, key: str) -> str:
    """Return the key if it names an object below the root; a hostile log may hold others.

    >>> check_key("/data/logs", "../../etc/passwd")
    Traceback (most recent call last):
        ...
    indextables.errors.StorageError: '../../etc/passwd' is not a key below /data/logs
    """
    if "\0" in key or not all(part not in ("", ".", "..") for part in key.split("/")):
        raise StorageError(f"{key!r} is not a key below {uri}")
    return key
