"""Avro object container files: header, blocks, sync markers. What the records mean is not known here.

Files of ours are verifiable as a whole: their sync marker, sixteen bytes that the format leaves to the writer,
is a hash of everything else, and the header says so.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError
from indextables.state.codecs import MAX_BLOCK, compress, inflate

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
    framed: list[tuple[bytes, bytes]] = []
    places: list[BlockPlace] = []
    offset = 0
    for block in blocks:
        data = compress(block.data, codec, level)
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
    at = header.size
    while at < len(data):
        block, at = _read_block(data, at, header, name)
        yield block


def read_block(data: bytes, place: BlockPlace, header: Header, name: str) -> Block:
    """One block, from the bytes at its place, checked against the checksum that the place has."""
    if zlib.crc32(memoryview(data)[:-SYNC_SIZE]) != place.crc:
        raise CorruptTableError(f"{name}: the block at {place.offset} does not have its checksum")
    block, end = _read_block(data, 0, header, name)
    if end != len(data) or block.count != place.count:
        raise CorruptTableError(f"{name}: the block at {place.offset} is not as large as the index says")
    return block


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


def parse_schema(schema: str) -> dict[str, Any]:
    """A record's schema as JSON. ValueError for what is none.

    Refused too: lists of what takes no bytes, with which a few bytes could stand for endless values.
    """
    document = orjson.loads(schema)
    try:
        fits = (
            isinstance(document, dict) and document.get("type") == "record" and not _lists_nothing(document)
        )
    except RecursionError:
        fits = False  # no honest schema is that deep
    if not fits:
        raise ValueError("the Avro schema is not that of a table's state")
    return dict(document)


def _lists_nothing(node: object) -> bool:
    if isinstance(node, list):
        return any(_lists_nothing(item) for item in node)
    if not isinstance(node, dict):
        return False
    if node.get("type") == "array" and _is_empty(node.get("items")):
        return True
    return any(_lists_nothing(value) for value in node.values())


def _is_empty(node: object) -> bool:
    """Whether a value of this type may take no bytes at all."""
    if not isinstance(node, dict):
        return node == "null"
    kind, fields = node.get("type"), node.get("fields")
    if kind == "record" and isinstance(fields, list):
        return all(isinstance(field, dict) and _is_empty(field.get("type")) for field in fields)
    return kind == "null" or (kind == "fixed" and node.get("size") == 0)


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


def _read_block(data: bytes, at: int, header: Header, name: str) -> tuple[Block, int]:
    count, start = decode_long(data, at, name)
    size, start = decode_long(data, start, name)
    end = start + size
    if count < 0 or size < 0 or end + SYNC_SIZE > len(data):
        raise CorruptTableError(f"{name}: the block at byte {at} is cut off")
    if data[end : end + SYNC_SIZE] != header.sync:
        raise CorruptTableError(f"{name}: the block at byte {at} does not end in the sync marker")
    payload = inflate(data[start:end], header.codec, name, MAX_BLOCK)
    if count > len(payload):
        raise CorruptTableError(
            f"{name}: the block at byte {at} claims {count} records in {len(payload)} bytes"
        )
    return Block(count, payload), end + SYNC_SIZE


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
