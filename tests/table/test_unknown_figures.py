"""Figures in the log that are missing or cannot be true are unknown: no answer, sum or estimate is built on them."""

from __future__ import annotations

import gzip
import itertools
from functools import cache
from typing import Any

import orjson
import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import CorruptTableError
from indextables.log.snapshots import invalidate_cache
from indextables.state.entries import AVRO_SCHEMA, decode_entries, encode_entries
from indextables.state.entry_fields import ENTRY_SCHEMA
from indextables.storage import open_store
from indextables.table.scans.scan import ScanRequest, plan_scan

ROWS = pa.table({"id": range(10), "p": [1] * 10})
LONG = 1 << 63
IMPOSSIBLE = [None, -1, -LONG, (1 << 40) + 1, LONG - 1, LONG, 2 * LONG - 1]
_names = itertools.count()


@cache
def honest_table() -> dict[str, bytes]:
    for _ in range(2):
        it.write("memory:honest-figures", ROWS, partition_by=["p"])
    store = open_store("memory:honest-figures")
    return {info.key: store.get(info.key) for info in store.list_from("")}


def table_with(kind: str, field: str, value: int | None) -> str:
    """A table of two versions and 20 rows; in the first, the field has the value, or is missing."""
    uri = f"memory:figures-{next(_names)}"
    store, key = open_store(uri), "_transaction_log/00000000000000000000.json"
    for name, data in honest_table().items():
        store.put(name, data)
    lines = [orjson.loads(line) for line in gzip.decompress(store.get(key)).splitlines()]
    for line in lines:
        line.get("commitInfo", {}).pop("sha256", None)  # a writer with such figures may write no checksums
        if kind in line:
            line[kind].pop(field, None)
            line[kind] |= {} if value is None else {field: value}
    store.put(key, b"\n".join(map(orjson.dumps, lines)))
    invalidate_cache(it.open(uri).uri)
    return uri


def planned_rows(table: it.Table) -> int | None:
    return plan_scan(table.uri, table.snapshot, ScanRequest(("id",)), table.settings).rows


def checked(table: it.Table, *, limit: int) -> None:
    """Every answer that is made from rows is right, and everything that lists figures can be shown."""
    assert table.count() == 20
    assert table.to_arrow().num_rows == 20
    assert table.to_arrow(limit=limit).num_rows == limit
    for shown in (table.files(), table.history(), table.describe_log(), table.describe_state()):
        assert shown.to_pylist() if isinstance(shown, pa.Table) else shown


@pytest.mark.parametrize("value", IMPOSSIBLE)
def test_a_count_that_cannot_be_true_is_unknown(value: int | None) -> None:
    table = it.open(table_with("add", "numRecords", value))
    checked(table, limit=15)
    assert repr(table).endswith("files=2 rows=unknown>")
    assert planned_rows(table) is None
    assert sorted(table.files()["num_records"].to_pylist(), key=str) == [10, None]
    assert table.history().sort_by("version")["rows_added"].to_pylist() == [None, 10]
    table.checkpoint()
    invalidate_cache(table.uri)
    again = it.open(table.uri)
    checked(again, limit=15)
    assert (repr(again)[-13:], planned_rows(again)) == ("rows=unknown>", None)


def test_counts_that_are_known_are_summed() -> None:
    table = it.open(table_with("add", "modificationTime", 1))
    assert (repr(table)[-8:], planned_rows(table)) == ("rows=20>", 20)


@pytest.mark.parametrize("value", [None, -1, -LONG, 1 << 62, LONG - 1, LONG, 2 * LONG - 1])
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("add", "modificationTime"),
        ("add", "numMergeOps"),
        ("add", "footerStartOffset"),
        ("add", "uncompressedSizeBytes"),
        ("add", "hotcacheLength"),
        ("metaData", "createdTime"),
        ("commitInfo", "timestamp"),
        ("commitInfo", "readVersion"),
    ],
)
def test_other_figures_that_cannot_be_true_stop_no_reader_and_no_writer(
    kind: str, field: str, value: int | None
) -> None:
    table = it.open(table_with(kind, field, value))
    checked(table, limit=15)
    table.checkpoint()
    assert it.write(table.uri, ROWS[:0], txn=("application", 1)) == 2
    invalidate_cache(table.uri)
    assert it.open(table.uri).count() == 20


@pytest.mark.parametrize("value", [-1, 1 << 62, LONG - 1])
def test_a_size_that_cannot_be_true_fails_only_where_the_file_is_read(value: int) -> None:
    table = it.open(table_with("add", "size", value))
    assert table.count() == 20
    assert 0 <= plan_scan(table.uri, table.snapshot, ScanRequest(("id",)), table.settings).bytes < LONG
    table.checkpoint()
    assert 0 <= table.describe_state().total_bytes < LONG
    with pytest.raises(CorruptTableError, match="is damaged"):
        table.to_arrow()


@pytest.mark.parametrize("value", [LONG, 2 * LONG - 1])
def test_a_size_beyond_64_bits_names_the_line(value: int) -> None:
    with pytest.raises(CorruptTableError, match="line 4: add.size does not fit into 64 bits"):
        it.open(table_with("add", "size", value))


def test_sums_of_sizes_do_not_wrap_around() -> None:
    uri = table_with("add", "size", LONG - 1)
    table = it.open(uri)
    added = table.history().sort_by("version")["bytes_added"].to_pylist()
    assert added[0] == LONG - 1
    assert plan_scan(uri, table.snapshot, ScanRequest(("id",)), table.settings).bytes == LONG - 1


@pytest.mark.parametrize("value", [-1, (1 << 40) + 1, LONG - 1])
def test_a_state_is_not_believed_either(value: int) -> None:
    row: dict[str, Any] = dict.fromkeys(ENTRY_SCHEMA.names)
    row |= {field.name: 0 for field in ENTRY_SCHEMA if not field.nullable}
    row |= {"path": "a", "partitionValues": [], "dataChange": True, "hasFooterOffsets": False}
    rows = [row | {"numRecords": 3}, row | {"numRecords": value, "modificationTime": LONG - 1}]
    entries = pa.Table.from_pylist(rows, schema=ENTRY_SCHEMA)
    found = decode_entries(AVRO_SCHEMA, encode_entries(entries), "manifest.avro")
    assert found["numRecords"].to_pylist() == [3, None]
    assert found["modificationTime"].to_pylist() == [0, 0]
