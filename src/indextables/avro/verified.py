"""Container files that verify themselves: Avro has no checksum, and a flipped bit in a number reads as another number.

The 16 bytes of the sync marker are the writer's choice, and the header and every block end with them. Two layouts:

- a hash: the first 16 bytes of the SHA-256 of all other bytes. An entry of the header says so;
- a checksum: 4 bytes that say so, the CRC-32 of all other bytes, and an 8-byte tag. Such a file has nothing in its
  header that milvus-storage would not write. A damaged marker differs from its other copies.

Any other marker was written by other software, and verifies nothing.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from indextables.avro.codecs import compressor
from indextables.avro.container import (
    CODEC,
    SCHEMA,
    SYNC_SIZE,
    Block,
    BlockPlace,
    Header,
    find_blocks,
    join_container,
)
from indextables.errors import CorruptTableError

TAG_SIZE: Final = 8

_HASH_ENTRY: Final = {"indextables.sync": "sha256"}
_CHECKSUM_MARK: Final = b"\xd7ITc"


def write_container(
    schema: str,
    blocks: Iterable[Block],
    *,
    codec: str,
    level: int = 3,
    metadata: Callable[[list[BlockPlace]], Mapping[str, str]] = lambda _: {},
) -> bytes:
    """Return a file with a hash for its sync marker; only the compressed form of all blocks is ever held together."""
    return join_hashed(schema, codec, compress_blocks(blocks, codec, level), metadata)


def compress_blocks(blocks: Iterable[Block], codec: str, level: int) -> Iterator[Block]:
    """Yield the blocks compressed, each when it is asked for."""
    compress = compressor(codec, level)
    return (Block(block.count, compress(block.data)) for block in blocks)


def join_hashed(
    schema: str,
    codec: str,
    blocks: Iterable[Block],
    metadata: Callable[[list[BlockPlace]], Mapping[str, str]] = lambda _: {},
) -> bytes:
    """Return a file of compressed blocks, with a hash for its sync marker and `metadata` in its header."""

    def header(places: list[BlockPlace]) -> dict[str, str]:
        return {SCHEMA: schema, CODEC: codec, **_HASH_ENTRY, **metadata(places)}

    return join_container(blocks, header, _hash)


def check_hash(data: bytes, header: Header, name: str) -> None:
    """Raise CorruptTableError if a file with a hash for its sync marker has changed since it was written."""
    if not any(key.startswith("indextables") for key in header.metadata):
        return
    pieces = [memoryview(data)[: header.size - SYNC_SIZE]]
    pieces += (memoryview(data)[block.at : block.end] for block in find_blocks(data, header, name))
    if _hash(pieces) != header.sync:
        raise CorruptTableError(f"{name}: the bytes do not match their hash; the file is damaged")


def checksum_marker(pieces: Iterable[bytes], tag: bytes) -> bytes:
    """Return a sync marker with the checksum of the pieces."""
    crc = 0
    for piece in pieces:
        crc = zlib.crc32(piece, crc)
    return _CHECKSUM_MARK + crc.to_bytes(4, "little") + tag


def check_checksum(data: bytes, name: str) -> None:
    """Raise CorruptTableError if a file of one block has a checksum that does not match its other bytes."""
    sync, end = data[-SYNC_SIZE:], len(data) - SYNC_SIZE
    if not sync.startswith(_CHECKSUM_MARK):
        return
    at = data.find(sync)
    if at == end or checksum_marker((data[:at], data[at + SYNC_SIZE : end]), sync[-TAG_SIZE:]) != sync:
        raise CorruptTableError(f"{name}: the bytes do not match their checksum; the file is damaged")


def _hash(pieces: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()[:SYNC_SIZE]
