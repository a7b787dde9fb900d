"""The values of a manifest as bytes, in each version of the format; what a version has no room for is refused.

Versions up to 3 keep `metadata` of a file, later ones `properties`, of which one may be called "metadata". The two
are the same thing: bytes here, and there the text with those bytes, which need not be UTF-8. They are read as they
stand, and written as the version at hand wants them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final, TypeVar

from indextables.columns.binary import Write, write_array, write_bytes, write_long, write_map, write_string
from indextables.columns.manifest import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.errors import InputError

T = TypeVar("T")

METADATA: Final = "metadata"
"""The property of a file that older versions have a field for."""

_OLD_INDEX: Final = frozenset({"column_name", "index_type", "path", "properties"})
_INT_LIMIT: Final = 1 << 31


def write_manifest(out: bytearray, manifest: Manifest, version: int) -> None:
    """Append the sections of a manifest as the version orders them."""
    _check_room(manifest, version)
    try:
        write_array(out, manifest.column_groups, _group_writer(version))
        write_array(out, manifest.delta_logs, _write_delta_log)
        write_map(out, _sorted(manifest.stats), _write_paths if version < 3 else _write_statistics)
        if version >= 2:
            write_array(out, manifest.indexes, _write_old_index if version < 6 else _write_index)
        if version >= 5:
            write_array(out, manifest.lob_files, _write_lob_file)
    except UnicodeEncodeError as reason:
        raise InputError(f"a manifest cannot hold the text {reason.object!r:.100}: {reason.reason}") from None


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


def _group_writer(version: int) -> Write[ColumnGroup]:
    write_file = _old_file_writer(version) if version < 4 else _write_file

    def write_group(out: bytearray, group: ColumnGroup) -> None:
        write_array(out, group.columns, write_string)
        write_array(out, group.files, write_file)
        write_string(out, group.format)

    return write_group


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


def _write_delta_log(out: bytearray, log: DeltaLog) -> None:
    write_string(out, log.path)
    write_long(out, log.type)
    write_long(out, log.num_entries)


def _write_paths(out: bytearray, statistics: Statistics) -> None:
    write_array(out, statistics.paths, write_string)


def _write_statistics(out: bytearray, statistics: Statistics) -> None:
    write_array(out, statistics.paths, write_string)
    write_map(out, _sorted(statistics.metadata), write_string)


def _write_old_index(out: bytearray, index: Index) -> None:
    for text in (index.column_name, index.index_type, index.path):
        write_string(out, text)
    write_map(out, _sorted(index.properties), write_string)


def _write_index(out: bytearray, index: Index) -> None:
    for text in (index.column_name, index.index_name, index.index_type, index.path):
        write_string(out, text)
    for number in (
        index.field_id,
        index.index_id,
        index.build_id,
        index.index_version,
        index.num_rows,
        index.serialized_size,
        index.mem_size,
    ):
        write_long(out, number)
    for number in (
        index.current_index_version,
        index.current_scalar_index_version,
        index.index_store_path_version,
    ):
        if not -_INT_LIMIT <= number < _INT_LIMIT:
            raise InputError(f"a manifest cannot hold {number} here: versions of an index have 32 bits")
        write_long(out, number)
    write_array(out, index.index_file_keys, write_string)
    write_map(out, _sorted(index.properties), write_string)


def _write_lob_file(out: bytearray, lob: LobFile) -> None:
    write_string(out, lob.path)
    for number in (lob.field_id, lob.total_rows, lob.valid_rows, lob.file_size_bytes):
        write_long(out, number)


def _sorted(entries: Mapping[str, T]) -> list[tuple[str, T]]:
    """By the bytes of the keys, as the original's sorted maps have them."""
    return sorted(entries.items(), key=lambda entry: entry[0].encode("utf-8", "surrogateescape"))
