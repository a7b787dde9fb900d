"""The documents of the index: those that Arrow makes of whole columns say of each row what a plain model says."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.schema import FieldMapping, TableSchema, path_values
from indextables.split.index import IndexFields, documents
from indextables.split.index.documents import json_documents
from indextables.split.index.values import index_values
from indextables.split.index.words import unindexed_rows

SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("code", pa.string()),
        ("level", pa.string()),
        ("odd. name", pa.string()),
        ("tiny", pa.int8()),
        ("large", pa.int64()),
        ("real", pa.float64()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(12, 2)),
        ("wide", pa.decimal128(30, 2)),
        ("tags", pa.list_(pa.string())),
        ("attrs", pa.map_(pa.string(), pa.int64())),
        ("user", pa.struct([("name", pa.string()), ("age", pa.int32())])),
        ("raw", pa.binary()),
    ]
)
TABLE = TableSchema.from_arrow(SCHEMA)
FIELDS = IndexFields(
    FieldMapping.of(TABLE, (), {"text": "text", "tags": "text", "code": "text;tokenizer=code1"})
)

strings = st.text(
    st.one_of(
        st.sampled_from('ab "\\/\n\t\x00\x1f\x7f\u2028漢ไéÄ\ufeff\U0001f600'), st.characters(codec="utf-8")
    ),
    max_size=12,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.none() | strings,
            "code": st.none() | strings,
            "level": st.none() | st.sampled_from(["INFO", 'WA"RN', ""]),
            "odd. name": st.none() | strings,
            "tiny": st.none() | st.integers(-128, 127),
            "large": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
            "real": st.none() | st.floats(),
            "flag": st.none() | st.booleans(),
            "day": st.none() | st.dates(date(1, 1, 1), date(9999, 12, 31)),
            "at": st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
            "price": st.none() | st.decimals(Decimal("-1e9"), Decimal("1e9"), places=2),
            "wide": st.none() | st.decimals(Decimal("-1e27"), Decimal("1e27"), places=2),
            "tags": st.none() | st.lists(st.none() | strings, max_size=3),
            "attrs": st.none() | st.dictionaries(strings, st.none() | st.integers(-9, 9), max_size=2),
            "user": st.none()
            | st.fixed_dictionaries({"name": st.none() | strings, "age": st.none() | st.integers(0, 99)}),
            "raw": st.none() | st.binary(max_size=3),
        }
    ),
    min_size=1,
    max_size=12,
)


def model(fields: IndexFields, batch: pa.RecordBatch, first: int) -> list[dict[str, Any]]:
    """Build the documents one by one."""
    rows: list[dict[str, Any]] = [{"__row": first + n} for n in range(batch.num_rows)]
    for field in fields.all:
        values = path_values(batch, field.mapped.name)
        for row in np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)).tolist():
            rows[row].setdefault("__nulls", []).append(field.null_term)
        if field.mapped.kind in ("text", "string"):
            for row in unindexed_rows(field.mapped, values):
                rows[row].setdefault("__unindexed", []).append(field.unindexed_term)
        if field.mapped.kind in ("struct", "none"):
            continue
        for row, value in zip(rows, index_values(field.mapped, values), strict=True):
            if value is not None and value != []:
                row[field.name] = value
    return rows


def built(fields: IndexFields, batch: pa.RecordBatch, first: int) -> list[dict[str, Any]]:
    loaded = map(orjson.loads, json_documents(fields, batch, first))
    return [{key: value for key, value in row.items() if value != []} for row in loaded]


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    columns = []
    for field in SCHEMA:
        values = [row[field.name] for row in rows]
        if field.name == "attrs":
            values = [None if value is None else list(value.items()) for value in values]
        columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, repeat=st.sampled_from([1, 1, 9]), data=st.data())
def test_documents_are_those_of_the_model(rows: list[dict[str, Any]], repeat: int, data: st.DataObject):
    batch = _batch(rows * repeat)
    start = data.draw(st.integers(0, batch.num_rows - 1))
    batch = batch.slice(start, data.draw(st.integers(1, batch.num_rows - start)))
    first = data.draw(st.sampled_from([0, 7, (1 << 63) - 100_000]))
    assert built(FIELDS, batch, first) == model(FIELDS, batch, first)


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.none() | st.binary(max_size=6), min_size=1, max_size=9), start=st.integers(0, 4))
def test_bytes_that_are_no_text_are_replaced(values: list[bytes | None], start: int):
    array = pa.array(values, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(array), array.buffers())
    tags = pa.ListArray.from_arrays(pa.array([*range(len(text)), len(text)], pa.int32()), text)
    batch = pa.record_batch({"text": text, "level": text, "tags": tags}).slice(min(start, len(values) - 1))
    table = TableSchema.from_arrow(batch.schema)
    fields = IndexFields(FieldMapping.of(table, (), {"text": "text"}))
    assert built(fields, batch, 5) == model(fields, batch, 5)


def test_the_bytes_below_a_null_do_not_matter():
    data = pa.array(['a"b', "c", "漢"])
    valid = pa.py_buffer(bytes([0b010]))
    text = pa.Array.from_buffers(pa.string(), 3, [valid, *data.buffers()[1:]], null_count=2)
    batch = pa.record_batch({"text": text})
    fields = IndexFields(FieldMapping.of(TableSchema.from_arrow(batch.schema), (), {"text": "text"}))
    assert built(fields, batch, 0) == [
        {"__row": 0, "__nulls": ["0"]},
        {"__row": 1, "text": "c"},
        {"__row": 2, "__nulls": ["0"]},
    ]


def test_any_number_of_columns_may_be_null():
    rng = np.random.default_rng(1)
    masks = rng.random((150, 200)) < 0.5
    batch = pa.record_batch({f"c{n}": pa.array(np.arange(200), mask=mask) for n, mask in enumerate(masks)})
    fields = IndexFields(FieldMapping.of(TableSchema.from_arrow(batch.schema), (), {}))
    assert built(fields, batch, 0) == model(fields, batch, 0)


def test_long_words_are_listed():
    batch = pa.record_batch({"text": ["short", "x" * 70_000, None], "level": ["y" * 70_000, "a", "b"]})
    fields = IndexFields(FieldMapping.of(TableSchema.from_arrow(batch.schema), (), {"text": "text"}))
    assert [row.get("__unindexed") for row in built(fields, batch, 0)] == [["1"], ["0"], None]


def test_rows_of_any_size_have_documents(monkeypatch: pytest.MonkeyPatch):
    rows = {"text": ['say "漢"', None, "b\\"], "level": ["x", "x", None], "n": [1, None, 3]}
    batch = pa.record_batch({name: values * 3 for name, values in rows.items()})
    fields = IndexFields(FieldMapping.of(TableSchema.from_arrow(batch.schema), (), {"text": "text"}))
    monkeypatch.setattr(documents, "_LARGE_BYTES", 0)
    assert built(fields, batch, 0) == model(fields, batch, 0)
