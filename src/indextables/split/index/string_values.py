"""The strings of a column as the index has them."""

from __future__ import annotations

import pyarrow as pa


def strings(values: pa.Array) -> list[str | None]:
    """Return the strings of an array as the index has them: bytes that are not UTF-8 are replaced."""
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        raw = values.cast(pa.binary()).to_pylist()
        return [value if value is None else value.decode("utf-8", "replace") for value in raw]
