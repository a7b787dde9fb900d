"""The bytes of a Parquet file: mapped from local disk, or fetched range by range. Both verify checksums on loading."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from indextables.errors import CorruptTableError, IndexTablesError
from indextables.rows.chunks import Span
from indextables.storage import RangedFile, count_request

Damaged = Callable[[object], CorruptTableError]
"""Makes the error that names the damaged file, from a reason."""

_DECODING_ERRORS: Final = (
    pa.ArrowException,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)
"""What decoders of Parquet, Arrow and Vortex raise for bytes that they cannot make sense of."""

_PANIC: Final = "PanicException"
"""A panic in Rust as Python sees it: an exception that derives from BaseException, in a module that has no name."""


@contextlib.contextmanager
def decoding(damaged: Damaged) -> Iterator[None]:
    """Turn whatever a decoder raises for damaged bytes into an error that names the file."""
    try:
        yield
    except IndexTablesError:
        raise
    except _DECODING_ERRORS as reason:
        raise damaged(reason) from reason
    except BaseException as reason:
        if type(reason).__name__ != _PANIC:
            raise
        raise damaged(reason) from reason


class Loaded(Protocol):
    """Ranges of a file in memory whose checksums, where they are known, are right."""

    def view(self, span: Span) -> memoryview:
        """Return the bytes of a range that was loaded."""

    def arrow_file(self) -> Any:
        """Return the file as Arrow reads it."""


class Source(Protocol):
    """A file that is read by ranges, from several threads."""

    damaged: Damaged

    def load(self, spans: Sequence[Span]) -> Loaded:
        """Load these ranges. Raises CorruptTableError if the checksum of one is wrong."""


class MappedSource:
    """A file, or a part of one, that is mapped from local disk. A range is verified once."""

    def __init__(self, path: Path, offset: int, length: int, damaged: Damaged) -> None:
        self.damaged = damaged
        with decoding(damaged):
            mapped = pa.memory_map(str(path))
            mapped.seek(offset)
            self._buffer = mapped.read_buffer(length)
        self._view = memoryview(self._buffer)
        self._verified: set[Span] = set()

    def load(self, spans: Sequence[Span]) -> MappedSource:
        count_request("map", fetched=sum(span.length for span in spans))
        for span in spans:
            if span not in self._verified:
                _verify(span, self.view(span), self.damaged)
                self._verified.add(span)
        return self

    def view(self, span: Span) -> memoryview:
        return self._view[span.start : span.start + span.length]

    def arrow_file(self) -> pa.BufferReader:
        return pa.BufferReader(self._buffer)


class RangedSource:
    """A file elsewhere; `fetch` returns the bytes of a range, given by its start and length."""

    def __init__(self, fetch: Callable[[int, int], bytes], length: int, damaged: Damaged) -> None:
        self.damaged = damaged
        self._fetch = fetch
        self._length = length

    def load(self, spans: Sequence[Span]) -> Loaded:
        loaded = _LoadedRanges(RangedFile(self._fetch, self._length), spans)
        for span in spans:
            _verify(span, loaded.view(span), self.damaged)
        return loaded


class _LoadedRanges:
    def __init__(self, file: RangedFile, spans: Sequence[Span]) -> None:
        self._file = file
        file.load((span.start, span.length) for span in spans)

    def view(self, span: Span) -> memoryview:
        return memoryview(self._file.held(span.start, span.length) or b"")

    def arrow_file(self) -> pa.PythonFile:
        return pa.PythonFile(self._file, mode="r")


def _verify(span: Span, data: memoryview, damaged: Damaged) -> None:
    if span.crc32 is not None and not span.is_whole(data):
        raise damaged(f"the checksum of its bytes {span.start} to {span.end} is wrong")
