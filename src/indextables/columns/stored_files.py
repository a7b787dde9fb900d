"""A file of a dataset as something that is read by ranges, wherever it lies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.columns.seals import Tail
from indextables.config import Settings
from indextables.errors import (
    CorruptTableError,
    IndexTablesError,
    InputError,
    ObjectNotFoundError,
    StorageError,
)
from indextables.runtime import ForkSafeLock
from indextables.storage import Store, open_store

FILE_SIZE: Final = "file_size"
FOOTER_SIZE: Final = "footer_size"
"""Properties of a file in a manifest, both in bytes, that save a reader a request."""

_DECODING_ERRORS: Final = (
    pa.ArrowException,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)
"""What decoders of Parquet, Arrow and Vortex raise for bytes that they cannot make sense of."""

_PANIC: Final = "PanicException"
"""A panic in Rust as Python sees it: an exception that derives from BaseException, in a module that has no name."""


@dataclass(frozen=True)
class StoredFile:
    """One file: its address, and the object of a store that it is. `tail` is what the manifest says of its end."""

    path: str
    store: Store
    key: str
    size: int
    tail: Tail | None = None

    def range(self, start: int, length: int) -> bytes:
        try:
            return self.store.get_range(self.key, start, length)
        except ObjectNotFoundError:
            raise _missing(self.path) from None
        except StorageError:
            actual = self.store.head(self.key).size
            if actual == self.size:
                raise
            raise self.damaged(f"it has {actual} bytes and had {self.size}") from None

    def read_tail(self) -> bytes | None:
        """Return the end of the file, checked; None for a file of which the manifest has no checksum."""
        if self.tail is None:
            return None
        if self.tail.length > self.size:
            raise self.damaged(f"it has {self.size} bytes and its tail alone has {self.tail.length}")
        data = self.range(self.size - self.tail.length, self.tail.length)
        if not self.tail.is_whole(data):
            raise self.damaged("the checksum of its footer is wrong")
        return data

    def damaged(self, reason: object) -> CorruptTableError:
        return CorruptTableError(f"{self.path} cannot be read: {reason}")

    @contextlib.contextmanager
    def decoding(self) -> Iterator[None]:
        """Turn whatever a decoder makes of damaged bytes into an error that names the file."""
        try:
            yield
        except IndexTablesError:
            raise
        except _DECODING_ERRORS as reason:
            raise self.damaged(reason) from reason
        except BaseException as reason:
            if type(reason).__name__ != _PANIC:
                raise
            raise self.damaged(reason) from reason


class Files:
    """Opens files by their address; each directory's store is made once."""

    def __init__(self, settings: Settings | Mapping[str, str] | None = None) -> None:
        self._settings = as_settings(settings)
        self._stores: dict[str, Store] = {}
        self._lock = ForkSafeLock()

    def store(self, directory: str) -> Store:
        with self._lock:
            if directory not in self._stores:
                self._stores[directory] = open_store(directory, self._settings)
            return self._stores[directory]

    def open(self, path: str, properties: Mapping[str, str] | None = None) -> StoredFile:
        """The file at this address. CorruptTableError when there is none: a manifest named it."""
        directory, _, key = path.rpartition("/")
        store = self.store(directory or "/")
        stated = (properties or {}).get(FILE_SIZE, "")
        known = int(stated) if stated.isdecimal() else None
        try:
            # A store elsewhere is not asked again for what the manifest says.
            size = store.head(key).size if known is None or store.local_path(key) is not None else known
        except ObjectNotFoundError:
            raise _missing(path) from None
        try:
            file = StoredFile(path, store, key, size, Tail.stated(properties or {}))
        except ValueError as reason:
            raise CorruptTableError(f"{path} cannot be read: {reason}") from None
        if known is not None and size != known:
            raise file.damaged(f"it has {size} bytes and had {known}")
        return file


def _missing(path: str) -> CorruptTableError:
    return CorruptTableError(f"{path} is not there, and the manifest names it")


def as_settings(given: Settings | Mapping[str, str] | None) -> Settings:
    if given is not None and not isinstance(given, Settings | Mapping):
        raise InputError(f"settings are {given!r:.100}; they take a mapping of keys to values")
    return given if isinstance(given, Settings) else Settings(given)
