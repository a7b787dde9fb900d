"""The keys of files: an entry has the path that its writer wrote, and the store knows the file by its key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.state.entry_fields import ENTRY_SCHEMA

KEY: Final = "key"
LIVE_SCHEMA: Final = ENTRY_SCHEMA.append(pa.field(KEY, pa.string()))
"""The fields of an entry and, last, the key in the table's store that its path names."""

KeyOf = Callable[[str], str]


def with_keys(entries: pa.Table, key_of: KeyOf) -> pa.Table:
    """Return the entries in LIVE_SCHEMA. Nearly all paths are their own keys; other forms are converted one by one."""
    paths = entries.column("path")
    if any(_needs_conversion(chunk) for chunk in paths.chunks):
        paths = pa.chunked_array([[key_of(path) for path in paths.to_pylist()]], pa.string())
    return entries.append_column(LIVE_SCHEMA.field(KEY), paths)


def _needs_conversion(paths: pa.StringArray) -> bool:
    """Return True if a path may be absolute, empty or not normalised, by one pass over the bytes of all paths."""
    if len(paths) == 0:
        return False
    _, offsets, data = paths.buffers()
    places = np.frombuffer(offsets, np.int32)[paths.offset : paths.offset + len(paths) + 1]
    starts, ends = places[:-1], places[1:]
    if data is None or bool((starts == ends).any()):
        return True
    text = np.frombuffer(data, np.uint8)
    if bool((text[starts] == ord("/")).any()):
        return True
    text = text[starts[0] : ends[-1]]
    before, slash = text[:-1], text[1:] == ord("/")
    return bool((slash & ((before - np.uint8(ord(".")) <= 1) | (before == ord(":")))).any())  # one of ./:
