"""The values of a manifest as bytes, in the order of each version's schema; a version refuses what it cannot hold.

Versions up to 3 keep `metadata` of a file, later ones `properties`, of which one may be called "metadata". The two are
the same thing: bytes in the former, and in the latter the text with those bytes, which need not be UTF-8. Each is read
as it is stored, and written as the target version stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeVar

from indextables.avro import (
    Schema,
    Write,
    write_array,
    write_bytes,
    write_long,
    write_map,
    write_string,
)
from indextables.columns.manifest import ColumnGroupFile, Index, Manifest
from indextables.columns.schemas import schema
from indextables.errors import InputError

T = TypeVar("T")

METADATA: Final = "metadata"
"""The property of a file that older versions have a field for."""

_OLD_INDEX: Final = frozenset({"column_name", "index_type", "path", "properties"})
_INT_LIMIT: Final = 1 << 31


def write_manifest(out: bytearray, manifest: Manifest, version: int) -> None:
    """Append the values of a manifest, in the order of the schema of the version."""
    _check_room(manifest, version)
    try:
        _manifest_writer(version)(out, manifest)
    except UnicodeEncodeError as reason:
        raise InputError(f"a manifest cannot hold the text {reason.object!r:.100}: {reason.reason}") from None


@cache
def _manifest_writer(version: int) -> Write[Manifest]:
    return _writer(schema(version), version)


def _writer(node: str | Schema, version: int) -> Write[Any]:
    """Return a function that writes values of a type of the schema."""
    if isinstance(node, str):
        return _PRIMITIVES[node]
    if node["type"] == "array":
        write_item = _writer(node["items"], version)
        return lambda out, items: write_array(out, items, write_item)
    if node["type"] == "map":
        write_value = _writer(node["values"], version)
        return lambda out, entries: write_map(out, _by_key(entries), write_value)
    if node["name"] == "ColumnGroupFile":
        return _old_file_writer(version) if version < 4 else _write_file
    getters = [
        _bare_stats if f["name"] == "stats" and version < 3 else attrgetter(f["name"]) for f in node["fields"]
    ]
    writers = [_writer(f["type"], version) for f in node["fields"]]
    steps = list(zip(getters, writers, strict=True))

    def write_record(out: bytearray, record: Any) -> None:
        for get, write in steps:
            write(out, get(record))

    return write_record


def _bare_stats(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    return {key: statistics.paths for key, statistics in manifest.stats.items()}


def _write_int(out: bytearray, value: int) -> None:
    if not -_INT_LIMIT <= value < _INT_LIMIT:
        raise InputError(f"the number {value} does not fit into the 32 bits that a manifest has for it")
    write_long(out, value)


_PRIMITIVES: Final[dict[str, Write[Any]]] = {"string": write_string, "long": write_long, "int": _write_int}


def _check_room(manifest: Manifest, version: int) -> None:
    if version < 2 and manifest.indexes:
        raise _no_room(f"the index of column {manifest.indexes[0].column_name!r}", version, 2)
    if version < 3:
        for key, statistics in manifest.stats.items():
            if statistics.metadata:
                raise _no_room(f"the metadata of statistic {key!r}", version, 3)
    if version < 5 and manifest.lob_files:
        raise _no_room(f"the large-object file {manifest.lob_files[0].path!r}", version, 5)
    if version < 6:
        for index in manifest.indexes:
            for field in fields(Index):
                if field.name not in _OLD_INDEX and getattr(index, field.name) != field.default:
                    raise _no_room(f"{field.name} of the index of column {index.column_name!r}", version, 6)


def _no_room(what: str, version: int, since: int) -> InputError:
    return InputError(f"manifest version {version} cannot hold {what}; version {since} and later can")


def _old_file_writer(version: int) -> Write[ColumnGroupFile]:
    def write_file(out: bytearray, file: ColumnGroupFile) -> None:
        write_string(out, file.path)
        write_long(out, file.start_index)
        write_long(out, file.end_index)
        for key in file.properties:
            if key != METADATA:
                raise _no_room(f"property {key!r} of file {file.path!r}", version, 4)
        properties = _with_metadata(file)
        write_bytes(out, properties.get(METADATA, "").encode("utf-8", "surrogateescape"))

    return write_file


def _write_file(out: bytearray, file: ColumnGroupFile) -> None:
    write_string(out, file.path)
    write_long(out, file.start_index)
    write_long(out, file.end_index)
    properties = _with_metadata(file) if file.metadata else file.properties
    if properties:
        write_long(out, len(properties))
        for key, value in properties.items():  # the one map that has no order in the original
            write_string(out, key)
            write_string(out, value)
    out.append(0)


def _with_metadata(file: ColumnGroupFile) -> Mapping[str, str]:
    if not file.metadata:
        return file.properties
    text = file.metadata.decode("utf-8", "surrogateescape")
    if file.properties.get(METADATA, text) != text:
        raise InputError(f"file {file.path!r} has metadata, and other metadata among its properties")
    return {**file.properties, METADATA: text}


def _by_key(entries: Mapping[str, T]) -> list[tuple[str, T]]:
    """Sort the entries by the bytes of their keys, as the original's maps do."""
    return sorted(entries.items(), key=lambda entry: entry[0].encode("utf-8", "surrogateescape"))
