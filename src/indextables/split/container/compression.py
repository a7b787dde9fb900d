"""Compressed members: the content in frames of zstd, which can be read one by one.

A frame has 1 MiB of the content, the last one the rest. `checksums.json` has, for each such member, the size and the
CRC-32 of the content and the lengths of the frames:

    "members": {"<segment>.term": {"size": 700, "crc32": 1, "zstd": {"size": 1000, "crc32": 2, "frames": [700]}}}

Memory is bounded by a frame, whatever a damaged or crafted member claims, and the content by a multiple of the member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pyarrow as pa

FRAME_BYTES: Final = 1 << 20
_LONGEST_FRAME: Final = FRAME_BYTES + (16 << 10)
"""Content that cannot be compressed becomes a little longer."""

_LEVEL: Final = 1
_SMALLEST: Final = 4 << 10
_LARGEST_SHARE: Final = 0.95
"""A member is compressed if it has at least so many bytes, and becomes smaller than this share of them."""

_MOST_GROWTH: Final = 1024
"""The content of a member has at most so many times its bytes. A writer keeps what is more repetitive as it is."""


@dataclass(frozen=True)
class Frames:
    """The content of a compressed member: its size and CRC-32, and the lengths of the frames."""

    size: int
    crc32: int
    lengths: tuple[int, ...]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Yield where each frame begins in the member, its length, and the size of its content."""
        start = 0
        for number, length in enumerate(self.lengths):
            yield start, length, min(FRAME_BYTES, self.size - number * FRAME_BYTES)
            start += length

    def to_document(self) -> dict[str, Any]:
        return {"size": self.size, "crc32": self.crc32, "frames": list(self.lengths)}

    @classmethod
    def from_document(cls, document: Any, stored: int) -> Frames:
        """Return the frames of a member of `stored` bytes. ValueError if they cannot be those."""
        size, crc, lengths = document["size"], document["crc32"], document["frames"]
        if not isinstance(lengths, list) or any(type(number) is not int for number in (size, crc, *lengths)):
            raise ValueError("the frames of a member are not numbers")
        if any(not 0 < length <= _LONGEST_FRAME for length in lengths) or sum(lengths) != stored:
            raise ValueError(f"a member of {stored} bytes cannot consist of its frames")
        if not 0 <= size <= stored * _MOST_GROWTH or len(lengths) != -(-size // FRAME_BYTES):
            raise ValueError(f"a member claims {size} bytes in {len(lengths)} frames of {stored} bytes")
        return cls(size, crc, tuple(lengths))


def is_compressible(size: int) -> bool:
    """Return True for a member of so many bytes that compression may be worth its while."""
    return size >= _SMALLEST


def is_worthwhile(size: int, stored: int) -> bool:
    """Return True if content of `size` bytes should be kept in `stored` bytes of frames."""
    return stored <= size * _LARGEST_SHARE and size <= stored * _MOST_GROWTH


def compress_frame(content: bytes) -> bytes:
    """Return a frame with this content."""
    return bytes(_codec().compress(content, asbytes=True))


def decompress_frame(frame: bytes | memoryview, size: int) -> pa.Buffer:
    """Return the content of a frame, which must have `size` bytes. ValueError if it does not."""
    try:
        return _codec().decompress(pa.py_buffer(frame), decompressed_size=size)
    except (OSError, pa.ArrowException) as reason:
        raise ValueError(f"a frame of it cannot be decompressed: {reason}") from reason


@cache
def _codec() -> pa.Codec:
    return pa.Codec("zstd", compression_level=_LEVEL)
