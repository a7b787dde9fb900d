"""The log as a table: 47 columns, one row an action, from the newest state on or from the beginning."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.log import (
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
    checkpoint,
    encode_version,
    version_key,
)
from indextables.log.actions import checkpoint_key
from indextables.maintenance import LOG_SCHEMA, describe_log
from indextables.state import state_key
from support.faults import MemoryStore
from support.logs import add, put_version

NAMES = """version log_file_path action_type path partition_values size data_change tags modification_time stats
min_values max_values num_records footer_start_offset footer_end_offset hotcache_start_offset hotcache_length
has_footer_offsets time_range_start time_range_end split_tags delete_opstamp num_merge_ops doc_mapping_json
doc_mapping_ref uncompressed_size_bytes deletion_timestamp extended_file_metadata skip_timestamp skip_reason
skip_operation skip_retry_after skip_count protocol_min_reader_version protocol_min_writer_version
protocol_reader_features protocol_writer_features metadata_id metadata_name metadata_description
metadata_format_provider metadata_format_options metadata_schema_string metadata_partition_columns
metadata_configuration metadata_created_time is_checkpoint"""

SCHEMA = '{"type":"struct","fields":[{"name":"day","type":"string"},{"name":"n","type":"long"}]}'
TABLE = Metadata(
    "some-id", SCHEMA, ("day",), {"k": "v"}, name="logs", description="all of them", created_time=1000
)
FULL = AddFile(
    "a.split",
    {"day": "mon"},
    10,
    2000,
    data_change=False,
    stats="{}",
    min_values={"n": "1"},
    max_values={"n": "2"},
    num_records=3,
    footer_start_offset=4,
    footer_end_offset=5,
    has_footer_offsets=True,
    delete_opstamp=6,
    split_tags=("x", "y"),
    num_merge_ops=7,
    doc_mapping_json="[]",
    doc_mapping_ref="ref",
    uncompressed_size_bytes=8,
    time_range_start="s",
    time_range_end="e",
    tags={"t": "1"},
    hotcache_start_offset=9,
    hotcache_length=11,
)


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


@pytest.fixture
def store(store: MemoryStore) -> MemoryStore:
    features = Protocol(4, 3, frozenset({"avroState", "footerOffsets"}), frozenset())
    put_version(store, 0, [CommitInfo("t0", "WRITE", timestamp=1000), features, TABLE])
    put_version(store, 1, [CommitInfo("t1", "WRITE", timestamp=2000), FULL, Txn("app", 1), add("b.split")])
    put_version(
        store,
        2,
        [
            CommitInfo("t2", "WRITE", timestamp=3000),
            RemoveFile(
                "b.split", 4000, partition_values={"day": "mon"}, size=10, extended_file_metadata=True
            ),
            SkipFile("a.split", 5000, "torn", "merge", retry_after=6000, skip_count=2),
            UnknownAction("later", {"x": 1}),
        ],
    )
    return store


def rows(store: MemoryStore, **more: Any) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = describe_log(store, Settings(), **more).to_pylist()
    return described


def told(row: dict[str, Any]) -> dict[str, Any]:
    """What the row says, without where it is from."""
    apart = ("version", "log_file_path", "action_type", "is_checkpoint")
    return {name: value for name, value in row.items() if value is not None and name not in apart}


def test_the_columns_are_those_of_the_command():
    assert LOG_SCHEMA.names == NAMES.split()
    assert len(LOG_SCHEMA) == 47


def test_every_action_is_a_row(store: MemoryStore):
    found = rows(store, include_all=True)
    assert [(row["version"], row["action_type"]) for row in found] == [
        (0, "unknown"),
        (0, "protocol"),
        (0, "metadata"),
        (1, "unknown"),
        (1, "add"),
        (1, "unknown"),
        (1, "add"),
        (2, "unknown"),
        (2, "remove"),
        (2, "skip"),
        (2, "unknown"),
    ]
    assert {row["log_file_path"] for row in found if row["version"] == 1} == {version_key(1)}
    assert not any(row["is_checkpoint"] for row in found)


def test_each_field_has_its_column(store: MemoryStore):
    found = {
        (row["version"], row["action_type"]): told(row)
        for row in rows(store)
        if row["action_type"] == "remove" or row["path"] != "b.split"
    }
    assert found[0, "protocol"] == {
        "protocol_min_reader_version": 4,
        "protocol_min_writer_version": 3,
        "protocol_reader_features": '["avroState","footerOffsets"]',
        "protocol_writer_features": "[]",
    }
    assert found[0, "metadata"] == {
        "metadata_id": "some-id",
        "metadata_name": "logs",
        "metadata_description": "all of them",
        "metadata_format_provider": "indextables",
        "metadata_format_options": "{}",
        "metadata_schema_string": SCHEMA,
        "metadata_partition_columns": '["day"]',
        "metadata_configuration": '{"k":"v"}',
        "metadata_created_time": moment(1000),
    }
    assert found[1, "add"] == {
        "path": "a.split",
        "partition_values": '{"day":"mon"}',
        "size": 10,
        "data_change": False,
        "tags": '{"t":"1"}',
        "modification_time": moment(2000),
        "stats": "{}",
        "min_values": '{"n":"1"}',
        "max_values": '{"n":"2"}',
        "num_records": 3,
        "footer_start_offset": 4,
        "footer_end_offset": 5,
        "hotcache_start_offset": 9,
        "hotcache_length": 11,
        "has_footer_offsets": True,
        "time_range_start": "s",
        "time_range_end": "e",
        "split_tags": '["x","y"]',
        "delete_opstamp": 6,
        "num_merge_ops": 7,
        "doc_mapping_json": "[]",
        "doc_mapping_ref": "ref",
        "uncompressed_size_bytes": 8,
    }
    assert found[2, "remove"] == {
        "path": "b.split",
        "partition_values": '{"day":"mon"}',
        "size": 10,
        "data_change": True,
        "deletion_timestamp": moment(4000),
        "extended_file_metadata": True,
    }
    assert found[2, "skip"] == {
        "path": "a.split",
        "skip_timestamp": moment(5000),
        "skip_reason": "torn",
        "skip_operation": "merge",
        "skip_retry_after": moment(6000),
        "skip_count": 2,
    }


def test_with_a_state_its_actions_and_those_after_it(store: MemoryStore):
    checkpoint(store, Settings())
    put_version(store, 3, [CommitInfo("t3", timestamp=9000), add("c.split")])
    found = rows(store)
    assert [(row["version"], row["action_type"], row["path"], row["is_checkpoint"]) for row in found] == [
        (2, "protocol", None, True),
        (2, "metadata", None, True),
        (2, "add", "a.split", True),
        (2, "skip", "a.split", True),
        (2, "unknown", None, True),
        (3, "unknown", None, False),
        (3, "add", "c.split", False),
    ]
    assert found[0]["log_file_path"] == state_key(2)
    assert told(found[2])["hotcache_length"] == 11, "a state loses no field"
    assert len(rows(store, include_all=True)) == 13, "every version file, and no state"


def test_a_json_checkpoint_is_one_too(store: MemoryStore):
    store.put(checkpoint_key(1), encode_version([Protocol(2, 2), TABLE, FULL]))
    found = rows(store)
    assert [(row["version"], row["action_type"], row["is_checkpoint"]) for row in found[:3]] == [
        (1, "protocol", True),
        (1, "metadata", True),
        (1, "add", True),
    ]
    assert found[0]["log_file_path"] == checkpoint_key(1)


def test_a_long_log_comes_in_one_table(store: MemoryStore):
    put_version(store, 3, [AddFile(f"f{n}", {}, 1) for n in range(20_001)])
    described = describe_log(store, Settings())
    assert isinstance(described, pa.Table)
    assert described.num_rows == 11 + 20_001
