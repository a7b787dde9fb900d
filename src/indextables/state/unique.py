"""One entry for each file: the last of those that name it.

Manifests of other writers, and adds of a file that is there already, can name a file twice. Nearly always none is,
and to be sure of that must not cost what it takes to hash every key of a large table.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.state.gathering import without

_WORDS: Final = 16
_TAIL: Final = 22
"""Keys of ours end in a random name and in six characters that are the same for all."""

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def last_of_each(entries: pa.Table, column: str) -> pa.Table:
    """The entries without those whose text in `column` comes again further down.

    >>> last_of_each(pa.table({"key": ["a", "b", "a"], "n": [1, 2, 3]}), "key").to_pylist()
    [{'key': 'b', 'n': 2}, {'key': 'a', 'n': 3}]
    """
    prints = [_prints(chunk) for chunk in entries.column(column).chunks]
    everything = np.concatenate(prints) if prints else np.empty(0, np.uint64)
    in_order = np.sort(everything)
    shared = in_order[1:][in_order[1:] == in_order[:-1]]
    if not len(shared):
        return entries
    suspects: npt.NDArray[np.int64] = np.flatnonzero(np.isin(everything, shared))
    texts = entries.column(column).take(pa.array(suspects)).to_pylist()
    last = dict(zip(texts, suspects.tolist(), strict=True))
    gone = np.zeros(entries.num_rows, bool)
    gone[suspects] = True
    gone[list(last.values())] = False
    return without(entries, gone)


def _prints(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A number for each text, the same for equal ones: from some of its bytes, or for short ones from none."""
    if len(texts) == 0:
        return np.empty(0, np.uint64)
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    ends, sizes = places[1:], np.diff(places)
    if data is None or data.size < _TAIL:
        return sizes.astype(np.uint64)
    # Every byte of the data begins a word of eight: gathering those is one step for all texts.
    words = np.ndarray((data.size - 7,), np.dtype("<u8"), data, strides=(1,))
    short = sizes < _TAIL
    has_short = bool(short.any())
    first = np.where(short, 0, ends - _TAIL) if has_short else ends - _TAIL
    mixed = words[first] * _ODD ^ words[first + _WORDS // 2]
    return np.where(short, sizes.astype(np.uint64), mixed) if has_short else mixed
