"""The state manifest: which manifests and tombstones make up the table at one version.

Written as `_manifest.avro`, one record; older tables have the same fields in `_manifest.json`. Two entries of the Avro
header, which other readers ignore, hold what the record has no field for: the place and statistics of each manifest,
and the values that the log needs to continue from this state (`extras`).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import fastavro
import orjson

from indextables.avro import (
    MAX_BLOCK,
    Block,
    check_hash,
    parse_record_schema,
    read_blocks,
    read_header,
    write_container,
)
from indextables.errors import CorruptTableError, InputError, ProtocolError
from indextables.predicates import Bounds
from indextables.schema import Field
from indextables.stats import bounds_of

FORMAT_VERSION: Final = 1
REGISTRY_PREFIX: Final = "docMappingSchema."

MAX_STATE: Final = 1 << 30
"""A state manifest with more bytes is neither written nor read."""

MAX_MANIFEST: Final = 2 << 30
"""Likewise for a manifest of file entries."""

_PLACES: Final = "indextables.manifests"
_EXTRAS: Final = "indextables.log"


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """Smallest and largest value of a partition column, as the log's text; None when all are null."""

    min: str | None
    max: str | None


class StatBounds(NamedTuple):
    """The smallest minimum and largest maximum of a column in some files, as the log's text, and its type then."""

    kind: str
    low: str | None
    high: str | None

    def of(self, column: Field) -> Bounds | None:
        """Return the bounds of the column, or None if it had another type when they were taken.

        >>> StatBounds("long", "3", "7").of(Field("n", "long"))
        Bounds(low=3, high=7, high_is_prefix=False, nan_above=False)
        """
        if column.type != self.kind:
            return None
        return bounds_of(column, {column.name: self.low}, {column.name: self.high}, ours=True)


@dataclass(frozen=True, slots=True)
class ManifestPlace:
    """What a ranged read of a manifest needs first: the size of its header, and the header's checksum."""

    header_size: int
    header_crc: int


@dataclass(frozen=True)
class ManifestInfo:
    """One manifest of a state. A manifest without bounds is always read."""

    path: str
    num_entries: int
    min_added_at_version: int
    max_added_at_version: int
    partition_bounds: Mapping[str, PartitionBounds] | None = None
    tombstone_count: int = 0
    live_entry_count: int = -1
    place: ManifestPlace | None = None
    statistics: Mapping[str, StatBounds] = field(default_factory=dict)


@dataclass(frozen=True)
class StateManifest:
    """The table at `state_version`: all entries of the manifests whose path is not among the tombstones.

    >>> state = StateManifest(7, 1704067200000, num_files=0, total_bytes=0)
    >>> decode_state(encode_state(state), "_manifest.avro") == state
    True
    """

    state_version: int
    created_at: int
    num_files: int
    total_bytes: int
    manifests: tuple[ManifestInfo, ...] = ()
    tombstones: tuple[str, ...] = ()
    schema_registry: Mapping[str, str] = field(default_factory=dict)
    protocol_version: int = 4
    metadata: str | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)


def _field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


_BOUNDS_ITEM: Final = {
    "type": "record",
    "name": "PartitionBoundsItem",
    "fields": [
        _field("min", ["null", "string"], default=None),
        _field("max", ["null", "string"], default=None),
    ],
}
_MANIFEST_ITEM: Final = {
    "type": "record",
    "name": "ManifestInfoItem",
    "fields": [
        _field("path", "string"),
        _field("numEntries", "long"),
        _field("minAddedAtVersion", "long"),
        _field("maxAddedAtVersion", "long"),
        _field("partitionBounds", ["null", {"type": "map", "values": _BOUNDS_ITEM}], default=None),
        _field("tombstoneCount", "long", default=0),
        _field("liveEntryCount", "long", default=-1),
    ],
}
STATE_SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "StateManifest",
    "namespace": "io.indextables.state",
    "doc": "The table at one version",
    "fields": [
        _field("formatVersion", "int"),
        _field("stateVersion", "long"),
        _field("createdAt", "long"),
        _field("numFiles", "long"),
        _field("totalBytes", "long"),
        _field("manifests", {"type": "array", "items": _MANIFEST_ITEM}),
        _field("tombstones", {"type": "array", "items": "string"}, default=[]),
        _field("schemaRegistry", {"type": "map", "values": "string"}, default={}),
        _field("protocolVersion", "int", default=4),
        _field("metadata", ["null", "string"], default=None),
    ],
}
_PARSED: Final = fastavro.parse_schema(STATE_SCHEMA)


