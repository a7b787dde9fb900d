"""The files of a dataset, read by ranges from the store that each of them is in."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from indextables.columns.file_checksums import PAGES, TAIL, Section
from indextables.config import Settings
from indextables.errors import (
    CorruptTableError,
    InputError,
    ObjectNotFoundError,
    StorageError,
)
from indextables.rows import decoding
from indextables.runtime import ForkSafeLock
from indextables.storage import Store, open_store

FILE_SIZE: Final = "file_size"
FOOTER_SIZE: Final = "footer_size"
"""Properties of a file in a manifest, both in bytes, that save a reader a request."""


@dataclass(frozen=True)
class StoredFile:
    """One file: its address, and the object of a store that it is. `tail` is what the manifest says of its end."""

    path: str
    store: Store
    key: str
    size: int
    tail: Section | None = None
    pages: Section | None = None

    def range(self, start: int, length: int) -> bytes:
        try:
            return self.store.get_range(self.key, start, length)
        except ObjectNotFoundError:
            raise _missing(self.path) from None
        except StorageError:
            actual = self.store.head(self.key).size
            if actual == self.size:
                raise
            raise self.damaged(f"it has {actual} bytes instead of {self.size}") from None

    def read_sections(self) -> tuple[bytes | None, bytes] | None:
        """Return the page directory, if the file has one, and the tail, both verified.

        None for a file of which the manifest has no checksum.
        """
        if self.tail is None:
            return None
        before = 0 if self.pages is None else self.pages.length
        length = before + self.tail.length
        if length > self.size:
            raise self.damaged(f"it has {self.size} bytes, and the sections at its end have {length}")
        data = self.range(self.size - length, length)
        pages, tail = data[:before], data[before:]
        if not self.tail.is_whole(tail):
            raise self.damaged("the checksum of its footer is wrong")
        if self.pages is None:
            return None, tail
        if not self.pages.is_whole(pages):
            raise self.damaged("the checksum of its page directory is wrong")
        return pages, tail

    def damaged(self, reason: object) -> CorruptTableError:
        return CorruptTableError(f"{self.path} cannot be read: {reason}")

    def decoding(self) -> AbstractContextManager[None]:
        """Turn whatever a decoder raises for damaged bytes into an error that names the file."""
        return decoding(self.damaged)


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
        """Return the file at this address. Raises CorruptTableError if there is none, since a manifest names it."""
        directory, _, key = path.rpartition("/")
        store = self.store(directory or "/")
        size_text = (properties or {}).get(FILE_SIZE, "")
        stated_size = int(size_text) if size_text.isdecimal() else None
        try:
            # A store elsewhere is not asked again for what the manifest says.
            size = (
                store.head(key).size
                if stated_size is None or store.local_path(key) is not None
                else stated_size
            )
        except ObjectNotFoundError:
            raise _missing(path) from None
        try:
            stated = properties or {}
            file = StoredFile(
                path=path,
                store=store,
                key=key,
                size=size,
                tail=Section.stated(stated, TAIL),
                pages=Section.stated(stated, PAGES),
            )
        except ValueError as reason:
            raise CorruptTableError(f"{path} cannot be read: {reason}") from None
        if stated_size is not None and size != stated_size:
            raise file.damaged(f"it has {size} bytes instead of {stated_size}")
        return file


def _missing(path: str) -> CorruptTableError:
    return CorruptTableError(f"{path} does not exist, though the manifest names it")


def as_settings(
    settings: Settings | Mapping[str, str] | None, options: Settings | Mapping[str, str] | None = None
) -> Settings:
    """Return checked settings. `options` is the older name of the same argument; giving both is an InputError."""
    if settings is not None and options is not None:
        raise InputError("settings and options are two names of one argument; give settings")
    settings = options if settings is None else settings
    if settings is not None and not isinstance(settings, Settings | Mapping):
        raise InputError(f"settings are {settings!r:.100}; they take a mapping of keys to values")
    return settings if isinstance(settings, Settings) else Settings(settings)
