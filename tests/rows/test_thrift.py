"""Walking the fields of a Thrift struct: the same end as skipping the struct, for any bytes, in bounded time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.rows.thrift import I64, STRUCT, StructFields, number, read_number, skip

TWO_FIELDS = b"\x16" + number(-5) + b"\x29\x18\x01x" + b"\0"
"""1: a number, 3: a list of one string."""


def end_of(walk: Callable[[], int]) -> int | None:
    try:
        return walk()
    except (ValueError, IndexError):
        return None


def walk(data: bytes) -> int:
    fields = StructFields(data, 0)
    for _ in fields:
        pass
    return fields.at


@given(data=st.binary(max_size=60) | st.binary(max_size=20).map(lambda tail: TWO_FIELDS[:-1] + tail))
def test_any_bytes_end_where_a_struct_of_them_ends(data: bytes):
    end = end_of(lambda: walk(data))
    assert end == end_of(lambda: skip(data, 0, STRUCT))


def test_a_value_is_read_or_skipped():
    fields = StructFields(TWO_FIELDS, 0)
    seen = []
    for field_id, kind in fields:
        if kind == I64:
            value, fields.at = read_number(TWO_FIELDS, fields.at)
            seen.append((field_id, value))
        else:
            seen.append((field_id, kind))
    assert seen == [(1, -5), (3, 9)]
    assert fields.at == len(TWO_FIELDS)


def test_a_struct_without_an_end_raises():
    with pytest.raises(IndexError):
        walk(TWO_FIELDS[:-1])
