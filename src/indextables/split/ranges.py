"""A member of a bundle as a file that Arrow reads: mapped from local disk, or fetched range by range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from indextables.parquet_chunks import Chunk
from indextables.split.container import Bundle, Member
from indextables.storage.ranged import RangedFile


class MemberSource(Protocol):
    """Something Arrow reads from, which checks the chunks that are about to be read."""

    def arrow_file(self) -> Any: ...

    def load(self, chunks: Sequence[Chunk]) -> None:
        """Have these chunks at hand, checked; a damaged one is a CorruptTableError."""

    def loaded(self, chunk: Chunk) -> memoryview:
        """The bytes of a chunk that was loaded, until the release."""

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
        self._view = memoryview(self._buffer)
        self._checked: set[tuple[int, int]] = set()

    def arrow_file(self) -> pa.BufferReader:
        return pa.BufferReader(self._buffer)

    def load(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            if (chunk.start, chunk.length) in self._checked:
                continue
            if not chunk.is_whole(self._view[chunk.start : chunk.end]):
                raise self._bundle.damaged(f"a checksum of {self._member.name!r} is wrong")
            self._checked.add((chunk.start, chunk.length))

    def loaded(self, chunk: Chunk) -> memoryview:
        return self._view[chunk.start : chunk.start + chunk.length]

    def release(self) -> None:
        pass


class _Fetched:
    def __init__(self, bundle: Bundle, member: Member) -> None:
        self._bundle = bundle
        self._member = member
        self._file = RangedFile(
            lambda start, length: bundle.range(member.offset + start, length), member.length
        )

    def arrow_file(self) -> pa.PythonFile:
        return pa.PythonFile(self._file, mode="r")

    def load(self, chunks: Sequence[Chunk]) -> None:
        self._file.load((chunk.start, chunk.length) for chunk in chunks)
        for chunk in chunks:
            if not chunk.is_whole(self.loaded(chunk)):
                raise self._bundle.damaged(f"a checksum of {self._member.name!r} is wrong")

    def loaded(self, chunk: Chunk) -> memoryview:
        return memoryview(self._file.held(chunk.start, chunk.length) or b"")

    def release(self) -> None:
        self._file.release()
