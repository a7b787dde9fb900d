"""Avro object container files: a header with the schema, blocks of records, a sync marker after each.

What the records mean is not known here. A file is written as one value, and read block by block; with the place of a
block (`BlockPlace`), a reader can fetch that block alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from indextables.avro.binary import (
    encode_long,
    map_of,
    read_bytes,
    read_long,
    reading,
    write_map,
    write_string,
)
from indextables.avro.codecs import MAX_BLOCK, inflate
from indextables.errors import CorruptTableError

MAGIC: Final = b"Obj\x01"
SYNC_SIZE: Final = 16
SCHEMA: Final = "avro.schema"
CODEC: Final = "avro.codec"

_read_metadata: Final = map_of(read_bytes)


class Header(NamedTuple):
    """The header of a file: `metadata` are the entries that Avro does not define, `size` its length in bytes."""

    schema: str
    codec: str
    metadata: Mapping[str, str]
    sync: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Block:
    """`count` records and their bytes, compressed or not, as the function that returns or takes it says."""

    count: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A block of a file: `at` is where it begins, `start` and `end` delimit its compressed records."""

    count: int
    at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Where a block is: `offset` counts from the end of the header, `size` includes the sync marker."""

    offset: int
    size: int
    count: int
    crc: int


def join_container(
    blocks: Iterable[Block],
    metadata: Callable[[list[BlockPlace]], Mapping[str, str]],
    sync_marker: Callable[[list[bytes]], bytes],
) -> bytes:
    """Join compressed blocks to a file.

    `metadata` returns the entries of the header, given the places of the blocks; `sync_marker` returns the sync
    marker, given all other bytes of the file, in pieces.
    """
    pieces: list[bytes] = []
    places: list[BlockPlace] = []
    offset = 0
    for block in blocks:
        frame = encode_long(block.count) + encode_long(len(block.data))
        size = len(frame) + len(block.data) + SYNC_SIZE
        places.append(BlockPlace(offset, size, block.count, zlib.crc32(block.data, zlib.crc32(frame))))
        pieces += (frame, block.data)
        offset += size
    header = bytearray(MAGIC)
    write_map(header, metadata(places).items(), write_string)
    sync = sync_marker([bytes(header), *pieces])
    framed = zip(pieces[::2], pieces[1::2], strict=True)
    return b"".join([header, sync, *(piece for frame, data in framed for piece in (frame, data, sync))])


def read_header(data: bytes, name: str) -> Header:
    """Read the header at the start of a file; `name` is the name of the file in errors."""
    if not data.startswith(MAGIC):
        raise CorruptTableError(f"{name}: not an Avro file")
    with reading(name):
        entries, at = _read_metadata(data, len(MAGIC))
    sync = data[at : at + SYNC_SIZE]
    if SCHEMA not in entries or len(sync) < SYNC_SIZE:
        reason = "truncated" if SCHEMA in entries else "without a schema"
        raise CorruptTableError(f"{name}: the header of the Avro file is {reason}")
    # Other writers' own entries need not be text.
    texts = {key: value.decode(errors="replace") for key, value in entries.items()}
    schema, codec = texts.pop(SCHEMA), texts.pop(CODEC, "null")
    return Header(schema=schema, codec=codec, metadata=texts, sync=sync, size=at + SYNC_SIZE)


def find_blocks(data: bytes, header: Header, name: str) -> Iterator[PackedBlock]:
    """Yield the blocks of a whole file without decompressing them."""
    at = header.size
    while at < len(data):
        block = _find_block(data, at, header, name)
        yield block
        at = block.end + SYNC_SIZE


def unpack(data: bytes, block: PackedBlock, header: Header, name: str, limit: int = MAX_BLOCK) -> Block:
    """Decompress a block of a file, up to `limit` bytes."""
    payload = inflate(data[block.start : block.end], header.codec, name, limit)
    if block.count > len(payload):
        raise CorruptTableError(
            f"{name}: the block at byte {block.at} claims {block.count} records in {len(payload)} bytes"
        )
    return Block(block.count, payload)


def read_blocks(data: bytes, header: Header, name: str) -> Iterator[Block]:
    """Yield the blocks of a whole file, decompressed one at a time."""
    return (unpack(data, block, header, name) for block in find_blocks(data, header, name))


def read_block(data: bytes, place: BlockPlace, header: Header, name: str) -> Block:
    """Decompress one block from the bytes at its place, after comparing them with the checksum of the place."""
    if zlib.crc32(memoryview(data)[:-SYNC_SIZE]) != place.crc:
        raise CorruptTableError(
            f"{name}: the block at {place.offset} does not match its checksum; the file is damaged"
        )
    block = _find_block(data, 0, header, name)
    if block.end + SYNC_SIZE != len(data) or block.count != place.count:
        raise CorruptTableError(
            f"{name}: the block at {place.offset} has {block.count} records in {block.end + SYNC_SIZE} bytes; "
            f"the block index says {place.count} in {len(data)}"
        )
    return unpack(data, block, header, name)


def _find_block(data: bytes, at: int, header: Header, name: str) -> PackedBlock:
    with reading(name):
        count, start = read_long(data, at)
        size, start = read_long(data, start)
    end = start + size
    if count < 0:
        raise CorruptTableError(f"{name}: a block of {count} records at byte {at}")
    if size < 0 or end > len(data):
        raise CorruptTableError(
            f"{name}: a block of {size} bytes at byte {at} of {len(data)}: truncated or damaged"
        )
    if data[end : end + SYNC_SIZE] != header.sync:
        raise CorruptTableError(
            f"{name}: no sync marker at byte {end} of {len(data)}, after the block at byte {at}: truncated or damaged"
        )
    return PackedBlock(count, at, start, end)
