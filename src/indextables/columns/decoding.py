"""The values of a manifest from bytes, whatever version or writer of the format they come from.

(milvus-storage decodes fields in its own order, and fails at the indexes of its older containers.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import orjson

from indextables.avro import (
    AvroError,
    Read,
    RecordClasses,
    Resolution,
    Schema,
    parse_schema,
    read_block_count,
    read_long,
    read_string,
    read_string_map,
)
from indextables.columns.manifest import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.schemas import NEWEST, inferred_version, schema


@dataclass(frozen=True)
class ManifestReader:
    """A reader of manifests with one schema, and the version of the format that the schema belongs to."""

    version: int
    read: Read[Manifest]


@cache
def stream_reader(version: int) -> Read[Manifest]:
    """Return the reader for what follows the header of a stream of this version."""
    return _manifest_reader(schema(version)).read


@lru_cache(maxsize=16)
def container_reader(schema_text: str) -> ManifestReader:
    """Return the reader for containers that have this schema in their header.

    >>> from indextables.columns.schemas import schema_text
    >>> container_reader(schema_text(4)).version
    4
    """
    return _manifest_reader(parse_schema(schema_text))


def _manifest_reader(written: object) -> ManifestReader:
    resolution = Resolution(_CLASSES)
    root = resolution.compile(written, _reader_schema(), "Manifest")
    return ManifestReader(inferred_version(resolution.fields), root.read)


@cache
def _reader_schema() -> Schema:
    """Return the newest schema, with the field of a file that only older ones have."""
    newest: Schema = orjson.loads(orjson.dumps(schema(NEWEST)))
    groups = newest["fields"][0]["type"]["items"]
    files = groups["fields"][1]["type"]["items"]
    files["fields"].append({"name": "metadata", "type": "bytes", "default": ""})
    return newest


def _delta_log(path: str, num_entries: int, kind: int) -> DeltaLog:
    try:
        return DeltaLog(path, num_entries, DeltaLogType(kind))
    except ValueError:
        raise AvroError(f"a delta log of unknown type {kind} ({path!r})") from None


def _read_file(raw: bytes, at: int) -> tuple[ColumnGroupFile, int]:
    """Read one file that is not in a plain list."""
    path, at = read_string(raw, at)
    start, at = read_long(raw, at)
    end, at = read_long(raw, at)
    properties, at = read_string_map(raw, at)
    return ColumnGroupFile(path, start, end, b"", properties), at


def _read_files(raw: bytes, at: int) -> tuple[tuple[ColumnGroupFile, ...], int]:
    """Read an array of files, each a path, a start, an end and a map of properties, in that order.

    Nearly all of a large manifest is this array, so no function is called for short strings and small numbers. Where
    a string ends is not compared with where the bytes end: a value always follows it, and reading it raises IndexError.

    >>> _read_files(bytes.fromhex("02 0461620014 02026b0276 00 00"), 0)
    ((ColumnGroupFile(path='ab', start_index=0, end_index=10, metadata=b'', properties={'k': 'v'}),), 13)
    """
    files: list[ColumnGroupFile] = []
    while True:
        count, at = read_block_count(raw, at)
        if not count:
            return tuple(files), at
        for _ in range(count):
            length = raw[at]
            if length & 0x81:  # 64 bytes or more, or a negative length
                path, at = read_string(raw, at)
            else:
                begin, at = at + 1, at + 1 + (length >> 1)
                path = raw[begin:at].decode("utf-8", "surrogateescape")
            start = raw[at] >> 1
            if raw[at] & 0x81:
                start, at = read_long(raw, at)
            else:
                at += 1
            end, at = read_long(raw, at)
            properties: dict[str, str] = {}
            while raw[at]:
                entries, at = read_block_count(raw, at)
                for _ in range(entries):
                    length = raw[at]
                    if length & 0x81:
                        key, at = read_string(raw, at)
                    else:
                        begin, at = at + 1, at + 1 + (length >> 1)
                        key = raw[begin:at].decode("utf-8", "surrogateescape")
                    length = raw[at]
                    if length & 0x81:
                        properties[key], at = read_string(raw, at)
                    else:
                        begin, at = at + 1, at + 1 + (length >> 1)
                        properties[key] = raw[begin:at].decode("utf-8", "surrogateescape")
                if not entries:
                    break
            else:
                at += 1
            files.append(ColumnGroupFile(path, start, end, b"", properties))


_CLASSES: Final = RecordClasses(
    types={
        "Manifest": Manifest,
        "ColumnGroup": ColumnGroup,
        "ColumnGroupFile": ColumnGroupFile,
        "DeltaLog": DeltaLog,
        "Statistics": Statistics,
        "Index": Index,
        "LobFileInfo": LobFile,
    },
    constructors={"DeltaLog": _delta_log},
    # Versions 1 and 2 of the format keep the files of a statistic and nothing else.
    shorthands={"Statistics": ({"type": "array", "items": "string"}, Statistics)},
    fast_records={
        "ColumnGroupFile": (
            [(0, read_string), (1, read_long), (2, read_long), (4, read_string_map)],
            _read_file,
        )
    },
    fast_arrays={_read_file: _read_files},
)
