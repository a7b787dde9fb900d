"""The container of a split: the Quickwit bundle layout, so that one reader opens ours and the original's.

    [members][magic u32][version u32][JSON file table][table length u32][hotcache][hotcache length u32]

The length of the table counts its magic and version too; the hotcache of ours is empty. What ours adds is the
member `checksums.json`: size and CRC-32 of every other member, and of the footer of each Parquet member, which
is read without the rest. The pages of Parquet members carry checksums of their own.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError
from indextables.storage import Store

MANIFEST: Final = "columns.manifest"
MAPPING: Final = "field_mapping.json"
CHECKSUMS: Final = "checksums.json"
BLOOM_COLUMNS: Final = "bloom.json"

CHUNK_CHECKSUMS: Final = ".crc32"
"""Suffix to the name of a Parquet member: the member that holds the checksums of its column chunks."""

PAGE_DIRECTORY: Final = ".pages"
"""Suffix to the name of a Parquet member: the member that holds the positions of its pages."""

_MAGIC: Final = 403881646
_VERSION: Final = 1
_U32: Final = struct.Struct("<I")
_HEADER: Final = struct.Struct("<II")
_COPY_BYTES: Final = 1 << 20
_TAIL_BYTES: Final = 1 << 17
_MAX_WHOLE_BYTES: Final = 256 << 20
"""Footers and the members that are read as a whole are far smaller, even those of splits of many gigabytes."""


def rows_member(group: int) -> str:
    """Return the name of the Parquet member with the rows of a column group."""
    return f"rows-{group}.parquet"


@dataclass(frozen=True)
class Written:
    """Where the parts of a finished bundle lie."""

    size: int
    footer_start: int


@dataclass(frozen=True)
class Member:
    """One file inside a bundle; `crc32` is None where the writer left no checksums."""

    name: str
    offset: int
    length: int
    crc32: int | None = None


@dataclass(frozen=True)
class Bundle:
    """An opened container: its file table, and its last bytes, which were read to find it."""

    store: Store
    key: str
    size: int
    footer_start: int
    members: Mapping[str, Member]
    tail: bytes = field(repr=False)
    parquet_footers: Mapping[str, Member] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return f"split {self.store.uri}/{self.key}"

    @property
    def fingerprint(self) -> str:
        """Differs between any two splits that differ: their checksums or their file tables do."""
        start = self.members[CHECKSUMS].offset if CHECKSUMS in self.members else self.footer_start
        return hashlib.sha256(self.range(start, self.size - start)).hexdigest()[:32]

    def member(self, name: str) -> Member:
        try:
            return self.members[name]
        except KeyError:
            raise CorruptTableError(f"{self.name} has no member {name!r}") from None

    def read(self, name: str) -> bytes:
        """A whole member, checked."""
        member = self.member(name)
        if member.length > _MAX_WHOLE_BYTES:
            raise self.damaged(f"{name!r} has {member.length} bytes, which is beyond all bounds")
        return self.checked(member, self.range(member.offset, member.length))

    def range(self, offset: int, length: int) -> bytes:
        start = offset - (self.size - len(self.tail))
        if start >= 0:
            return self.tail[start : start + length]
        return self.store.get_range(self.key, offset, length)

    def checked(self, member: Member, data: bytes | memoryview) -> bytes:
        if member.crc32 is not None and zlib.crc32(data) != member.crc32:
            raise self.damaged(f"the checksum of {member.name!r} is wrong")
        return bytes(data)

    def damaged(self, reason: object) -> CorruptTableError:
        return CorruptTableError(f"{self.name} is damaged: {reason}")


def write_bundle(
    target: Path, files: Iterable[tuple[str, Path]], documents: Iterable[tuple[str, bytes]]
) -> Written:
    """Pack `files`, then the small `documents`, so that one read of the end finds all that opening needs."""
    table: dict[str, dict[str, int]] = {}
    checksums: dict[str, Any] = {"members": {}, "parquetFooters": {}}
    with target.open("wb") as out:
        for name, path in files:
            _append(out, table, checksums, name, path)
        for name, data in documents:
            _append(out, table, checksums, name, data)
        _append(out, table, None, CHECKSUMS, orjson.dumps(checksums))
        footer_start = out.tell()
        document = _HEADER.pack(_MAGIC, _VERSION) + orjson.dumps({"files": table})
        out.write(document + _U32.pack(len(document)) + _U32.pack(0))
        return Written(out.tell(), footer_start)


def open_bundle(store: Store, key: str, size: int | None = None) -> Bundle:
    """Read the end of a split and find its members there."""
    size, tail = _read_tail(store, key, size)
    try:
        footer_start, tail, members = _file_table(store, key, size, tail)
    except (struct.error, KeyError, TypeError, AttributeError, ValueError) as reason:
        raise CorruptTableError(f"split {store.uri}/{key} is damaged: {reason}") from reason
    return _with_checksums(Bundle(store, key, size, footer_start, members, tail))


def _read_tail(store: Store, key: str, size: int | None) -> tuple[int, bytes]:
    name = f"split {store.uri}/{key}"
    try:
        found = store.head(key).size if size is None else size
        if found < 2 * _U32.size + _HEADER.size:
            raise CorruptTableError(f"{name} is damaged: {found} bytes are too few for a split")
        return found, store.get_range(key, max(0, found - _TAIL_BYTES), min(found, _TAIL_BYTES))
    except ObjectNotFoundError as reason:
        raise CorruptTableError(f"{name} is missing, though the table's log names it") from reason
    except StorageError as reason:
        if size is not None and (actual := store.head(key).size) != size:
            raise CorruptTableError(f"{name} is damaged: it has {actual} bytes instead of {size}") from reason
        raise


def _append(
    out: BinaryIO,
    table: dict[str, dict[str, int]],
    checksums: dict[str, Any] | None,
    name: str,
    source: Path | bytes,
) -> None:
    start, crc = out.tell(), 0
    if isinstance(source, bytes):
        out.write(source)
        crc = zlib.crc32(source)
    else:
        with source.open("rb") as file:
            while chunk := file.read(_COPY_BYTES):
                out.write(chunk)
                crc = zlib.crc32(chunk, crc)
        if checksums is not None and name.endswith(".parquet"):
            footer = _parquet_footer(source)
            checksums["parquetFooters"][name] = {"size": len(footer), "crc32": zlib.crc32(footer)}
    table[name] = {"start": start, "end": out.tell()}
    if checksums is not None:
        checksums["members"][name] = {"size": out.tell() - start, "crc32": crc}


def _parquet_footer(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-8, 2)
        length = _U32.unpack(file.read(4))[0]
        file.seek(-(length + 8), 2)
        return file.read()


def _file_table(store: Store, key: str, size: int, tail: bytes) -> tuple[int, bytes, dict[str, Member]]:
    hotcache_length = _U32.unpack_from(tail, len(tail) - 4)[0]
    length_at = size - 4 - hotcache_length - 4
    tail = _reaching(store, key, size, tail, length_at)
    table_length = _U32.unpack_from(tail, length_at - (size - len(tail)))[0]
    footer_start = length_at - table_length
    tail = _reaching(store, key, size, tail, footer_start)
    at = footer_start - (size - len(tail))
    magic, version = _HEADER.unpack_from(tail, at)
    if magic != _MAGIC:
        raise ValueError("its file table does not begin with the bundle's magic number")
    if version != _VERSION:
        raise ValueError(f"its bundle has version {version}; this release reads version {_VERSION}")
    files = orjson.loads(tail[at + _HEADER.size : at + table_length])["files"]
    members = {}
    for name, place in files.items():
        start, end = place["start"], place["end"]
        if not (isinstance(start, int) and isinstance(end, int)):
            raise ValueError(f"the place of member {name!r} is not two numbers")  # noqa: TRY004
        if not 0 <= start <= end <= footer_start or "/" in name or name in ("", ".", ".."):
            raise ValueError(f"member {name!r} does not lie inside it")
        members[name] = Member(name, start, end - start)
    if sum(member.length for member in members.values()) > footer_start:
        raise ValueError("its members overlap")  # unpacked, they would take more room than the split itself
    return footer_start, tail, members


def _reaching(store: Store, key: str, size: int, tail: bytes, offset: int) -> bytes:
    if offset < 0:
        raise ValueError("its last bytes give lengths that it does not have")
    if size - offset > _MAX_WHOLE_BYTES:
        raise ValueError(
            f"its file table is {size - offset} bytes before the end, which is beyond all bounds"
        )
    missing = size - len(tail) - offset
    return tail if missing <= 0 else store.get_range(key, offset, missing) + tail


def _with_checksums(bundle: Bundle) -> Bundle:
    if CHECKSUMS not in bundle.members:
        return bundle
    try:
        known = orjson.loads(bundle.read(CHECKSUMS))
        members = {CHECKSUMS: bundle.members[CHECKSUMS]}
        for name, entry in known["members"].items():
            member = bundle.member(name)
            if member.length != entry["size"]:
                raise ValueError(f"member {name!r} has {member.length} bytes instead of {entry['size']}")
            members[name] = Member(name, member.offset, member.length, entry["crc32"])
        footers = {}
        for name, entry in known["parquetFooters"].items():
            end = members[name].offset + members[name].length
            if not 0 <= entry["size"] <= members[name].length:
                raise ValueError(f"the footer of {name!r} is larger than its member")
            footers[name] = Member(f"{name} (footer)", end - entry["size"], entry["size"], entry["crc32"])
    except (KeyError, TypeError, AttributeError, ValueError) as reason:
        raise bundle.damaged(reason) from reason
    if members.keys() != bundle.members.keys():
        raise bundle.damaged("its file table and its checksums name different members")
    return Bundle(bundle.store, bundle.key, bundle.size, bundle.footer_start, members, bundle.tail, footers)
