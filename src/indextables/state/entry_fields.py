"""The fields of a file entry: names, types, and the ids that they have in existing tables."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson
import pyarrow as pa

_TEXTS: Final = pa.map_(pa.string(), pa.string())
_LIST: Final = pa.list_(pa.string())
_AVRO: Final = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.bool_(): "boolean",
    _TEXTS: {"type": "map", "values": "string"},
    _LIST: {"type": "array", "items": "string"},
}


class EntryField(NamedTuple):
    """One field of an entry. A required one is never null; `default` is its value in files without it."""

    name: str
    id: int
    type: pa.DataType
    required: bool = False
    default: Any = None


FIELDS: Final = (
    EntryField("path", 100, pa.string(), required=True),
    EntryField("partitionValues", 101, _TEXTS, required=True, default=[]),
    EntryField("size", 102, pa.int64(), required=True),
    EntryField("modificationTime", 103, pa.int64(), required=True, default=0),
    EntryField("dataChange", 104, pa.bool_(), required=True, default=True),
    EntryField("stats", 110, pa.string()),
    EntryField("minValues", 111, _TEXTS),
    EntryField("maxValues", 112, _TEXTS),
    EntryField("numRecords", 113, pa.int64()),
    EntryField("footerStartOffset", 120, pa.int64()),
    EntryField("footerEndOffset", 121, pa.int64()),
    EntryField("hasFooterOffsets", 124, pa.bool_(), required=True, default=False),
    EntryField("deleteOpstamp", 123, pa.int64()),
    EntryField("splitTags", 132, _LIST),
    EntryField("numMergeOps", 134, pa.int32()),
    EntryField("docMappingJson", 133, pa.string()),
    EntryField("docMappingRef", 135, pa.string()),
    EntryField("uncompressedSizeBytes", 136, pa.int64()),
    EntryField("timeRangeStart", 137, pa.string()),
    EntryField("timeRangeEnd", 138, pa.string()),
    EntryField("addedAtVersion", 140, pa.int64(), required=True, default=0),
    EntryField("addedAtTimestamp", 141, pa.int64(), required=True, default=0),
    EntryField("companionSourceFiles", 150, _LIST),
    EntryField("companionDeltaVersion", 151, pa.int64()),
    EntryField("companionFastFieldMode", 152, pa.string()),
    # The other fields of the log's add action, as JSON, so that no state loses a field.
    EntryField("extra", 159, pa.string()),
    # The delta log with the deleted rows of the file, and their number; behind a reader feature of the protocol.
    EntryField("deltaLog", 201, pa.string()),
    EntryField("numDeleted", 202, pa.int64()),
)
ENTRY_SCHEMA: Final = pa.schema([pa.field(f.name, f.type, nullable=not f.required) for f in FIELDS])


def _avro_field(field: EntryField) -> dict[str, Any]:
    kind = _AVRO[field.type]
    document: dict[str, Any] = {"name": field.name, "type": kind if field.required else ["null", kind]}
    if not field.required:
        document["default"] = None
    elif field.name == "hasFooterOffsets":
        document["default"] = False
    return document | {"field-id": field.id}


AVRO_SCHEMA: Final[str] = orjson.dumps(
    {
        "type": "record",
        "name": "FileEntry",
        "namespace": "io.indextables.state",
        "doc": "A live file of the table",
        "fields": [_avro_field(field) for field in FIELDS],
    }
).decode()
