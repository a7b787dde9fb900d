"""A stored file for Arrow to read: the ranges that it is about to read are fetched in few large, parallel requests."""

from __future__ import annotations

import bisect
import io
from collections.abc import Callable, Iterable
from typing import Final

from indextables.runtime import current

_JOIN_GAP: Final = 64 << 10
"""Ranges closer than this are fetched as one: a request costs more than the bytes between them."""

_PARALLEL: Final = 8


class RangedFile(io.RawIOBase):
    """A file that reads loaded ranges from memory, and everything else, such as a footer, with a request each.

    >>> file = RangedFile(lambda start, length: b"abcdefgh"[start : start + length], 8)
    >>> file.load([(2, 3)])
    >>> file.held(3, 2), file.held(6, 2)
    (b'de', None)
    """

    def __init__(self, fetch: Callable[[int, int], bytes], length: int) -> None:
        super().__init__()
        self._fetch = fetch
        self._length = length
        self._at = 0
        self._starts: list[int] = []
        self._loaded: list[bytes] = []

    def load(self, spans: Iterable[tuple[int, int]]) -> None:
        """Load these ranges, each a start and a length, in place of those that were loaded before."""
        joined = _coalesce(spans)
        self._loaded = list(current().threads.map(lambda span: self._fetch(*span), joined, _PARALLEL))
        self._starts = [start for start, _ in joined]

    def release(self) -> None:
        """Free the loaded ranges."""
        self._starts, self._loaded = [], []

    def held(self, start: int, length: int) -> bytes | None:
        """Return these bytes if they are loaded, else None."""
        index = bisect.bisect_right(self._starts, start) - 1
        if index < 0:
            return None
        at = start - self._starts[index]
        held = self._loaded[index]
        return held[at : at + length] if at + length <= len(held) else None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, origin: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[origin]
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = self._length - self._at
        length = left if size is None or size < 0 else min(size, left)
        data = b"" if length <= 0 else self.held(self._at, length)
        if data is None:
            data = self._fetch(self._at, length)
        self._at += len(data)
        return data


def _coalesce(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[list[int]] = []
    for start, length in sorted(spans):
        if joined and start - joined[-1][1] <= _JOIN_GAP:
            joined[-1][1] = max(joined[-1][1], start + length)
        else:
            joined.append([start, start + length])
    return [(start, end - start) for start, end in joined]
