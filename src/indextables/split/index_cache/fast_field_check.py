"""Tantivy's file of fast fields: check how many columns its directory claims before the engine opens it.

    [columns][directory][length of the directory u64][rows u32][version 8 bytes][Tantivy's footer]

The directory is a table of blocks, [blocks][index][end of the blocks u64][terms u64][version u32], and a block is
[length u32][compression u8][count][count numbers][keys]. The engine reads as many numbers as a block claims, even past
its end, until memory is exhausted.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import pyarrow as pa

SUFFIX: Final = ".fast"

_MAX_BLOCK_BYTES: Final = 1 << 20
"""A block has 4,000 bytes and the name that exceeds them."""

_TAIL: Final = struct.Struct("<II")
_END: Final = struct.Struct("<QI8x")
_TABLE_END: Final = struct.Struct("<QQI")
_LENGTH: Final = struct.Struct("<I")
_FRAME: Final = b"\x28\xb5\x2f\xfd"
_SIZE_BYTES: Final = (0, 2, 4, 8)
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_CONTINUES: Final = 0x80


def check_fast_fields(path: Path) -> None:
    """Check the directory of a file of fast fields. ValueError if a block claims more than it has."""
    try:
        for compression, block in _blocks(_directory(path)):
            _check_count(block if compression == 0 else _decompress(block))
    except (struct.error, IndexError, OSError) as reason:
        raise ValueError("its directory of columns ends too early") from reason


def _directory(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size - _TAIL.size)
        footer, _ = _TAIL.unpack(file.read())
        end = size - _TAIL.size - footer - _END.size
        file.seek(end)
        length, _ = _END.unpack(file.read(_END.size))
        if not 0 <= length <= end:
            raise ValueError(f"its directory of columns claims {length} bytes, more than the file has")
        file.seek(end - length)
        return file.read(length)


def _blocks(directory: bytes) -> list[tuple[int, bytes]]:
    end, _, _ = _TABLE_END.unpack(directory[-_TABLE_END.size :])
    if end > len(directory):
        raise ValueError(f"the blocks of its directory claim {end} bytes, more than the directory has")
    blocks, at = [], 0
    while at < end:
        (length,) = _LENGTH.unpack_from(directory, at)
        at += _LENGTH.size
        if length <= 1:
            break  # the engine stops here too
        if at + length > end:
            raise ValueError("a block of its directory is not inside it")
        blocks.append((directory[at], directory[at + 1 : at + length]))
        at += length
    return blocks


def _decompress(block: bytes) -> bytes:
    """Decompress a Zstandard block, whose frame must state a size within the limit."""
    head = block[4]
    size_bytes = _SIZE_BYTES[head >> 6] or (head >> 5 & 1)
    at = 5 + (not head >> 5 & 1) + _DICTIONARY_BYTES[head & 3]
    size = int.from_bytes(block[at : at + size_bytes], "little") + (256 if size_bytes == 2 else 0)
    if block[:4] != _FRAME or not size_bytes or size > _MAX_BLOCK_BYTES:
        raise ValueError(f"a block of its directory claims to hold {size} bytes")
    return bytes(pa.Codec("zstd").decompress(block, decompressed_size=size, asbytes=True))


def _check_count(block: bytes) -> None:
    claimed = shift = at = 0
    while True:
        claimed |= (block[at] & ~_CONTINUES) << shift
        if not block[at] & _CONTINUES:
            break
        at, shift = at + 1, shift + 7
    if claimed > len(block):
        raise ValueError(f"a block of its directory claims {claimed} columns")
