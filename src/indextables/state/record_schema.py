"""Avro schemas of records that others wrote: what is refused before a decoder sees it."""

from __future__ import annotations

from typing import Any

import orjson


def parse_schema(schema: str) -> dict[str, Any]:
    """A record's schema as JSON. ValueError for what is none.

    Refused too: lists of what takes no bytes, with which a few bytes could stand for endless values.
    """
    document = orjson.loads(schema)
    try:
        fits = (
            isinstance(document, dict) and document.get("type") == "record" and not _lists_nothing(document)
        )
    except RecursionError:
        fits = False  # no honest schema is that deep
    if not fits:
        raise ValueError("the Avro schema is not that of a table's state")
    return dict(document)


def _lists_nothing(node: object) -> bool:
    if isinstance(node, list):
        return any(_lists_nothing(item) for item in node)
    if not isinstance(node, dict):
        return False
    if node.get("type") == "array" and _is_empty(node.get("items")):
        return True
    return any(_lists_nothing(value) for value in node.values())


def _is_empty(node: object) -> bool:
    """Whether a value of this type may take no bytes at all."""
    if not isinstance(node, dict):
        return node == "null"
    kind, fields = node.get("type"), node.get("fields")
    if kind == "record" and isinstance(fields, list):
        return all(isinstance(field, dict) and _is_empty(field.get("type")) for field in fields)
    return kind == "null" or (kind == "fixed" and node.get("size") == 0)
