"""The keys of files: an entry has a path as its writer spelt it, and the store knows the file by its key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.state.entry_fields import ENTRY_SCHEMA

KEY: Final = "key"
LIVE_SCHEMA: Final = ENTRY_SCHEMA.append(pa.field(KEY, pa.string()))
"""An entry and, last, the key in the table's store that its path means."""

KeyOf = Callable[[str], str]


def with_keys(entries: pa.Table, key_of: KeyOf) -> pa.Table:
    """The entries in LIVE_SCHEMA. Nearly all paths are their own keys: only odd spellings are looked at one by one."""
    paths = entries.column("path")
    if any(_has_odd_paths(chunk) for chunk in paths.chunks):
        paths = pa.chunked_array([[key_of(path) for path in paths.to_pylist()]], pa.string())
    return entries.append_column(LIVE_SCHEMA.field(KEY), paths)


def _has_odd_paths(paths: pa.StringArray) -> bool:
    """Whether a path may be absolute, empty or not in its shortest form, by one look at all their bytes."""
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
