"""Live files as entries of a state, and back, with nothing lost on the way."""

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
}
_MAPS: Final = {"partitionValues": "partition_values", "minValues": "min_values", "maxValues": "max_values"}
_LISTS: Final = {"splitTags": "split_tags", "companionSourceFiles": "companion_source_files"}
REST_FIELDS: Final = {
    "tags": "tags",
    "hotcacheStartOffset": "hotcache_start_offset",
    "hotcacheLength": "hotcache_length",
}
_COLUMNS: Final = {name: attrgetter(attribute) for name, attribute in (_ATTRIBUTES | _MAPS | _LISTS).items()}
_NOTHING: Final = pa.Table.from_batches([], LIVE_SCHEMA)  # `empty_table` would load pandas
_ROWS: Final = 8192
_AT_ONCE: Final = 1 << 17
"""So many files are put into one array: all their texts together have to stay below 2 GB."""


@dataclass(frozen=True, slots=True)
class Added:
    """A live file, and the version and time at which it came. `over_base`: the base state may have it too."""

    file: AddFile
    version: int
    timestamp_ms: int
    over_base: bool = False


def to_entries(files: Iterable[tuple[str, Added]]) -> pa.Table:
    """The files with their keys, in LIVE_SCHEMA."""
    found = list(files)
    tables = [_table(found[start : start + _AT_ONCE]) for start in range(0, len(found), _AT_ONCE)]
    return pa.concat_tables(tables) if tables else _NOTHING


def _table(found: list[tuple[str, Added]]) -> pa.Table:
    columns: dict[str, list[Any]] = {KEY: [key for key, _ in found]}
    actions = [added.file for _, added in found]
    for name, attribute in _COLUMNS.items():
        columns[name] = list(map(attribute, actions))
    columns["addedAtVersion"] = [added.version for _, added in found]
    columns["addedAtTimestamp"] = [added.timestamp_ms for _, added in found]
    columns["extra"] = list(map(_extra, actions))
    try:
        return pa.Table.from_arrays(
            [_array(columns[field.name], field.type) for field in LIVE_SCHEMA], schema=LIVE_SCHEMA
        )
    except (pa.ArrowInvalid, OverflowError) as reason:
        raise CorruptTableError(
            f"the log has a file with a number that is out of range ({reason})"
        ) from reason


def from_entries(entries: pa.Table) -> Iterator[tuple[str, Added]]:
    """The files of the entries with their keys, made one by one as they are asked for."""
    for batch in entries.to_batches(max_chunksize=_ROWS):
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        # A column at a time is ten times as fast as a row at a time.
        values = {attribute: columns[name] for name, attribute in _ATTRIBUTES.items()}
        values |= {attribute: [_mapping(v) for v in columns[name]] for name, attribute in _MAPS.items()}
        values |= {attribute: [_tuple(v) for v in columns[name]] for name, attribute in _LISTS.items()}
        names = list(values)
        rows = zip(*values.values(), strict=True)
        beside = zip(
            columns[KEY],
            columns["addedAtVersion"],
            columns["addedAtTimestamp"],
            columns["extra"],
            strict=True,
        )
        for row, (key, version, timestamp, extra) in zip(rows, beside, strict=True):
            more = _rest(extra) if extra is not None else {}
            yield key, Added(AddFile(**dict(zip(names, row, strict=True)), **more), version, timestamp)


def _extra(file: AddFile) -> str | None:
    known = {name: getattr(file, attribute) for name, attribute in REST_FIELDS.items()}
    rest = {**file.extra, **{name: value for name, value in known.items() if value is not None}}
    try:
        return orjson.dumps(rest, default=dict).decode() if rest else None
    except orjson.JSONEncodeError as reason:  # orjson reads deeper nesting than it writes
        raise CorruptTableError(
            f"the log's add of {file.path!r} has a field that this release cannot keep ({reason})"
        ) from None


def _rest(text: str) -> dict[str, Any]:
    try:
        document = orjson.loads(text)
        known = {attribute: document.pop(name) for name, attribute in REST_FIELDS.items() if name in document}
    except (orjson.JSONDecodeError, AttributeError) as reason:
        raise CorruptTableError(f"an entry's field 'extra' is not a JSON object: {text[:100]!r}") from reason
    return known | {"extra": document}


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_map(kind):
        return pa.array(values, kind)
    # Put together from all keys and all values: to be given pairs costs Arrow three times as much.
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
