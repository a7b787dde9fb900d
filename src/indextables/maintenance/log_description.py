"""The transaction log as a table: one row for each action, one column for each field, maps and lists as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.log import Action, AddFile, Metadata, Protocol, RemoveFile, SkipFile
from indextables.log.actions import checkpoint_key, version_key
from indextables.log.snapshots import VersionSelector, read_snapshot
from indextables.log.versions import LogListing, list_log, read_versions
from indextables.state import state_key
from indextables.storage import Store

_TEXT: Final = pa.string()
_LONG: Final = pa.int64()
_INT: Final = pa.int32()
_TRUTH: Final = pa.bool_()
_MOMENT: Final = pa.timestamp("ms", tz="UTC")
_ROWS: Final = 10_000

LOG_SCHEMA: Final = pa.schema(
    {
        "version": _LONG,
        "log_file_path": _TEXT,
        "action_type": _TEXT,
        "path": _TEXT,
        "partition_values": _TEXT,
        "size": _LONG,
        "data_change": _TRUTH,
        "tags": _TEXT,
        "modification_time": _MOMENT,
        "stats": _TEXT,
        "min_values": _TEXT,
        "max_values": _TEXT,
        "num_records": _LONG,
        "footer_start_offset": _LONG,
        "footer_end_offset": _LONG,
        "hotcache_start_offset": _LONG,
        "hotcache_length": _LONG,
        "has_footer_offsets": _TRUTH,
        "time_range_start": _TEXT,
        "time_range_end": _TEXT,
        "split_tags": _TEXT,
        "delete_opstamp": _LONG,
        "num_merge_ops": _INT,
        "doc_mapping_json": _TEXT,
        "doc_mapping_ref": _TEXT,
        "uncompressed_size_bytes": _LONG,
        "deletion_timestamp": _MOMENT,
        "extended_file_metadata": _TRUTH,
        "skip_timestamp": _MOMENT,
        "skip_reason": _TEXT,
        "skip_operation": _TEXT,
        "skip_retry_after": _MOMENT,
        "skip_count": _INT,
        "protocol_min_reader_version": _INT,
        "protocol_min_writer_version": _INT,
        "protocol_reader_features": _TEXT,
        "protocol_writer_features": _TEXT,
        "metadata_id": _TEXT,
        "metadata_name": _TEXT,
        "metadata_description": _TEXT,
        "metadata_format_provider": _TEXT,
        "metadata_format_options": _TEXT,
        "metadata_schema_string": _TEXT,
        "metadata_partition_columns": _TEXT,
        "metadata_configuration": _TEXT,
        "metadata_created_time": _MOMENT,
        "is_checkpoint": _TRUTH,
    }
)
_KINDS: Final = {
    AddFile: ("add", ""),
    RemoveFile: ("remove", ""),
    SkipFile: ("skip", "skip_"),
    Protocol: ("protocol", "protocol_"),
    Metadata: ("metadata", "metadata_"),
}
"""The name of each action, and the prefix of its columns where the field alone would be ambiguous."""


def _columns(kind: type[Any], prefix: str) -> tuple[tuple[str, str], ...]:
    """Return the attributes of an action that have a column, each with the name of its column."""
    names = set(LOG_SCHEMA.names)
    pairs = []
    for attribute in (field.name for field in dataclasses.fields(kind)):
        prefixed = f"{prefix}{attribute.removeprefix(prefix)}"
        column = prefixed if prefixed in names else attribute
        if column in names:
            pairs.append((attribute, column))
    return tuple(pairs)


_COLUMNS: Final = {kind: _columns(kind, prefix) for kind, (_, prefix) in _KINDS.items()}


class _Source(NamedTuple):
    version: int
    path: str
    is_checkpoint: bool


def describe_log(store: Store, settings: Settings, *, include_all: bool = False) -> pa.Table:
    """Return the actions of the newest state and of the versions after it.

    With `include_all`, return those of every version file instead.
    """
    listing = list_log(store)
    bases = [*listing.states, *(file.version for file in listing.checkpoints)]
    base = -1 if include_all else max(bases, default=-1)
    actions = _actions(store, settings, listing, base)
    batches = (_batch(rows) for rows in iter(lambda: list(islice(actions, _ROWS)), []))
    return pa.Table.from_batches(batches, schema=LOG_SCHEMA)


def _actions(
    store: Store, settings: Settings, listing: LogListing, base: int
) -> Iterator[tuple[_Source, Action]]:
    if base >= 0:
        key = state_key(base) if base in listing.states else checkpoint_key(base)
        snapshot = read_snapshot(store, VersionSelector(base), settings)
        source = _Source(base, key, is_checkpoint=True)
        actions: list[Action] = [
            snapshot.protocol,
            snapshot.metadata,
            *snapshot.files.values(),
            *snapshot.extras.actions(),
        ]
        yield from ((source, action) for action in actions)
    for version in read_versions(store, [file for file in listing.versions if file.version > base]):
        source = _Source(version.version, version_key(version.version), is_checkpoint=False)
        yield from ((source, action) for action in version.actions)


def _batch(rows: list[tuple[_Source, Action]]) -> pa.RecordBatch:
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in LOG_SCHEMA.names}
    for row, (source, action) in enumerate(rows):
        columns["version"][row], columns["log_file_path"][row], columns["is_checkpoint"][row] = source
        kind, fields = _describe(action)
        columns["action_type"][row] = kind
        for name, value in fields.items():
            columns[name][row] = value
    arrays = [pa.array(columns[field.name], field.type) for field in LOG_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=LOG_SCHEMA)


def _describe(action: Action) -> tuple[str, dict[str, Any]]:
    """Return the name of the action, and its fields by the names of their columns."""
    kind = _KINDS.get(type(action))
    if kind is None:
        return "unknown", {}
    fields = {column: _plain(getattr(action, attribute)) for attribute, column in _COLUMNS[type(action)]}
    if isinstance(action, Metadata):
        fields["metadata_format_provider"] = action.format.get("provider")
        fields["metadata_format_options"] = _plain(action.format.get("options") or {})
    return kind[0], fields


def _plain(value: object) -> object:
    """Return maps and lists as JSON, and every other value unchanged."""
    if isinstance(value, Mapping):
        return orjson.dumps(dict(value), option=orjson.OPT_SORT_KEYS).decode()
    if isinstance(value, frozenset):
        value = sorted(value)
    return orjson.dumps(value).decode() if isinstance(value, list | tuple) else value
