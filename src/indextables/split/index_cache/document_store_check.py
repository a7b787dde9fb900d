"""Tantivy's file of stored documents: check the lengths in it before the engine opens it.

    [blocks][skip index][version u32][length of the blocks u64][compression u8][15 zeros][Tantivy's footer]

The engine allocates as much memory as these lengths claim, and aborts the process if it cannot. Splits that this
package wrote have no stored documents, so the engine gets an empty file instead. In splits of other writers, the
lengths of the file and of its blocks are checked first.

The skip index is [number of layers][end of each layer][layers]. The last layer is a sequence of
[number of blocks][first document][first byte], each followed by [documents][bytes] for every block. All of these are
variable-length integers, whose last byte has its highest bit set.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from pathlib import Path
from typing import Final

import orjson

SUFFIX: Final = ".store"
MAX_BLOCK_BYTES: Final = 1 << 30
"""A block has 16 KiB of documents, or one document. No row of a table is as large as this limit."""

_VERSION: Final = 2
_UNCOMPRESSED: Final = 0
_LZ4: Final = 1
_LZ4_RATIO: Final = 255
_INDEX_FORMAT: Final = 7
_MAGIC: Final = 1337
_END: Final = struct.Struct("<IQB15x")
_TAIL: Final = struct.Struct("<II")
_LENGTH: Final = struct.Struct("<I")
_STOP: Final = 0x80
_NO_LAYERS: Final = bytes([_STOP])


def empty_store() -> bytes:
    """Return the content of a file without documents, for a segment whose documents are never fetched."""
    content = _NO_LAYERS + _END.pack(_VERSION, 0, _LZ4)
    version = {"major": 0, "minor": 27, "patch": 0, "index_format_version": _INDEX_FORMAT}
    footer = orjson.dumps({"version": version, "crc": zlib.crc32(content)})
    return content + footer + _TAIL.pack(len(footer), _MAGIC)


def check_store(path: Path) -> None:
    """Check the lengths in a file of stored documents. ValueError if one claims more than the file has."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            _check(data)
        except (IndexError, struct.error) as reason:
            raise ValueError("it ends too early") from reason


def _check(data: mmap.mmap) -> None:
    footer, _ = _TAIL.unpack_from(data, len(data) - _TAIL.size)
    end = len(data) - _TAIL.size - footer - _END.size
    if end < 0:
        raise ValueError("it is shorter than its footer says")
    _, blocks, compression = _END.unpack_from(data, end)
    if blocks > end:
        raise ValueError(f"its blocks claim {blocks} bytes, more than the file has")
    for start, stop in _blocks(_Numbers(data[blocks:end])):
        if not start <= stop <= blocks:
            raise ValueError(f"the block at {start} to {stop} is not inside it")
        size = stop - start
        claimed = size if compression == _UNCOMPRESSED else _LENGTH.unpack_from(data, start)[0]
        if claimed > MAX_BLOCK_BYTES or (compression == _LZ4 and claimed > size * _LZ4_RATIO):
            raise ValueError(f"a block of {size} bytes claims to hold {claimed}")


def _blocks(index: _Numbers) -> list[tuple[int, int]]:
    """Return the start and the end of each block."""
    layers = index.next()
    if layers > index.remaining:
        raise ValueError(f"its index claims {layers} layers")
    ends = [index.next() for _ in range(layers)]
    if sorted(ends) != ends or (ends and ends[-1] > index.remaining):
        raise ValueError("a layer of its index is not inside it")
    if not ends:
        return []
    last = index.part(ends[-2] if len(ends) > 1 else 0, ends[-1])
    blocks: list[tuple[int, int]] = []
    while last.remaining:
        count, _, at = last.next(), last.next(), last.next()
        if count > last.remaining:
            raise ValueError(f"its index claims {count} blocks")
        for _ in range(count):
            last.next()
            size = last.next()
            blocks.append((at, at + size))
            at += size
    return blocks


class _Numbers:
    """Reads a sequence of variable-length integers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def remaining(self) -> int:
        return len(self._data) - self._at

    def part(self, start: int, end: int) -> _Numbers:
        return _Numbers(self._data[self._at + start : self._at + end])

    def next(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & ~_STOP) << shift
            if byte & _STOP:
                return value
            shift += 7
