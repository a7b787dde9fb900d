"""Column groups in Parquet files: small row groups, a footer that tells their sizes, reads of no more than asked.

The footer and every column chunk are checked before Arrow decodes them, by the checksums of `seals`: those that a split
has for the column chunks of its Parquet members. A file without them is checked as far as its footer allows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.columns.dictionaries import worth_dictionary
from indextables.columns.filerows import RowIds, WriteOptions
from indextables.columns.parquet_footer import TRAILER, check_footer, footer_size
from indextables.columns.seals import TAIL, Tail, seal
from indextables.columns.stored_files import FILE_SIZE, FOOTER_SIZE, StoredFile
from indextables.parquet_chunks import Chunk, chunk_checksums, chunks_of
from indextables.predicates import Bounds
from indextables.runtime import ForkSafeLock
from indextables.storage.ranged import RangedFile

ROW_GROUP_METADATA: Final = "row_group_metadata"
STORAGE_VERSION: Final = "storage_version"
_FIRST_READ: Final = 64 << 10
"""Bytes at the end of a file that has the footer, unless it is a large one."""

_LEVELLED: Final = ("zstd", "gzip", "brotli")
_THREADS_FROM: Final = 1 << 20
"""Bytes to decode from which threads gain more than they cost."""


class ParquetSink:
    """Writes one file. The footer says of each row group its size in memory, its rows and its first row."""

    def __init__(self, path: Path, schema: pa.Schema, options: WriteOptions) -> None:
        self._path = path
        self._schema = schema
        self._options = options
        self._rows = 0
        self._groups: list[str] = []
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._open(rows)
        self._writer.write_table(rows, row_group_size=rows.num_rows)
        self._groups.append(f"{rows.nbytes}|{rows.num_rows}|{self._rows}")
        self._rows += rows.num_rows

    def _open(self, first_rows: pa.Table) -> pq.ParquetWriter:
        options = self._options
        return pq.ParquetWriter(
            self._path,
            self._schema,
            compression=options.compression,
            compression_level=options.compression_level if options.compression in _LEVELLED else None,
            use_dictionary=worth_dictionary(first_rows) if options.dictionary is None else options.dictionary,
            write_page_checksum=True,
        )

    def close(self) -> Mapping[str, str]:
        if self._writer is None:
            self._writer = self._open(self._schema.empty_table())
        self._writer.add_key_value_metadata(
            {ROW_GROUP_METADATA: ";".join(self._groups), STORAGE_VERSION: "1.0.0"}
        )
        self._writer.close()
        footer = pq.read_metadata(self._path).serialized_size + TRAILER
        tail = seal(self._path, chunk_checksums(self._path), footer)
        size = self._path.stat().st_size
        return {FILE_SIZE: str(size), FOOTER_SIZE: str(footer), TAIL: tail.text()}

    def abort(self) -> None:
        with contextlib.suppress(Exception):  # closing writes a footer, to a file that is about to go
            if self._writer is not None:
                self._writer.close()


@dataclass
class _Handle:
    """A Parquet reader and the source it reads, for one thread at a time."""

    file: pq.ParquetFile
    source: RangedFile | None


@dataclass(frozen=True)
class _Kept:
    """The last row group that was read, of which the caller had only a part."""

    columns: tuple[str, ...]
    start: int
    stop: int
    rows: pa.Table


class ParquetRows:
    def __init__(self, stored: StoredFile) -> None:
        self._stored = stored
        self._idle: list[_Handle] = []
        self._lock = ForkSafeLock()
        self._kept: _Kept | None = None
        path = stored.store.local_path(stored.key)
        footer, self._checksums = _checked_footer(stored)
        with stored.decoding():
            self._mapped = None if path is None else pa.memory_map(str(path)).read_buffer()
            file = pq.ParquetFile(pa.BufferReader(footer))
            self._meta: pq.FileMetaData = file.metadata
            self.schema: pa.Schema = file.schema_arrow
            counts = [self._meta.row_group(i).num_rows for i in range(self._meta.num_row_groups)]
        self.starts: RowIds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)

    def bounds(self, chunk: int, columns: Sequence[str]) -> dict[str, Bounds]:
        group = self._meta.row_group(chunk)
        found: dict[str, Bounds] = {}
        for name in columns:
            leaf = self._leaves.get(name, ())
            kind = self.schema.field(name).type
            # Float statistics leave NaN out, which sorts above all; binary ones are not compared here.
            if len(leaf) != 1 or pa.types.is_floating(kind) or not _is_compared(kind):
                continue
            with self._stored.decoding():
                statistics = group.column(leaf[0]).statistics
                if statistics is not None and statistics.has_min_max:
                    found[name] = Bounds(low=statistics.min, high=statistics.max)
        return found

    def memory(self, chunk: int) -> int:
        return self._stated[chunk] if self._stated else int(self._meta.row_group(chunk).total_byte_size)

    def row_bytes(self, columns: Sequence[str]) -> float:
        if not self._meta.num_row_groups:
            return 0.0
        group = self._meta.row_group(0)
        leaves = [leaf for name in columns for leaf in self._leaves.get(name, ())]
        size = sum(group.column(leaf).total_uncompressed_size for leaf in leaves)
        return float(size / max(1, group.num_rows))

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        kept, pieces = self._kept, []
        if kept is not None and kept.columns == tuple(columns) and kept.start <= start < kept.stop:
            end = min(stop, kept.stop)
            pieces.append(kept.rows.slice(start - kept.start, end - start))
            start = end
        if start < stop:
            first, last = self._chunk_of(start), self._chunk_of(stop - 1)
            rows = self._decode(range(first, last + 1), columns)
            offset = int(self.starts[first])
            pieces.append(rows.slice(start - offset, stop - start))
            end = int(self.starts[last + 1])
            if stop < end:
                start = int(self.starts[last])
                self._kept = _Kept(tuple(columns), start, end, rows.slice(start - offset))
            else:
                self._kept = None
        return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        chunks = np.unique(np.searchsorted(self.starts, rows, side="right") - 1)
        sizes = self.starts[chunks + 1] - self.starts[chunks]
        # Where the rows of these chunks begin in the table that is decoded from them alone.
        begins = np.concatenate([[0], np.cumsum(sizes)])
        table = self._decode(chunks.tolist(), columns)
        within = np.searchsorted(chunks, np.searchsorted(self.starts, rows, side="right") - 1)
        return table.take(pa.array(begins[within] + rows - self.starts[chunks[within]]))

    def _decode(self, chunks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        rows = sum(int(self.starts[chunk + 1] - self.starts[chunk]) for chunk in chunks)
        threads = rows * self.row_bytes(columns) >= _THREADS_FROM
        with self._stored.decoding(), self._handle() as handle:
            leaves = [leaf for name in columns for leaf in self._leaves[name]]
            self._load(handle, chunks_of(self._meta, self._checksums, chunks, leaves))
            found = handle.file.read_row_groups(list(chunks), columns=list(columns), use_threads=threads)
            if handle.source is not None:
                handle.source.release()
            if found.num_rows != rows:
                raise self._stored.damaged(f"it gave {found.num_rows} rows where its footer has {rows}")
            if self._checksums is None:
                found.validate(full=True)  # of bytes that nothing has checked, text need not be UTF-8
            return found.select(list(columns))

    def _load(self, handle: _Handle, spans: Sequence[Chunk]) -> None:
        """Have these column chunks at hand, as they were written."""
        if handle.source is not None:
            handle.source.load((span.start, span.length) for span in spans)
        for span in spans:
            if span.crc32 is not None and not span.is_whole(self._bytes_of(handle, span)):
                raise self._stored.damaged(f"the checksum of its bytes {span.start} to {span.end} is wrong")

    def _bytes_of(self, handle: _Handle, span: Chunk) -> memoryview:
        if self._mapped is not None:
            return memoryview(self._mapped)[span.start : span.end]
        assert handle.source is not None
        return memoryview(handle.source.held(span.start, span.length) or b"")

    def _chunk_of(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    @cached_property
    def _leaves(self) -> dict[str, tuple[int, ...]]:
        """The Parquet columns of each column: several for a struct, none of its own name for a list."""
        names = set(self.schema.names)
        leaves: dict[str, list[int]] = {}
        for leaf in range(self._meta.num_columns):
            path = self._meta.schema.column(leaf).path
            name = path if path in names else path.partition(".")[0]
            leaves.setdefault(name, []).append(leaf)
        return {name: tuple(found) for name, found in leaves.items()}

    @cached_property
    def _stated(self) -> list[int]:
        """The sizes in memory that the writer has left in the footer, if it has and they are of these groups."""
        text = (self._meta.metadata or {}).get(ROW_GROUP_METADATA.encode(), b"").decode("utf-8", "replace")
        sizes = [entry.partition("|")[0] for entry in text.split(";")]
        is_whole = len(sizes) == self._meta.num_row_groups and all(size.isdecimal() for size in sizes)
        return [int(size) for size in sizes] if is_whole else []

    def _open(self) -> _Handle:
        # Checksums of column chunks are of their pages too.
        by_page = self._checksums is None
        options: dict[str, Any] = {"metadata": self._meta, "page_checksum_verification": by_page}
        if self._mapped is not None:
            return _Handle(pq.ParquetFile(pa.BufferReader(self._mapped), **options), None)
        source = RangedFile(self._stored.range, self._stored.size)
        # What is read has been loaded, so that Parquet has nothing to buffer ahead.
        file = pq.ParquetFile(pa.PythonFile(source, mode="r"), pre_buffer=False, **options)
        return _Handle(file, source)

    @contextlib.contextmanager
    def _handle(self) -> Iterator[_Handle]:
        with self._lock:
            handle = self._idle.pop() if self._idle else None
        handle = handle or self._open()
        yield handle
        with self._lock:
            self._idle.append(handle)


def footer_properties(stored: StoredFile) -> dict[str, str]:
    """Return what a manifest notes of a file that was written elsewhere: the size and the checksum of its footer."""
    footer, _ = _checked_footer(stored)
    return {FOOTER_SIZE: str(len(footer)), TAIL: Tail.of(footer).text()}


def _checked_footer(stored: StoredFile) -> tuple[bytes, bytes | None]:
    """Return the footer with its trailer, and the checksums of the column chunks if the file has them.

    Both are checked by the manifest's checksum. Where it has none, the footer must at least fit itself and the file.
    """
    tail = stored.read_tail()
    with stored.decoding():
        if tail is not None:
            size = footer_size(tail, stored.size)
            if size > len(tail):
                raise ValueError(f"its footer has {size} bytes and its tail {len(tail)}")
            return tail[-size:], tail[:-size] or None
        if stored.size < TRAILER:
            raise ValueError(f"{stored.size} bytes are too few for a Parquet file")
        length = min(_FIRST_READ, stored.size)
        end = stored.range(stored.size - length, length)
        size = footer_size(end, stored.size)
        footer = end[-size:] if size <= length else stored.range(stored.size - size, size)
        check_footer(footer, stored.size)
        return footer, None


def _is_compared(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or (pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit in ("ms", "us"))
    )