def encode_state(state: StateManifest, *, codec: str = "zstandard", level: int = 3) -> bytes:
    """Encode a state as the bytes of `_manifest.avro`."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _PARSED, _document(state))
    if out.tell() > MAX_BLOCK:
        raise InputError(
            f"the state of version {state.state_version} has {out.tell() >> 20} MB in one record; readers accept up "
            f"to {MAX_BLOCK >> 20} MB. Compact it (COMPACT INDEXTABLES)"
        )
    places = {
        info.path: [info.place.header_size, info.place.header_crc, _as_lists(info.statistics)]
        for info in state.manifests
        if info.place
    }
    data = write_container(
        orjson.dumps(STATE_SCHEMA).decode(),
        [Block(1, out.getvalue())],
        codec=codec,
        level=level,
        metadata=lambda _: {
            _PLACES: orjson.dumps(places).decode(),
            _EXTRAS: orjson.dumps(state.extras).decode(),
        },
    )
    if len(data) > MAX_STATE:
        raise InputError(
            f"the state of version {state.state_version} has {len(data) >> 20} MB; "
            f"readers accept up to {MAX_STATE >> 20} MB"
        )
    return data


def decode_state(data: bytes, name: str) -> StateManifest:
    """Decode the bytes of `_manifest.avro` or `_manifest.json`. CorruptTableError names the file."""
    try:
        if data[:1] == b"{":
            return _state(orjson.loads(data), {}, {}, name)
        header = read_header(data, name)
        check_hash(data, header, name)
        parsed = fastavro.parse_schema(parse_record_schema(header.schema))
        blocks = list(read_blocks(data, header, name))
        if sum(block.count for block in blocks) != 1:
            raise ValueError("it does not hold exactly one record")
        record = fastavro.schemaless_reader(io.BytesIO(blocks[0].data), parsed, None)
        places = orjson.loads(header.metadata.get(_PLACES, "{}"))
        extras = orjson.loads(header.metadata.get(_EXTRAS, "{}"))
        return _state(record, places, extras, name)
    except CorruptTableError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, IndexError, OverflowError) as reason:
        raise CorruptTableError(f"{name}: not a state that can be read ({reason!r})") from reason
    except (fastavro.schema.SchemaParseException, RecursionError) as reason:
        raise CorruptTableError(f"{name}: not a state that can be read ({reason})") from reason


def _document(state: StateManifest) -> dict[str, Any]:
    return {
        "formatVersion": FORMAT_VERSION,
        "stateVersion": state.state_version,
        "createdAt": state.created_at,
        "numFiles": state.num_files,
        "totalBytes": state.total_bytes,
        "manifests": [_manifest_document(info) for info in state.manifests],
        "tombstones": list(state.tombstones),
        "schemaRegistry": dict(state.schema_registry),
        "protocolVersion": state.protocol_version,
        "metadata": state.metadata,
    }


def _manifest_document(info: ManifestInfo) -> dict[str, Any]:
    bounds = info.partition_bounds
    return {
        "path": info.path,
        "numEntries": info.num_entries,
        "minAddedAtVersion": info.min_added_at_version,
        "maxAddedAtVersion": info.max_added_at_version,
        "partitionBounds": bounds
        and {column: {"min": known.min, "max": known.max} for column, known in bounds.items()},
        "tombstoneCount": info.tombstone_count,
        "liveEntryCount": info.live_entry_count,
    }


def _state(
    record: Mapping[str, Any], places: Mapping[str, Any], extras: Mapping[str, Any], name: str
) -> StateManifest:
    if (record.get("formatVersion") or FORMAT_VERSION) > FORMAT_VERSION:
        raise ProtocolError(
            f"reading {name} requires state format {record['formatVersion']}; this release supports up to "
            f"{FORMAT_VERSION}. Upgrade indextables to read it"
        )
    registry = record.get("schemaRegistry") or {}
    return StateManifest(
        state_version=_whole(record["stateVersion"]),
        created_at=_whole(record.get("createdAt") or 0),
        num_files=_whole(record["numFiles"]),
        total_bytes=_whole(record.get("totalBytes") or 0),
        manifests=tuple(_info(item, places) for item in record["manifests"]),
        tombstones=tuple(_text(path) for path in record.get("tombstones") or ()),
        schema_registry={key.removeprefix(REGISTRY_PREFIX): _text(value) for key, value in registry.items()},
        protocol_version=_whole(record.get("protocolVersion") or 4),
        metadata=record.get("metadata"),
        extras=extras,
    )


def _info(item: Mapping[str, Any], places: Mapping[str, Any]) -> ManifestInfo:
    path = _text(item["path"])
    bounds = item.get("partitionBounds")
    place = places.get(path)
    return ManifestInfo(
        path=path,
        num_entries=_whole(item["numEntries"]),
        min_added_at_version=_whole(item.get("minAddedAtVersion") or 0),
        max_added_at_version=_whole(item.get("maxAddedAtVersion") or 0),
        partition_bounds=None
        if bounds is None
        else {
            column: PartitionBounds(known.get("min"), known.get("max")) for column, known in bounds.items()
        },
        tombstone_count=_whole(item.get("tombstoneCount") or 0),
        live_entry_count=_whole(item["liveEntryCount"]) if item.get("liveEntryCount") is not None else -1,
        place=None if place is None else ManifestPlace(_whole(place[0]), _whole(place[1])),
        # Missing in states of the first releases.
        statistics={} if place is None or len(place) < 3 else _statistics(place[2]),
    )


def _as_lists(statistics: Mapping[str, StatBounds]) -> dict[str, list[str | None]]:
    return {name: list(bounds) for name, bounds in statistics.items()}


def _statistics(document: Mapping[str, Any]) -> dict[str, StatBounds]:
    return {name: StatBounds(_text(kind), *ends) for name, (kind, *ends) in document.items()}


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
