"""Dedupe: one entry for each file, the last of those that name it.

Manifests of other writers, and adds of a file that a table already has, can name a file twice. It is rare, so the check
hashes a few bytes of each key, and compares whole keys only where these hashes are equal.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.state.gather import drop_rows

_WORDS: Final = 16
_TAIL: Final = 22
"""The keys that this implementation writes end in a random name and six characters that all share."""

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def keep_last(entries: pa.Table, column: str) -> pa.Table:
    """Return the entries without those whose text in `column` occurs again in a later row.

    >>> keep_last(pa.table({"key": ["a", "b", "a"], "n": [1, 2, 3]}), "key").to_pylist()
    [{'key': 'b', 'n': 2}, {'key': 'a', 'n': 3}]
    """
    parts = [_fingerprints(chunk) for chunk in entries.column(column).chunks]
    fingerprints = np.concatenate(parts) if parts else np.empty(0, np.uint64)
    in_order = np.sort(fingerprints)
    shared = in_order[1:][in_order[1:] == in_order[:-1]]
    if not len(shared):
        return entries
    suspects: npt.NDArray[np.int64] = np.flatnonzero(np.isin(fingerprints, shared))
    texts = entries.column(column).take(pa.array(suspects)).to_pylist()
    last = dict(zip(texts, suspects.tolist(), strict=True))
    repeated = np.zeros(entries.num_rows, bool)
    repeated[suspects] = True
    repeated[list(last.values())] = False
    return drop_rows(entries, repeated)


def _fingerprints(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    """Return a number for each text, the same for equal ones: of some of its bytes, or the length of a short one."""
    if len(texts) == 0:
        return np.empty(0, np.uint64)
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    ends, sizes = places[1:], np.diff(places)
    if data is None or data.size < _TAIL:
        return sizes.astype(np.uint64)
    # A view in which every byte of the data begins a word of eight: one fancy index reads a word of each text.
    words = np.ndarray((data.size - 7,), np.dtype("<u8"), data, strides=(1,))
    short = sizes < _TAIL
    has_short = bool(short.any())
    first = np.where(short, 0, ends - _TAIL) if has_short else ends - _TAIL
    mixed = words[first] * _ODD ^ words[first + _WORDS // 2]
    return np.where(short, sizes.astype(np.uint64), mixed) if has_short else mixed
