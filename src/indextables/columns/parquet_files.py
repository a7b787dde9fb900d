"""Column groups in Parquet files: small row groups, pages that are found by their rows, checksums of both.

The footer and every byte of a row are verified before Arrow decodes them, by the sections of `file_checksums`. A file
without them is checked as far as its footer allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.columns.column_encoding import encoding_options, worth_dictionary
from indextables.columns.file_checksums import TAIL, Section, add_sections
from indextables.columns.stored_files import FILE_SIZE, FOOTER_SIZE, StoredFile
from indextables.predicates import Bounds
from indextables.rows import (
    TRAILER_BYTES,
    Footer,
    MappedSource,
    PageDirectory,
    PageSize,
    RangedSource,
    RowIds,
    RowReader,
    RowWriter,
    check_footer,
    footer_size,
)
from indextables.runtime import lazy_property

if TYPE_CHECKING:
    from indextables.columns.file_formats import WriteOptions

ROW_GROUP_METADATA: Final = "row_group_metadata"
STORAGE_VERSION: Final = "storage_version"

_FIRST_READ: Final = 64 << 10
"""Bytes at the end of a file that has the footer, unless it is a large one."""

_PAGES: Final = PageSize(bytes=192 << 10, max_rows=2048, min_rows=16)
"""A row that is taken costs a page of each column, and a page that is written costs as much as some hundred values of
it, most of that in the compressor: smaller pages make writing slow, larger ones taking."""


class ParquetSink:
    """Writes one file. The footer says of each row group its size in memory, its rows and its first row."""

    def __init__(self, path: Path, schema: pa.Schema, options: WriteOptions) -> None:
        self._path = path
        self._schema = schema
        self._options = options
        self._rows = 0
        self._groups: list[str] = []
        self._writer = RowWriter(path, schema, _PAGES, self._encoding)

    def write(self, rows: pa.Table) -> None:
        self._writer.write_group(rows)
        self._groups.append(f"{rows.nbytes}|{rows.num_rows}|{self._rows}")
        self._rows += rows.num_rows

    def close(self) -> Mapping[str, str]:
        checksums, pages = self._writer.finish(
            {ROW_GROUP_METADATA: ";".join(self._groups), STORAGE_VERSION: "1.0.0"}
        )
        with self._path.open("rb") as file:
            size = file.seek(-TRAILER_BYTES, 2) + TRAILER_BYTES
            footer = footer_size(file.read(), size)
        stated = add_sections(self._path, footer, checksums, pages)
        return {FILE_SIZE: str(self._path.stat().st_size), FOOTER_SIZE: str(footer), **stated}

    def abort(self) -> None:
        self._writer.abort()

    def _encoding(self, first_rows: pa.Table, page_rows: int) -> Mapping[str, Any]:
        options = self._options
        dictionary = worth_dictionary(first_rows) if options.dictionary is None else options.dictionary
        has_lists = any(_has_lists(field.type) for field in self._schema)
        return {
            # A page of version 2 states its rows, one of version 1 its values: where there are lists, these are more.
            "data_page_version": "2.0" if has_lists else "1.0",
            **encoding_options(
                first_rows, options.compression, options.compression_level, dictionary, page_rows
            ),
        }


def _has_lists(kind: pa.DataType) -> bool:
    """Return True if a row of this type can have several values in one Parquet column."""
    if isinstance(kind, pa.BaseExtensionType):
        return _has_lists(kind.storage_type)
    if pa.types.is_struct(kind):
        return any(_has_lists(field.type) for field in kind)
    return bool(pa.types.is_nested(kind))


@dataclass(frozen=True)
class _LastGroup:
    """The last row group that was read, of which the caller had only a part."""

    columns: tuple[str, ...]
    start: int
    stop: int
    rows: pa.Table


class ParquetRows:
    """The rows of one file."""

    def __init__(self, stored: StoredFile) -> None:
        self._stored = stored
        self._last_group: _LastGroup | None = None
        raw, checksums, directory = _read_end(stored)
        with stored.decoding():
            metadata = pq.read_metadata(pa.BufferReader(raw))
            footer = Footer(metadata, None if directory is None else PageDirectory(directory, metadata))
            self.schema: pa.Schema = footer.schema
            self.starts: RowIds = footer.starts
        path = stored.store.local_path(stored.key)
        source = (
            RangedSource(stored.range, stored.size, stored.damaged)
            if path is None
            else MappedSource(path, 0, stored.size, stored.damaged)
        )
        self._reader = RowReader(source, footer, lambda: checksums)

    def bounds(self, chunk: int, columns: Sequence[str]) -> dict[str, Bounds]:
        with self._stored.decoding():
            return self._reader.footer.bounds(chunk, columns)

    def memory(self, chunk: int) -> int:
        return (self._stated_sizes or self._reader.footer.group_bytes)[chunk]

    def row_bytes(self, columns: Sequence[str]) -> float:
        return self._reader.footer.row_bytes(columns)

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        last, pieces = self._last_group, []
        if last is not None and last.columns == tuple(columns) and last.start <= start < last.stop:
            end = min(stop, last.stop)
            pieces.append(last.rows.slice(start - last.start, end - start))
            start = end
        if start < stop:
            groups = self._reader.groups_between(start, stop)
            rows = self._reader.read(groups, columns)
            offset = int(self.starts[groups[0]])
            pieces.append(rows.slice(start - offset, stop - start))
            start, end = int(self.starts[groups[-1]]), int(self.starts[groups[-1] + 1])
            self._last_group = (
                _LastGroup(tuple(columns), start, end, rows.slice(start - offset)) if stop < end else None
            )
        return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        return self._reader.fetch(rows, columns)

    @lazy_property
    def _stated_sizes(self) -> list[int]:
        """The sizes in memory that the writer left in the footer; none if they are not of these row groups."""
        metadata = self._reader.footer.metadata
        text = (metadata.metadata or {}).get(ROW_GROUP_METADATA.encode(), b"").decode("utf-8", "replace")
        sizes = [entry.partition("|")[0] for entry in text.split(";")]
        is_whole = len(sizes) == metadata.num_row_groups and all(size.isdecimal() for size in sizes)
        return [int(size) for size in sizes] if is_whole else []


def footer_properties(stored: StoredFile) -> dict[str, str]:
    """Return what a manifest says of a file that was written elsewhere: the size and the checksum of its footer."""
    footer, _, _ = _read_end(stored)
    return {FOOTER_SIZE: str(len(footer)), TAIL: Section.of(footer).text()}


def _read_end(stored: StoredFile) -> tuple[bytes, bytes | None, bytes | None]:
    """Return the footer with its trailer, the checksums of the column chunks, and the page directory.

    All are verified by the manifest's checksums. Where it has none, the footer must at least fit itself and the file.
    """
    sections = stored.read_sections()
    with stored.decoding():
        if sections is not None:
            pages, tail = sections
            size = footer_size(tail, stored.size)
            if size > len(tail):
                raise ValueError(f"its footer has {size} bytes and its tail {len(tail)}")
            return tail[-size:], tail[:-size] or None, pages
        if stored.size < TRAILER_BYTES:
            raise ValueError(f"{stored.size} bytes are too few for a Parquet file")
        length = min(_FIRST_READ, stored.size)
        end = stored.range(stored.size - length, length)
        size = footer_size(end, stored.size)
        footer = end[-size:] if size <= length else stored.range(stored.size - size, size)
        check_footer(footer, stored.size)
        return footer, None, None
