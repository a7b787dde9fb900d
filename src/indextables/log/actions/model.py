"""The actions of a version file, as values. Attributes have the specification's names in snake case.

Fields that this release does not know are kept in `extra`, and an action of an unknown name is kept as an
UnknownAction, so that rewriting loses nothing. Maps from columns to text have no entry for null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Extra: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Protocol:
    """The protocol versions and features that a reader and a writer of the table must support."""

    min_reader_version: int
    min_writer_version: int
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The schema (Spark's JSON), partitioning and configuration of the table."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    format: Extra = field(default_factory=lambda: {"provider": "indextables", "options": {}})
    name: str | None = None
    description: str | None = None
    created_time: int | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddFile:
    """A split that is live from this version on. With offsets, stats and mapping, readers plan without opening it.

    `delta_log` is the key of the file with the positions of its deleted rows, and `num_deleted` their number. The
    identity of a file is its path with its delta log. A split that is added again with another delta log brings no
    rows: its `data_change` is False, and `added_at_version`, `added_at_timestamp` and `added_data_change` are those of
    its first add.
    """

    path: str
    partition_values: Mapping[str, str]
    size: int
    modification_time: int = 0
    data_change: bool = True
    stats: str | None = None
    min_values: Mapping[str, str] | None = None
    max_values: Mapping[str, str] | None = None
    num_records: int | None = None
    footer_start_offset: int | None = None
    footer_end_offset: int | None = None
    has_footer_offsets: bool = False
    delete_opstamp: int | None = None
    split_tags: tuple[str, ...] | None = None
    num_merge_ops: int | None = None
    doc_mapping_json: str | None = None
    doc_mapping_ref: str | None = None
    uncompressed_size_bytes: int | None = None
    time_range_start: str | None = None
    time_range_end: str | None = None
    companion_source_files: tuple[str, ...] | None = None
    companion_delta_version: int | None = None
    companion_fast_field_mode: str | None = None
    tags: Mapping[str, str] | None = None
    hotcache_start_offset: int | None = None
    hotcache_length: int | None = None
    delta_log: str | None = None
    num_deleted: int | None = None
    added_at_version: int | None = None
    added_at_timestamp: int | None = None
    added_data_change: bool | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """A split that is no longer live. Without a `deletion_timestamp`, the commit sets its own time.

    `delta_log` is the delta log that the split had, and `num_deleted` the number of rows that it deleted.
    """

    path: str
    deletion_timestamp: int | None = None
    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str] | None = None
    size: int | None = None
    tags: Mapping[str, str] | None = None
    delta_log: str | None = None
    num_deleted: int | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SkipFile:
    """A split on which a merge failed, and which merges should skip until `retry_after`."""

    path: str
    skip_timestamp: int
    reason: str
    operation: str
    partition_values: Mapping[str, str] | None = None
    size: int | None = None
    retry_after: int | None = None
    skip_count: int = 1
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """Who wrote the version, when and how. A writer recognises its own commit by `txn_id`.

    `sha256` is the checksum of the version, `previous_sha256` that of the version before; see `checksums`. `sha256`
    must be the last field.
    """

    txn_id: str | None = None
    operation: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, int] = field(default_factory=dict)
    engine: str | None = None
    timestamp: int | None = None
    read_version: int | None = None
    previous_sha256: str | None = None
    sha256: str | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Txn:
    """The newest batch of a streaming writer that is in the table."""

    app_id: str
    version: int
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnknownAction:
    """An action that this release does not recognise; `body` is its JSON value."""

    name: str
    body: Any


Action: TypeAlias = Protocol | Metadata | AddFile | RemoveFile | SkipFile | CommitInfo | Txn | UnknownAction
