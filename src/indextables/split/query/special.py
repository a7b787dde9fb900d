"""Binding the leaves of a query to columns that are neither words nor numbers: IP addresses, and maps by their keys."""

from __future__ import annotations

from typing import Final

from indextables.schema import MappedField, shorten
from indextables.split.index import addresses, entry_terms
from indextables.split.query import tree as ast
from indextables.split.query.bound import Entry, Numbers, Part, Parts
from indextables.split.query.numbers import LiteralError, number
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


def bind_special(node: ast.Node, column: MappedField, zone: str) -> Part:
    """Bind a leaf. LiteralError, with what can be written instead, for one that the column cannot answer."""
    if column.key is None and column.kind != "ip":
        example = f"{column.name}.key:value" if column.kind == "map" else f"{column.name}.field:value"
        raise LiteralError(f"name a part of it, as in {example}")
    bind = _address if column.key is None else _entry
    match node:
        case ast.Literal() if not node.slop and not node.prefix:
            return bind(column, node.text, zone)
        case ast.OneOf(values):
            return Parts(tuple((Occur.SHOULD, bind(column, value, zone)) for value in values))
        case ast.Range(lower, upper) if lower is not None or upper is not None:
            within = _address_range if column.key is None else _entry_range
            return within(column, lower, upper, zone)
    if column.key is None:
        raise LiteralError("write an address, a network such as 10.0.0.0/8, or a range of addresses")
    raise LiteralError(
        f"its values are compared as a whole: write {column.name}:value without wildcards or '~'"
    )


def _address(column: MappedField, text: str, _zone: str) -> Part:
    return Numbers(column, *_numbers(text))


def _numbers(text: str) -> tuple[int, int]:
    try:
        return addresses(text.strip())
    except ValueError:
        raise LiteralError(
            f'{shorten(text)!r} is not an address, or a network such as 10.0.0.0/8 or "2001:db8::/32"'
        ) from None


def _address_range(column: MappedField, lower: ast.Limit | None, upper: ast.Limit | None, _zone: str) -> Part:
    """Return the part for a range. A limit may be a network, of which all addresses are inside or outside."""
    low = high = None
    if lower is not None:
        first, last = _numbers(lower.text)
        low = first if lower.inclusive else last + 1
    if upper is not None:
        first, last = _numbers(upper.text)
        high = last if upper.inclusive else first - 1
    is_empty = (low is not None and low > _LAST_ADDRESS) or (high is not None and high < 0)
    return Numbers(column, 1, 0) if is_empty else Numbers(column, low, high)


def _entry(column: MappedField, text: str, zone: str) -> Part:
    if column.kind == "string":
        term = entry_terms(column, text=text)
    else:
        term = entry_terms(column, number(text, column.spark_type, zone))
    return Entry(column, term, term)


def _entry_range(column: MappedField, lower: ast.Limit | None, upper: ast.Limit | None, zone: str) -> Part:
    if column.kind == "string":
        raise LiteralError("a range needs numbers, dates or times, and its values are strings")
    end = 1 << (127 if column.kind == "i128" else 63)
    low, high = -end, end - 1
    if lower is not None:
        low = number(lower.text, column.spark_type, zone) + (not lower.inclusive)
    if upper is not None:
        high = number(upper.text, column.spark_type, zone) - (not upper.inclusive)
    if low > high or low >= end or high < -end:
        return Entry(column, "1", "0")  # terms in the wrong order: no row at all
    return Entry(column, entry_terms(column, low), entry_terms(column, high))
