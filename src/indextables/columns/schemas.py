"""The Avro schemas of manifests: which records each version of the format has, and their fields in order.

Versions 1 to 3 were written as bare streams, 3 to 6 as Avro containers; 3 exists as both. A container does not name its
version: `inferred_version` infers it from the schema inside. The text of that schema is part of the bytes of a file, so
it is exactly the text that milvus-storage writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import orjson

from indextables.avro import Schema

STREAM_VERSIONS: Final = (1, 2, 3)
CONTAINER_VERSIONS: Final = (3, 4, 5, 6)
NEWEST: Final = CONTAINER_VERSIONS[-1]

_STRINGS: Final = {"type": "array", "items": "string"}
_STRING_MAP: Final = {"type": "map", "values": "string"}
_INDEX_LONGS: Final = (
    "field_id", "index_id", "build_id", "index_version", "num_rows", "serialized_size", "mem_size",
)  # fmt: skip
_INDEX_INTS: Final = ("current_index_version", "current_scalar_index_version", "index_store_path_version")


@cache
def schema_text(version: int) -> str:
    """Return the schema in the header of a container of this version.

    >>> len(schema_text(6)), schema_text(6)[:61]
    (2433, '{"type":"record","namespace":"milvus_storage","name":"Manifes')
    """
    return orjson.dumps(schema(version)).decode()


@cache
def schema(version: int) -> Schema:
    """Return the Avro schema of a manifest of this version."""
    file = _record(
        "ColumnGroupFile",
        _field("path", "string"),
        _field("start_index", "long", 0),
        _field("end_index", "long", 0),
        _field("metadata", "bytes", "") if version < 4 else _field("properties", _STRING_MAP, {}),
    )
    group = _record(
        "ColumnGroup",
        _field("columns", _STRINGS),
        _field("files", _array(file)),
        _field("format", "string"),
    )
    log = _record("DeltaLog", _field("path", "string"), _field("type", "int"), _field("num_entries", "long"))
    statistics = _record("Statistics", _field("paths", _STRINGS), _field("metadata", _STRING_MAP, {}))
    fields = [
        _field("column_groups", _array(group)),
        _field("delta_logs", _array(log)),
        _field("stats", {"type": "map", "values": _STRINGS if version < 3 else statistics}, {}),
    ]
    if version >= 2:
        fields.append(_field("indexes", _array(_index(version)), []))
    if version >= 5:
        fields.append(_field("lob_files", _array(_lob_file()), []))
    return _record("Manifest", *fields)


def inferred_version(fields: Mapping[str, frozenset[str]]) -> int:
    """Return the version of the container whose records have these fields.

    >>> inferred_version({"Manifest": frozenset({"lob_files"}), "Index": frozenset()})
    5
    """
    if "index_name" in fields.get("Index", ()):
        return 6
    if "lob_files" in fields.get("Manifest", ()):
        return 5
    return 4 if "properties" in fields.get("ColumnGroupFile", ()) else 3


def _index(version: int) -> Schema:
    if version < 6:
        fields = [_field("column_name", "string"), _field("index_type", "string"), _field("path", "string")]
    else:
        fields = [
            _field("column_name", "string"),
            _field("index_name", "string", ""),
            _field("index_type", "string"),
            _field("path", "string"),
            *(_field(name, "long", 0) for name in _INDEX_LONGS),
            *(_field(name, "int", 0) for name in _INDEX_INTS),
            _field("index_file_keys", _STRINGS, []),
        ]
    return _record("Index", *fields, _field("properties", _STRING_MAP, {}))


def _lob_file() -> Schema:
    counts = ("field_id", "total_rows", "valid_rows", "file_size_bytes")
    return _record("LobFileInfo", _field("path", "string"), *(_field(name, "long") for name in counts))


def _record(name: str, *fields: Schema) -> Schema:
    return {"type": "record", "namespace": "milvus_storage", "name": name, "fields": list(fields)}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _field(name: str, kind: str | Schema, *default: object) -> Schema:
    return {"name": name, "type": kind} | ({"default": default[0]} if default else {})
