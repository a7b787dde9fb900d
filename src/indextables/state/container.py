"""Avro object container files: header, blocks, sync markers. What the records mean is not known here.

Files of ours are verifiable as a whole: their sync marker, sixteen bytes that the format leaves to the writer,
is a hash of everything else, and the header says so.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from indextables.codecs import MAX_BLOCK, compressor, inflate
from indextables.errors import CorruptTableError

MAGIC: Final = b"Obj\x01"
SYNC_SIZE: Final = 16

_VARINT_BYTES: Final = 10
_SCHEMA: Final = "avro.schema"
_CODEC: Final = "avro.codec"
_SYNC_RULE: Final = "indextables.sync"
_SYNC_IS_HASH: Final = "sha256"


@dataclass(frozen=True)
class Header:
    """`schema` is JSON text; `metadata` what the writer added beside it; `size` the header's own bytes."""

    schema: str
    codec: str
    metadata: Mapping[str, str]
    sync: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Block:
    """`count` records and their inflated bytes."""

    count: int
    data: bytes


@dataclass(frozen=True, slots=True)
class DeflatedBlock:
    """`count` records and their bytes as the codec of a file leaves them."""

    count: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """`count` records that lie deflated from `start` to `end` of a file; `at` is where the block itself begins."""

    count: int
    at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Where a block is: `offset` counts from the end of the header, `size` goes to the end of its sync marker."""

    offset: int
    size: int
    count: int
    crc: int


def write_container(
    schema: str,
    blocks: Iterable[Block],
    *,
    codec: str,
    level: int = 3,
    metadata: Callable[[list[BlockPlace]], Mapping[str, str]] = lambda _: {},
) -> bytes:
    """A whole file. Blocks are taken one at a time, so only their compressed form is ever held together.

    `metadata` is asked at the end, when the places of the blocks are known.
    """
    return join_container(schema, codec, deflated(blocks, codec, level), metadata)


def deflated(blocks: Iterable[Block], codec: str, level: int) -> Iterator[DeflatedBlock]:
    """The blocks as a file has them, each made when it is taken."""
    compress = compressor(codec, level)
    return (DeflatedBlock(block.count, compress(block.data)) for block in blocks)


def join_container(
    schema: str,
    codec: str,
    blocks: Iterable[DeflatedBlock],
    metadata: Callable[[list[BlockPlace]], Mapping[str, str]] = lambda _: {},
) -> bytes:
    """A whole file of blocks that are compressed already."""
    framed: list[tuple[bytes, bytes]] = []
    places: list[BlockPlace] = []
    offset = 0
    for block in blocks:
        data = block.data
        frame = encode_long(block.count) + encode_long(len(data))
        size = len(frame) + len(data) + SYNC_SIZE
        places.append(BlockPlace(offset, size, block.count, zlib.crc32(data, zlib.crc32(frame))))
        framed.append((frame, data))
        offset += size
    head = _encode_header(
        {_SCHEMA: schema, _CODEC: codec, _SYNC_RULE: _SYNC_IS_HASH, **metadata(places)},
    )
    digest = hashlib.sha256(head)
    for frame, data in framed:
        digest.update(frame)
        digest.update(data)
    sync = digest.digest()[:SYNC_SIZE]
    return b"".join([head, sync, *(piece for frame, data in framed for piece in (frame, data, sync))])


def read_header(data: bytes, name: str) -> Header:
    """The header at the start of a file; `name` is the file's, for errors."""
    if not data.startswith(MAGIC):
        raise CorruptTableError(f"{name}: not an Avro file")
    entries: dict[str, str] = {}
    at = len(MAGIC)
    while True:
        count, at = decode_long(data, at, name)
        if count == 0:
            break
        if count < 0:  # a count that is followed by the size of the entries
            count = -count
            _, at = decode_long(data, at, name)
        for _ in range(count):
            key, at = _decode_bytes(data, at, name)
            value, at = _decode_bytes(data, at, name)
            # Another writer's own entries may be no text; what we read of them is.
            entries[key.decode(errors="replace")] = value.decode(errors="replace")
    sync = data[at : at + SYNC_SIZE]
    if len(sync) < SYNC_SIZE or _SCHEMA not in entries:
        raise CorruptTableError(f"{name}: the Avro header is cut off")
    codec = entries.get(_CODEC, "null")
    metadata = {key: value for key, value in entries.items() if key not in (_SCHEMA, _CODEC)}
    return Header(entries[_SCHEMA], codec, metadata, sync, at + SYNC_SIZE)


