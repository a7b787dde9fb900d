"""Conversion of live files to entries of a state and back, without loss."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.errors import CorruptTableError
from indextables.log.actions.model import AddFile
from indextables.state import KEY, LIVE_SCHEMA

_ATTRIBUTES: Final = {
    "path": "path",
    "size": "size",
    "modificationTime": "modification_time",
    "dataChange": "data_change",
    "stats": "stats",
    "numRecords": "num_records",
    "footerStartOffset": "footer_start_offset",
    "footerEndOffset": "footer_end_offset",
    "hasFooterOffsets": "has_footer_offsets",
    "deleteOpstamp": "delete_opstamp",
    "numMergeOps": "num_merge_ops",
    "docMappingJson": "doc_mapping_json",
    "docMappingRef": "doc_mapping_ref",
    "uncompressedSizeBytes": "uncompressed_size_bytes",
    "timeRangeStart": "time_range_start",
    "timeRangeEnd": "time_range_end",
    "companionDeltaVersion": "companion_delta_version",
    "companionFastFieldMode": "companion_fast_field_mode",
    "deltaLog": "delta_log",
    "numDeleted": "num_deleted",
}
_MAPS: Final = {"partitionValues": "partition_values", "minValues": "min_values", "maxValues": "max_values"}
_LISTS: Final = {"splitTags": "split_tags", "companionSourceFiles": "companion_source_files"}
FIELDS_WITHOUT_COLUMN: Final = {
    "tags": "tags",
    "hotcacheStartOffset": "hotcache_start_offset",
    "hotcacheLength": "hotcache_length",
}
"""Fields of an add that a state's entry keeps in its column `extra`, with the unknown ones."""
_COLUMNS: Final = {name: attrgetter(attribute) for name, attribute in (_ATTRIBUTES | _MAPS | _LISTS).items()}
_NOTHING: Final = pa.Table.from_batches([], LIVE_SCHEMA)  # `empty_table` would load pandas
_ROWS: Final = 8192
_AT_ONCE: Final = 1 << 17
"""The most files in one array: all their strings together have to stay below 2 GB."""


@dataclass(frozen=True, slots=True)
class Added:
    """A live file with the version and time of its commit. `over_base`: the base state may contain its key too."""

    file: AddFile
    version: int
    timestamp_ms: int
    over_base: bool = False


def to_entries(files: Iterable[tuple[str, Added]]) -> pa.Table:
    """Return the files with their keys, in LIVE_SCHEMA.

    Raises CorruptTableError if a number of a file does not fit into its column.
    """
    rows = list(files)
    tables = [_table(rows[start : start + _AT_ONCE]) for start in range(0, len(rows), _AT_ONCE)]
    return pa.concat_tables(tables) if tables else _NOTHING


def _table(rows: list[tuple[str, Added]]) -> pa.Table:
    columns: dict[str, list[Any]] = {KEY: [key for key, _ in rows]}
    actions = [added.file for _, added in rows]
    for name, attribute in _COLUMNS.items():
        columns[name] = list(map(attribute, actions))
    columns["addedAtVersion"] = [added.version for _, added in rows]
    columns["addedAtTimestamp"] = [added.timestamp_ms for _, added in rows]
    columns["extra"] = list(map(_encode_extra, actions))
    try:
        return pa.Table.from_arrays(
            [_array(columns[field.name], field.type) for field in LIVE_SCHEMA], schema=LIVE_SCHEMA
        )
    except (pa.ArrowInvalid, OverflowError) as reason:
        raise CorruptTableError(
            f"the log adds a file with a number that is out of range ({reason})"
        ) from reason


def from_entries(entries: pa.Table) -> Iterator[tuple[str, Added]]:
    """Yield the files of the entries with their keys; objects are made as they are consumed."""
    for batch in entries.to_batches(max_chunksize=_ROWS):
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        # Converting by columns is ten times as fast as by rows.
        values = {attribute: columns[name] for name, attribute in _ATTRIBUTES.items()}
        values |= {attribute: [_mapping(v) for v in columns[name]] for name, attribute in _MAPS.items()}
        values |= {attribute: [_tuple(v) for v in columns[name]] for name, attribute in _LISTS.items()}
        names = list(values)
        rows = zip(*values.values(), strict=True)
        keys_and_times = zip(
            columns[KEY],
            columns["addedAtVersion"],
            columns["addedAtTimestamp"],
            columns["extra"],
            strict=True,
        )
        for row, (key, version, timestamp, extra) in zip(rows, keys_and_times, strict=True):
            others = _decode_extra(extra) if extra is not None else {}
            yield key, Added(AddFile(**dict(zip(names, row, strict=True)), **others), version, timestamp)


def _encode_extra(file: AddFile) -> str | None:
    """Return the fields that have no column of their own as a JSON object; None if the file has none."""
    fields = {name: getattr(file, attribute) for name, attribute in FIELDS_WITHOUT_COLUMN.items()}
    extra = {**file.extra, **{name: value for name, value in fields.items() if value is not None}}
    try:
        return orjson.dumps(extra, default=dict).decode() if extra else None
    except orjson.JSONEncodeError as reason:  # orjson reads deeper nesting than it writes
        raise CorruptTableError(
            f"the log's add of {file.path!r} has a field that this release cannot keep ({reason})"
        ) from None


def _decode_extra(text: str) -> dict[str, Any]:
    """Return the arguments for an AddFile that the column `extra` holds."""
    try:
        document = orjson.loads(text)
        fields = {
            attribute: document.pop(name)
            for name, attribute in FIELDS_WITHOUT_COLUMN.items()
            if name in document
        }
    except (orjson.JSONDecodeError, AttributeError) as reason:
        raise CorruptTableError(
            f"the field 'extra' of an entry is not a JSON object: {text[:100]!r}"
        ) from reason
    return fields | {"extra": document}


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_map(kind):
        return pa.array(values, kind)
    # Built from all keys and all values: Arrow takes three times as long to convert pairs.
    maps: list[Mapping[str, str]] = [value or {} for value in values]
    ends: list[int | None] = list(itertools.accumulate(map(len, maps), initial=0))
    begins = [None if value is None else begin for value, begin in zip(values, ends, strict=False)]
    return pa.MapArray.from_arrays(
        pa.array([*begins, ends[-1]], pa.int32()),
        pa.array(list(itertools.chain.from_iterable(maps)), pa.string()),
        pa.array(list(itertools.chain.from_iterable(each.values() for each in maps)), pa.string()),
    )


def _mapping(pairs: list[tuple[str, str]] | None) -> dict[str, str] | None:
    return None if pairs is None else dict(pairs)


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
