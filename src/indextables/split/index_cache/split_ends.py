"""The ends of splits in object stores, kept in the disk cache: the second time a split is opened without a request.

The end of a split has the file table, the checksums and every other small member. A split is never changed under its
name, which has a random id: an entry is found by the address and the size of the split. Whatever is read later by the
offsets in an end is verified by its checksums.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Final

from indextables.config import Settings
from indextables.split.container import Bundle, open_bundle
from indextables.split.index_cache.cache import read_cached, table_mark
from indextables.storage import Store

_FILE: Final = "end"
_MAX_END: Final = 4 << 20
"""Page directories grow with the rows of a split: those of a hundred million values have about this size."""


def open_remote_bundle(store: Store, key: str, size: int, settings: Settings) -> Bundle:
    """Open a split of an object store by its end in the disk cache, which is fetched if it is not there."""

    def fill(directory: Path) -> dict[str, int]:
        end = open_bundle(store, key, size).with_small_members(_MAX_END).tail
        (directory / _FILE).write_bytes(end)
        return {_FILE: zlib.crc32(end)}

    def read(directory: Path) -> bytes:
        end = (directory / _FILE).read_bytes()
        if not 0 < len(end) <= size:
            raise ValueError(f"the end of {key} has {len(end)} bytes, the split {size}")
        return end

    identity = hashlib.sha256(f"{key}\0{size}\0end".encode()).hexdigest()[:28]
    return open_bundle(store, key, size, read_cached(table_mark(store.uri) + identity, fill, read, settings))
