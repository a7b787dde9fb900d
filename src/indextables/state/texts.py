"""Whether decoded text is text: the decoder takes any bytes for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from indextables.errors import CorruptTableError


def check_texts(table: pa.Table, name: str) -> None:
    """CorruptTableError, with the file's name, if a text of the table is not UTF-8.

    >>> check_texts(pa.table({"a": ["x", None, "ü"]}), "manifest.avro")
    """
    for column in table.columns:
        if column.null_count == len(column):
            continue
        for texts in (texts for chunk in column.chunks for texts in _texts(chunk)):
            if _is_ascii(texts):  # nearly all are, and it takes a fraction of the time to see
                continue
            try:
                texts.validate(full=True)
            except pa.ArrowInvalid as reason:
                raise CorruptTableError(f"{name}: an entry holds text that is not UTF-8 ({reason})") from None


def _texts(array: pa.Array) -> Iterator[pa.StringArray]:
    """The strings in an array, in whatever is nested in it too."""
    if pa.types.is_string(array.type):
        yield array
    elif pa.types.is_map(array.type):
        yield from (*_texts(array.keys), *_texts(array.items))
    elif pa.types.is_list(array.type):
        yield from _texts(array.values)


def _is_ascii(texts: pa.StringArray) -> bool:
    data = texts.buffers()[2]
    return data is None or data.size == 0 or bool(np.frombuffer(data, np.int8).min() >= 0)
