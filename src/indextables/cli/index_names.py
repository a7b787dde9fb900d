"""In words: how a column is indexed."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    "text": "text, by its words",
    "string": "exact values",
    "i64": "numbers",
    "i128": "numbers",
    "f64": "numbers",
    "bool": "exact values",
    "none": "not indexed",
}


def index_name(kind: str, arrow_type: str) -> str:
    """Return the words for the kind of an index, of a column of that Arrow type.

    >>> index_name("i64", "int64"), index_name("i64", "timestamp[us, tz=UTC]"), index_name("partition", "date32[day]")
    ('numbers', 'times', 'partition')
    """
    if kind == "i64" and arrow_type.startswith(("timestamp", "date")):
        return "times"
    return _NAMES.get(kind, kind)
