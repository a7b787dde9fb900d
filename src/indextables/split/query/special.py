"""Binding the leaves of a query to columns that are neither words nor numbers: IP addresses, and maps by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from indextables.schema import MappedField, shorten
from indextables.split.index import addresses, entry_terms
from indextables.split.query import tree as ast
from indextables.split.query.bound import Entry, Numbers, Part, Parts
from indextables.split.query.moments import span
from indextables.split.query.numbers import LiteralError
from indextables.split.query.tree import Occur

_LAST_ADDRESS: Final = (1 << 128) - 1


def is_plain(column: MappedField) -> bool:
    """Return True for a column of words or numbers."""
    return column.key is None and column.kind not in ("ip", "map", "struct")


def special_name(column: MappedField) -> str:
    """Return what a column is, for messages."""
    if column.key is not None:
        return "a key of a map"
    return "indexed as ip" if column.kind == "ip" else column.type_name


def has_key(column: MappedField) -> Part:
    """Return the part for the maps that have the key of `column`, with a value that is not null."""
    term = entry_terms(column)
    return Entry(column, term, term)


def bind_special(node: ast.Node, column: MappedField, zone: str, now: int | None) -> Part:
    """Bind a leaf. LiteralError, with what can be written instead, for one that the column cannot answer."""

    def numbers(text: str) -> tuple[int, int]:
        return _addresses(text) if column.key is None else span(text, column.spark_type, zone, now)

    if column.key is None and column.kind != "ip":
        example = f"{column.name}.key:value" if column.kind == "map" else f"{column.name}.field:value"
        raise LiteralError(f"name a part of it, as in {example}")
    match node:
        case ast.Literal() if not node.slop and not node.prefix:
            return _value(column, node.text, numbers)
        case ast.OneOf(values):
            return Parts(tuple((Occur.SHOULD, _value(column, value, numbers)) for value in values))
        case ast.Range(lower, upper) if lower is not None or upper is not None:
            if column.key is not None and column.kind == "string":
                raise LiteralError("a range needs numbers, dates or times, and its values are strings")
            low = high = None
            if lower is not None:
                first, last = numbers(lower.text)
                low = first if lower.inclusive else last + 1
            if upper is not None:
                first, last = numbers(upper.text)
                high = last if upper.inclusive else first - 1
            within = _addresses_between if column.key is None else _entries_between
            return within(column, low, high)
    if column.key is None:
        raise LiteralError("write an address, a network such as 10.0.0.0/8, or a range of addresses")
    raise LiteralError(
        f"its values are compared as a whole: write {column.name}:value without wildcards or '~'"
    )


def _value(column: MappedField, text: str, numbers: Callable[[str], tuple[int, int]]) -> Part:
    """Return the part for one value, which may denote many: a network, or a day of timestamps."""
    if column.key is None:
        return Numbers(column, *numbers(text))
    if column.kind == "string":
        term = entry_terms(column, text=text)
        return Entry(column, term, term)
    return _entries_between(column, *numbers(text))


def _addresses(text: str) -> tuple[int, int]:
    try:
        return addresses(text.strip())
    except ValueError:
        raise LiteralError(
            f'{shorten(text)!r} is not an address, or a network such as 10.0.0.0/8 or "2001:db8::/32"'
        ) from None


def _addresses_between(column: MappedField, low: int | None, high: int | None) -> Part:
    is_empty = (low is not None and low > _LAST_ADDRESS) or (high is not None and high < 0)
    return Numbers(column, 1, 0) if is_empty else Numbers(column, low, high)


def _entries_between(column: MappedField, low: int | None, high: int | None) -> Part:
    end = 1 << (127 if column.kind == "i128" else 63)
    low, high = -end if low is None else low, end - 1 if high is None else high
    if low > high or low >= end or high < -end:
        return Entry(column, "1", "0")  # terms in the wrong order: no row at all
    return Entry(column, entry_terms(column, low), entry_terms(column, high))
