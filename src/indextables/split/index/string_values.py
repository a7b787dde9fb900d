"""The strings of a column as the index has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    """Return True for Arrow's types of strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def strings(values: pa.Array) -> list[Any]:
    """Return the values of an array as the index has them: bytes that are not UTF-8 are replaced."""
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        raw = values.cast(pa.large_binary()).to_pylist()
        return [value if value is None else value.decode("utf-8", "replace") for value in raw]


def rows_with(
    values: pa.Array, is_wanted: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.bool_]]
) -> npt.NDArray[np.int64]:
    """Return the rows of an array of strings that have a wanted byte, ascending.

    >>> rows_with(pa.array(["ok", None, 'say "hi"']), lambda data: data == ord('"')).tolist()
    [2]
    """
    data = values.buffers()[2]
    if data is None or not len(values):
        return np.empty(0, np.int64)
    width = np.int64 if pa.types.is_large_string(values.type) else np.int32
    offsets = np.frombuffer(values.buffers()[1], dtype=width)[values.offset : values.offset + len(values) + 1]
    is_wanted_byte = is_wanted(np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]])
    if not is_wanted_byte.any():
        return np.empty(0, np.int64)
    rows = np.unique(np.searchsorted(offsets, np.flatnonzero(is_wanted_byte) + offsets[0], side="right") - 1)
    if values.null_count:  # the bytes of a null may be anything
        rows = rows[values.is_valid().to_numpy(zero_copy_only=False)[rows]]
    return rows.astype(np.int64)
