"""The container of a split: the layout of a Quickwit bundle, and the names of its members.

    [members][magic u32][version u32][JSON file table][table length u32][hotcache][hotcache length u32]

The table length includes the magic number and the version. This package writes version 2, or 3 if members are
compressed (see `compression`), an empty hotcache, and the member `checksums.json`: size and CRC-32 of every other
member, and of the footer of each Parquet member, which is read without the rest. The pages of Parquet members have
checksums of their own. Splits of other writers have the same layout in version 1, without `checksums.json`.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson
import pyarrow as pa

from indextables.errors import CorruptTableError, ObjectNotFoundError, ProtocolError, StorageError
from indextables.split.container.compression import (
    FRAME_BYTES,
    Frames,
    compress_frame,
    decompress_frame,
    is_compressible,
    is_worthwhile,
)
from indextables.storage import Store

MANIFEST: Final = "columns.manifest"
MAPPING: Final = "field_mapping.json"
CHECKSUMS: Final = "checksums.json"
BLOOM_COLUMNS: Final = "bloom.json"
ROW_RUNS: Final = "row_ids.json"
RANKING: Final = "ranking.json"

CHUNK_CHECKSUMS: Final = ".crc32"
"""Suffix to the name of a Parquet member: the member that holds the checksums of its column chunks."""

PAGE_DIRECTORY: Final = ".pages"
"""Suffix to the name of a Parquet member: the member that holds the positions of its pages."""

_SMALL: Final = frozenset({MANIFEST, MAPPING, CHECKSUMS, BLOOM_COLUMNS, ROW_RUNS, RANKING})

_MAGIC: Final = 403881646
_PLAIN_VERSION: Final = 2
_VERSION: Final = 3
"""Version 1 is that of Quickwit and of this package's splits without the member `row_ids.json`.

