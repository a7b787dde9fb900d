"""Times in the text of files: ISO 8601, by their offset, or in UTC if they have none."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import InputError

MOMENT: Final = pa.timestamp("us", "UTC")
_TIME: Final = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_ZONE: Final = r"\s?(?:Z|UTC|[+-]\d\d(?::?\d\d)?)"
_ZONED: Final = f"{_TIME}{_ZONE}$"
_DAY_OR_TIME: Final = rf"^\d{{4}}-\d\d-\d\d$|{_TIME}(?:{_ZONE})?$"
_PLAIN: Final = (
    (r"\s?UTC$", "Z"),
    (r"\s(Z|[+-]\d\d(?::?\d\d)?)$", r"\1"),
    (r",(\d)", r".\1"),
    (r"(\.\d{6})0+", r"\1"),
)
"""What is replaced before Arrow reads a time: it knows one way to write an offset, and six digits of a second."""


class Moments:
    """Converts the text of some columns to moments, and collects the columns that had times without a zone."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = set(names)
        self.without_zone: set[str] = set()

    def convert(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the batches in the types of the schema."""
        for batch in batches:
            if not batch.num_rows:
                yield pa.RecordBatch.from_pylist([], schema)
                continue
            columns = [
                self._moments(column, field.name)
                if field.name in self._names and pa.types.is_string(column.type)
                else column.cast(field.type)
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _moments(self, texts: pa.Array, name: str) -> pa.Array:
        texts = pc.utf8_trim_whitespace(texts)
        is_time = pc.match_substring_regex(texts, _DAY_OR_TIME)
        if not pc.all(is_time).as_py():
            raise _no_time(name, texts.filter(pc.invert(is_time))[0].as_py())
        is_zoned = pc.match_substring_regex(texts, _ZONED)
        if not pc.all(is_zoned).as_py():
            self.without_zone.add(name)
        for pattern, replacement in _PLAIN:
            texts = pc.replace_substring_regex(texts, pattern, replacement)
        none = pa.scalar(None, pa.string())
        try:
            zoned = pc.if_else(is_zoned, texts, none).cast(MOMENT)
            local = pc.if_else(is_zoned, none, texts).cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            raise _no_time(name, _first_wrong(texts)) from None
        return pc.coalesce(zoned, local.cast(pa.int64()).cast(MOMENT))


def are_moments(values: pa.Array) -> bool:
    """Return True if the values are text, and those that are not null are times of a day.

    >>> are_moments(pa.array(["2026-01-31T12:00:00.5Z", None])), are_moments(pa.array(["2026-01-31", "n/a"]))
    (True, False)
    """
    if not pa.types.is_string(values.type) or values.null_count == len(values):
        return False
    return bool(pc.all(pc.match_substring_regex(values, f"{_TIME}(?:{_ZONE})?$")).as_py())


def _first_wrong(texts: pa.Array) -> str:
    for text in texts.drop_null():
        try:
            pc.cast(text, MOMENT if pc.match_substring_regex(text, _ZONED).as_py() else pa.timestamp("us"))
        except pa.ArrowInvalid:
            return str(text)
    return "a value"


def _no_time(name: str, text: str) -> InputError:
    return InputError(
        f"column {name!r}: {text!r} is not a time such as 2026-01-31T12:00:00Z with at most six digits after the "
        f"second; --types {name}=string imports the column as text"
    )
