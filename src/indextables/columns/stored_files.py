"""A file of a dataset as something that is read by ranges, wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings
from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.forking import ForkSafeLock
from indextables.storage import Store, open_store

FILE_SIZE: Final = "file_size"
FOOTER_SIZE: Final = "footer_size"
"""Properties of a file in a manifest, both in bytes, that save a reader a request."""


@dataclass(frozen=True)
class StoredFile:
    """One file: its address, and the object of a store that it is."""

    path: str
    store: Store
    key: str
    size: int

    def range(self, start: int, length: int) -> bytes:
        return self.store.get_range(self.key, start, length)

    def damaged(self, reason: object) -> CorruptTableError:
        return CorruptTableError(f"{self.path} cannot be read: {reason}")


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
        try:
            # A store elsewhere is not asked again for what the manifest says.
            is_known = stated.isdecimal() and store.local_path(key) is None
            size = int(stated) if is_known else store.head(key).size
        except ObjectNotFoundError:
            raise CorruptTableError(f"{path} is not there, and the manifest names it") from None
        return StoredFile(path, store, key, size)


def as_settings(given: Settings | Mapping[str, str] | None) -> Settings:
    return given if isinstance(given, Settings) else Settings(given)