A release that does not know the member would take ids for ordinals. It refuses version 2. In version 3 some members are
compressed, in version 2 none.
"""

_FRAMES: Final = "zstd"
_U32: Final = struct.Struct("<I")
_HEADER: Final = struct.Struct("<II")
_COPY_BYTES: Final = 1 << 20
_TAIL_BYTES: Final = 1 << 17
_MAX_WHOLE_BYTES: Final = 256 << 20
"""The limit for footers and for members that are read whole: both are far smaller, even in splits of many gigabytes."""


def rows_member(group: int) -> str:
    """Return the name of the Parquet member with the rows of a column group."""
    return f"rows-{group}.parquet"


@dataclass(frozen=True)
class Written:
    """The size of a finished bundle, and where its footer starts."""

    size: int
    footer_start: int


@dataclass(frozen=True)
class Member:
    """One file inside a bundle. `crc32` is None if the writer recorded no checksums.

    `length` and `crc32` are those of the stored bytes. `frames` is None if they are the content itself.
    """

    name: str
    offset: int
    length: int
    crc32: int | None = None
    frames: Frames | None = field(default=None, repr=False)

    @property
    def content_length(self) -> int:
        return self.length if self.frames is None else self.frames.size


@dataclass(frozen=True)
class Bundle:
    """An open container: its file table, and its last bytes (`tail`), from which the table was read."""

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
        """A hash of the checksums and the file table: it differs between any two splits that differ."""
        start = self.members[CHECKSUMS].offset if CHECKSUMS in self.members else self.footer_start
        return hashlib.sha256(self.range(start, self.size - start)).hexdigest()[:32]

    def member(self, name: str) -> Member:
        """Return the member of that name. CorruptTableError if there is none."""
        try:
            return self.members[name]
        except KeyError:
            raise CorruptTableError(f"{self.name} has no member {name!r}") from None

    def read(self, name: str) -> bytes:
        """Return the content of a whole member, and verify its checksum."""
        member = self.member(name)
        if member.content_length > _MAX_WHOLE_BYTES:
            raise self.damaged(
                f"{name!r} has {member.content_length} bytes, more than the limit of {_MAX_WHOLE_BYTES}"
            )
        stored = self.verify(member, self.range(member.offset, member.length))
        if member.frames is None:
            return stored
        parts = [self.frame(member, stored[at : at + length], size) for at, length, size in member.frames]
        content = b"".join(parts)
        if zlib.crc32(content) != member.frames.crc32:
            raise self.damaged(f"the checksum of {name!r} is wrong")
        return content

    def frame(self, member: Member, data: bytes | memoryview, size: int) -> pa.Buffer:
        """Return the content of one frame of a compressed member, which must have `size` bytes."""
        try:
            return decompress_frame(data, size)
        except ValueError as reason:
            raise self.damaged(f"{member.name!r}: {reason}") from reason

    def range(self, offset: int, length: int) -> bytes:
        """Read some bytes, from `tail` if it has them."""
        start = offset - (self.size - len(self.tail))
        if start >= 0:
            return self.tail[start : start + length]
        return self.store.get_range(self.key, offset, length)

    def with_small_members(self, most: int) -> Bundle:
        """Return the bundle with a tail of at most `most` bytes that has its small members and Parquet footers.

        With them a split is opened and its pages are found without a request. A member that begins before the last
        `most` bytes stays out.
        """
        members = [member for member in self.members.values() if _is_small(member.name)]
        starts = [member.offset for member in (*members, *self.parquet_footers.values())]
        start = min((at for at in starts if self.size - at <= most), default=self.size)
        missing = self.size - len(self.tail) - start
        if missing <= 0:
            return self
        return replace(self, tail=self.store.get_range(self.key, start, missing) + self.tail)

    def verify(self, member: Member, data: bytes | memoryview) -> bytes:
        """Return the content of a member. CorruptTableError if its checksum is wrong."""
        if member.crc32 is not None and zlib.crc32(data) != member.crc32:
            raise self.damaged(f"the checksum of {member.name!r} is wrong")
        return bytes(data)

    def damaged(self, reason: object) -> CorruptTableError:
        """Return the error that says what is wrong with this split."""
        return CorruptTableError(f"{self.name} is damaged: {reason}")


def write_bundle(
    target: Path,
    files: Iterable[tuple[str, Path]],
    documents: Iterable[tuple[str, bytes]],
    *,
    compressed: Iterable[tuple[str, Path]] = (),
) -> Written:
    """Write `compressed`, `files`, then the small `documents`: one read of the end gets what opening a split needs."""
    table: dict[str, dict[str, int]] = {}
    checksums: dict[str, Any] = {"members": {}, "parquetFooters": {}}
    with target.open("wb") as out:
        for name, path in compressed:
            _append_compressed(out, table, checksums, name, path)
        for name, path in files:
            _append(out, table, checksums, name, path)
        for name, data in documents:
            _append(out, table, checksums, name, data)
        is_plain = not any(_FRAMES in entry for entry in checksums["members"].values())
        _append(out, table, None, CHECKSUMS, orjson.dumps(checksums))
        footer_start = out.tell()
        header = _HEADER.pack(_MAGIC, _PLAIN_VERSION if is_plain else _VERSION)
        document = header + orjson.dumps({"files": table})
        out.write(document + _U32.pack(len(document)) + _U32.pack(0))
        return Written(out.tell(), footer_start)


def open_bundle(store: Store, key: str, size: int | None = None, tail: bytes | None = None) -> Bundle:
    """Open a split by reading its end, where the file table is. Without `size`, ask the store for it.

    `tail` is its end, if the caller has it already.
    """
    if size is None or tail is None:
        size, tail = _read_tail(store, key, size)
    try:
        footer_start, tail, members = _file_table(store, key, size, tail)
    except (struct.error, KeyError, TypeError, AttributeError, ValueError) as reason:
        raise CorruptTableError(f"split {store.uri}/{key} is damaged: {reason}") from reason
    bundle = Bundle(store=store, key=key, size=size, footer_start=footer_start, members=members, tail=tail)
    return _with_checksums(bundle)


def _is_small(name: str) -> bool:
    return name in _SMALL or name.endswith((CHUNK_CHECKSUMS, PAGE_DIRECTORY))


def _read_tail(store: Store, key: str, size: int | None) -> tuple[int, bytes]:
    name = f"split {store.uri}/{key}"
    try:
        length = store.head(key).size if size is None else size
        if length < 2 * _U32.size + _HEADER.size:
            raise CorruptTableError(f"{name} is damaged: {length} bytes are too few for a split")
        return length, store.get_range(key, max(0, length - _TAIL_BYTES), min(length, _TAIL_BYTES))
    except ObjectNotFoundError as reason:
        raise CorruptTableError(f"{name} is missing, but the table's log names it") from reason
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


def _append_compressed(
    out: BinaryIO, table: dict[str, dict[str, int]], checksums: dict[str, Any], name: str, path: Path
) -> None:
    """Append a member in frames of zstd, or as it is if that saves too little."""
    start, size, lengths = out.tell(), path.stat().st_size, list[int]()
    if is_compressible(size):
        crc = stored_crc = 0
        with path.open("rb") as file:
            while content := file.read(FRAME_BYTES):
                frame = compress_frame(content)
                out.write(frame)
                lengths.append(len(frame))
                crc, stored_crc = zlib.crc32(content, crc), zlib.crc32(frame, stored_crc)
    if not lengths or not is_worthwhile(size, sum(lengths)):
        out.seek(start)
        out.truncate()
        return _append(out, table, checksums, name, path)
    table[name] = {"start": start, "end": out.tell()}
    frames = Frames(size, crc, tuple(lengths))
    checksums["members"][name] = {
        "size": sum(lengths),
        "crc32": stored_crc,
        _FRAMES: frames.to_document(),
    }
    return None


def _parquet_footer(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-8, 2)
        length = _U32.unpack(file.read(4))[0]
        file.seek(-(length + 8), 2)
        return file.read()


def _file_table(store: Store, key: str, size: int, tail: bytes) -> tuple[int, bytes, dict[str, Member]]:
    hotcache_length = _U32.unpack_from(tail, len(tail) - 4)[0]
    length_at = size - 4 - hotcache_length - 4
    tail = _extend_tail(store, key, size, tail, length_at)
    table_length = _U32.unpack_from(tail, length_at - (size - len(tail)))[0]
    footer_start = length_at - table_length
    tail = _extend_tail(store, key, size, tail, footer_start)
    at = footer_start - (size - len(tail))
    magic, version = _HEADER.unpack_from(tail, at)
    if magic != _MAGIC:
        raise ValueError(f"its file table starts with {magic} instead of the magic number {_MAGIC}")
    if not 1 <= version <= _VERSION:
        raise ProtocolError(
            f"the container of split {store.uri}/{key} has version {version}; this release reads versions 1 to "
            f"{_VERSION}. Upgrade indextables to read it."
        )
    files = orjson.loads(tail[at + _HEADER.size : at + table_length])["files"]
    members = {}
    for name, place in files.items():
        start, end = place["start"], place["end"]
        if not (isinstance(start, int) and isinstance(end, int)):
            raise ValueError(f"the position of member {name!r} is not two numbers")  # noqa: TRY004
        if not 0 <= start <= end <= footer_start or "/" in name or name in ("", ".", ".."):
            raise ValueError(
                f"member {name!r} is not inside the split, at {start} to {end} of {footer_start} bytes"
            )
        members[name] = Member(name, start, end - start)
    if sum(member.length for member in members.values()) > footer_start:
        raise ValueError("its members overlap")  # extracted, they would be larger than the split itself
    return footer_start, tail, members


def _extend_tail(store: Store, key: str, size: int, tail: bytes, offset: int) -> bytes:
    """Return the bytes from `offset` to the end, or the whole tail if it begins before that."""
    if offset < 0:
        raise ValueError(f"the lengths in its footer are larger than its {size} bytes")
    if size - offset > _MAX_WHOLE_BYTES:
        raise ValueError(
            f"its file table starts {size - offset} bytes before the end, more than the limit of {_MAX_WHOLE_BYTES}"
        )
    missing = size - len(tail) - offset
    return tail if missing <= 0 else store.get_range(key, offset, missing) + tail


def _with_checksums(bundle: Bundle) -> Bundle:
    """Add the checksums to the members, if the split has any."""
    if CHECKSUMS not in bundle.members:
        return bundle
    try:
        checksums = orjson.loads(bundle.read(CHECKSUMS))
        members = {CHECKSUMS: bundle.members[CHECKSUMS]}
        for name, entry in checksums["members"].items():
            member = bundle.member(name)
            if member.length != entry["size"]:
                raise ValueError(f"member {name!r} has {member.length} bytes instead of {entry['size']}")
            frames = Frames.from_document(entry[_FRAMES], member.length) if _FRAMES in entry else None
            members[name] = Member(name, member.offset, member.length, entry["crc32"], frames)
        footers = {}
        for name, entry in checksums["parquetFooters"].items():
            end = members[name].offset + members[name].length
            if not 0 <= entry["size"] <= members[name].length:
                raise ValueError(
                    f"the footer of {name!r} has {entry['size']} bytes, more than the member itself"
                )
            footers[name] = Member(f"{name} (footer)", end - entry["size"], entry["size"], entry["crc32"])
    except (KeyError, TypeError, AttributeError, ValueError) as reason:
        raise bundle.damaged(reason) from reason
    if members.keys() != bundle.members.keys():
        raise bundle.damaged(f"its file table and {CHECKSUMS} name different members")
    return replace(bundle, members=members, parquet_footers=footers)
