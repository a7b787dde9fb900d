"""Tantivy's file of stored documents: what must hold before the engine may see it.

    [blocks][skip index][version u32][length of the blocks u64][compression u8][15 zeros][Tantivy's footer]

The engine takes memory by the lengths that it finds here, and ends the process when there is not so much. Splits of
ours store no documents, so the engine is given a file without any. In other splits the lengths are checked first: those
of the file and of its blocks.

The skip index is [number of layers][where each ends][layers]. The last layer has [blocks][first document][first byte]
and for each block [documents][bytes], again and again. All are variable integers; the last byte of one has its highest
bit set.
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
"""A block has 16 KiB of documents, or one document: no row of a table is as large as this."""

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
    """Return the file of a segment whose documents are never fetched."""
    content = _NO_LAYERS + _END.pack(_VERSION, 0, _LZ4)
    version = {"major": 0, "minor": 27, "patch": 0, "index_format_version": _INDEX_FORMAT}
    footer = orjson.dumps({"version": version, "crc": zlib.crc32(content)})
    return content + footer + _TAIL.pack(len(footer), _MAGIC)


def check_store(path: Path) -> None:
    """Raise a ValueError if the engine could take memory by a length that the file does not have."""
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
        raise ValueError("its blocks are longer than itself")
    for start, stop in _blocks(_Numbers(data[blocks:end])):
        if not start <= stop <= blocks:
            raise ValueError("a block does not lie inside it")
        size = stop - start
        claimed = size if compression == _UNCOMPRESSED else _LENGTH.unpack_from(data, start)[0]
        if claimed > MAX_BLOCK_BYTES or (compression == _LZ4 and claimed > size * _LZ4_RATIO):
            raise ValueError(f"a block of {size} bytes claims to hold {claimed}")


def _blocks(index: _Numbers) -> list[tuple[int, int]]:
    """Return where each block begins and ends."""
    layers = index.next()
    if layers > index.left:
        raise ValueError(f"its index claims {layers} layers")
    ends = [index.next() for _ in range(layers)]
    if sorted(ends) != ends or (ends and ends[-1] > index.left):
        raise ValueError("a layer of its index does not lie inside it")
    if not ends:
        return []
    last = index.part(ends[-2] if len(ends) > 1 else 0, ends[-1])
    found: list[tuple[int, int]] = []
    while last.left:
        count, _, at = last.next(), last.next(), last.next()
        if count > last.left:
            raise ValueError(f"its index claims {count} blocks")
        for _ in range(count):
            last.next()
            size = last.next()
            found.append((at, at + size))
            at += size
    return found


class _Numbers:
    """Variable integers, one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
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
