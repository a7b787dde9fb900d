"""A member of a bundle as a file that Arrow reads: mapped from local disk, or fetched range by range."""

from __future__ import annotations

import bisect
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

import pyarrow as pa

from indextables.split.bundle import Bundle, Member
from indextables.split.chunks import Chunk

_JOIN_GAP: Final = 64 << 10
"""Ranges closer than this are fetched as one: a request costs more than the bytes between."""

_PARALLEL: Final = 8


class MemberSource(Protocol):
    """Something Arrow reads from, which checks the chunks that are about to be read."""

    def arrow_file(self) -> Any: ...

    def load(self, chunks: Sequence[Chunk]) -> None:
        """Have these chunks at hand, checked; a damaged one is a CorruptTableError."""

    def release(self) -> None:
        """The loaded chunks have been read."""


def open_member(bundle: Bundle, member: Member) -> MemberSource:
    path = bundle.store.local_path(bundle.key)
    return _Fetched(bundle, member) if path is None else _Mapped(bundle, member, str(path))


class _Mapped:
    def __init__(self, bundle: Bundle, member: Member, path: str) -> None:
        self._bundle = bundle
        self._member = member
        mapped = pa.memory_map(path)
        mapped.seek(member.offset)
        self._buffer = mapped.read_buffer(member.length)
        self._checked: set[int] = set()

    def arrow_file(self) -> pa.BufferReader:
        return pa.BufferReader(self._buffer)

    def load(self, chunks: Sequence[Chunk]) -> None:
        view = memoryview(self._buffer)
        for chunk in chunks:
            if chunk.start in self._checked:
                continue
            if not chunk.is_whole(view[chunk.start : chunk.end]):
                raise self._bundle.damaged(f"a checksum of {self._member.name!r} is wrong")
            self._checked.add(chunk.start)

    def release(self) -> None:
        pass


class _Fetched(io.RawIOBase):
    """Reads what was loaded from memory, anything else (the footer) by a request of its own."""

    def __init__(self, bundle: Bundle, member: Member) -> None:
        super().__init__()
        self._bundle = bundle
        self._member = member
        self._at = 0
        self._starts: list[int] = []
        self._loaded: list[bytes] = []

    def arrow_file(self) -> pa.PythonFile:
        return pa.PythonFile(self, mode="r")

    def load(self, chunks: Sequence[Chunk]) -> None:
        spans = _joined(chunks)
        if len(spans) > 1:
            with ThreadPoolExecutor(min(_PARALLEL, len(spans))) as pool:
                self._loaded = list(pool.map(lambda span: self._fetch(*span), spans))
        else:
            self._loaded = [self._fetch(*span) for span in spans]
        self._starts = [start for start, _ in spans]
        for chunk in chunks:
            if not chunk.is_whole(memoryview(self._held(chunk.start, chunk.length) or b"")):
                raise self._bundle.damaged(f"a checksum of {self._member.name!r} is wrong")

    def release(self) -> None:
        self._starts, self._loaded = [], []

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._member.length}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = self._member.length - self._at
        length = left if size is None or size < 0 else min(size, left)
        data = b"" if length <= 0 else self._held(self._at, length)
        if data is None:
            data = self._fetch(self._at, length)
        self._at += len(data)
        return data

    def _fetch(self, start: int, length: int) -> bytes:
        return self._bundle.range(self._member.offset + start, length)

    def _held(self, start: int, length: int) -> bytes | None:
        index = bisect.bisect_right(self._starts, start) - 1
        if index < 0:
            return None
        at = start - self._starts[index]
        held = self._loaded[index]
        return held[at : at + length] if at + length <= len(held) else None


def _joined(chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    spans: list[list[int]] = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if spans and chunk.start - spans[-1][1] <= _JOIN_GAP:
            spans[-1][1] = max(spans[-1][1], chunk.end)
        else:
            spans.append([chunk.start, chunk.end])
    return [(start, end - start) for start, end in spans]