def read_blocks(data: bytes, header: Header, name: str) -> Iterator[Block]:
    """The blocks of a whole file, inflated one at a time."""
    return (unpacked(data, block, header, name) for block in find_blocks(data, header, name))


def find_blocks(data: bytes, header: Header, name: str) -> Iterator[PackedBlock]:
    """Where the blocks of a whole file are; none is inflated."""
    at = header.size
    while at < len(data):
        block = _find_block(data, at, header, name)
        yield block
        at = block.end + SYNC_SIZE


def unpacked(data: bytes, block: PackedBlock, header: Header, name: str) -> Block:
    """A block of a file, inflated."""
    payload = inflate(data[block.start : block.end], header.codec, name, MAX_BLOCK)
    if block.count > len(payload):
        raise CorruptTableError(
            f"{name}: the block at byte {block.at} claims {block.count} records in {len(payload)} bytes"
        )
    return Block(block.count, payload)


def read_block(data: bytes, place: BlockPlace, header: Header, name: str) -> Block:
    """One block, from the bytes at its place, checked against the checksum that the place has."""
    if zlib.crc32(memoryview(data)[:-SYNC_SIZE]) != place.crc:
        raise CorruptTableError(f"{name}: the block at {place.offset} does not have its checksum")
    block = _find_block(data, 0, header, name)
    if block.end + SYNC_SIZE != len(data) or block.count != place.count:
        raise CorruptTableError(f"{name}: the block at {place.offset} is not as large as the index says")
    return unpacked(data, block, header, name)


def check_sync(data: bytes, header: Header, name: str) -> None:
    """CorruptTableError if a file that has a hash for its sync marker has changed since it was written."""
    if not any(key.startswith("indextables") for key in header.metadata):
        return  # another writer's: its marker is random
    digest = hashlib.sha256(memoryview(data)[: header.size - SYNC_SIZE])
    at = header.size
    while at < len(data):
        _, start = decode_long(data, at, name)
        size, start = decode_long(data, start, name)
        end = start + size
        if size < 0 or end + SYNC_SIZE > len(data):
            break
        digest.update(memoryview(data)[at:end])
        at = end + SYNC_SIZE
    if at != len(data) or digest.digest()[:SYNC_SIZE] != header.sync:
        raise CorruptTableError(f"{name}: the bytes are not those that were written")


def encode_long(value: int) -> bytes:
    """Avro's zigzag variable-length number.

    >>> encode_long(-1).hex(), encode_long(300).hex()
    ('01', 'd804')
    """
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_long(data: bytes, at: int, name: str) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    result = shift = 0
    for i in range(at, min(at + _VARINT_BYTES, len(data))):
        byte = data[i]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), i + 1
        shift += 7
    raise CorruptTableError(f"{name}: cut off, or no number at byte {at}")


def _find_block(data: bytes, at: int, header: Header, name: str) -> PackedBlock:
    count, start = decode_long(data, at, name)
    size, start = decode_long(data, start, name)
    end = start + size
    if count < 0 or size < 0 or end + SYNC_SIZE > len(data):
        raise CorruptTableError(f"{name}: the block at byte {at} is cut off")
    if data[end : end + SYNC_SIZE] != header.sync:
        raise CorruptTableError(f"{name}: the block at byte {at} does not end in the sync marker")
    return PackedBlock(count, at, start, end)


def _encode_header(entries: Mapping[str, str]) -> bytes:
    out = bytearray(MAGIC)
    out += encode_long(len(entries))
    for key, value in entries.items():
        for text in (key.encode(), value.encode()):
            out += encode_long(len(text)) + text
    out += encode_long(0)
    return bytes(out)


def _decode_bytes(data: bytes, at: int, name: str) -> tuple[bytes, int]:
    size, at = decode_long(data, at, name)
    if size < 0 or at + size > len(data):
        raise CorruptTableError(f"{name}: the Avro header is cut off")
    return data[at : at + size], at + size
