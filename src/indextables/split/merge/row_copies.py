"""Copying the rows of several splits into one: the column chunks stay as they are, and the footers are joined.

Statistics and Bloom filters are computed from the copied rows, which verifies their checksums once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.rows import Footer, JoinedFile, MappedSource, PageDirectory, RowReader, Span, join_files
from indextables.split.assembly import RowsPart
from indextables.split.container import CHUNK_CHECKSUMS, PAGE_DIRECTORY, Bundle, rows_member
from indextables.split.contents import SplitContents
from indextables.split.merge.sources import MergeSource, source_errors
from indextables.split.rows import RowsMember
from indextables.split.statistics import RowStatistics

_SMALLEST_GROUPS: Final = 32
"""Row groups stay as they are. If they have fewer rows than this part of what the settings say, the rows are rather
written again: every read of many small row groups costs more than the merge would save."""


class CannotCopyError(Exception):
    """The rows of the splits must be written again; the message says why."""


@dataclass(frozen=True)
class LinkedSource:
    """A source whose index can be linked. `groups` are the columns of each of its Parquet members."""

    source: MergeSource
    bundle: Bundle
    contents: SplitContents
    groups: tuple[tuple[str, ...], ...]

    def member(self, group: int) -> RowsMember:
        return RowsMember(self.bundle, rows_member(group))


def uncompressed_bytes(source: LinkedSource) -> int:
    """Return the size of all rows of a source, decompressed."""
    with source_errors(source.source):
        return sum(sum(source.member(group).group_bytes) for group in range(len(source.groups)))


def check_copyable(sources: Sequence[LinkedSource], settings: Settings) -> None:
    """Raise CannotCopyError if the sources do not fit together, or have too many small row groups."""
    if any(source.groups != sources[0].groups for source in sources):
        raise CannotCopyError("their columns are grouped in different ways")
    rows = sum(source.contents.num_rows for source in sources)
    groups = 0
    for source in sources:
        with source_errors(source.source):
            groups += len(source.member(0).starts) - 1
    if groups > 1 and rows * _SMALLEST_GROUPS < groups * settings.get(keys.ROW_GROUP_ROWS):
        raise CannotCopyError(f"their {groups} row groups have {rows // groups} rows each, which is too few")


def copy_rows(
    sources: Sequence[LinkedSource], rows: int, statistics: RowStatistics, work: Path
) -> list[RowsPart]:
    """Copy the rows of all sources to files in `work`, and add them to the statistics.

    CannotCopyError if they cannot be joined, or cannot be read afterwards.
    """
    parts = [_join(sources, group, work) for group in range(len(sources[0].groups))]
    try:
        _collect_statistics(parts, rows, statistics)
    except (CorruptTableError, ValueError) as reason:
        raise CannotCopyError(f"the joined rows cannot be read: {reason}") from reason
    return parts


def _join(sources: Sequence[LinkedSource], group: int, work: Path) -> RowsPart:
    """Copy the rows of a column group from all sources into one file."""
    path = work / rows_member(group)
    files = []
    for source in sources:
        with source_errors(source.source):
            files.append(_file(source, group))
    try:
        checksums, pages = join_files(files, path)
    except (ValueError, IndexError) as reason:
        raise CannotCopyError(f"their rows cannot be joined: {reason}") from reason
    documents = [(path.name + CHUNK_CHECKSUMS, checksums), (path.name + PAGE_DIRECTORY, pages)]
    return RowsPart(path, sources[0].groups[group], documents)


def _file(source: LinkedSource, group: int) -> JoinedFile:
    bundle, name = source.bundle, rows_member(group)
    member, footer = bundle.member(name), bundle.parquet_footers.get(name)
    if footer is None or name + CHUNK_CHECKSUMS not in bundle.members:
        raise CannotCopyError(f"{bundle.name} has no checksums")

    def read(span: Span) -> bytes:
        with source_errors(source.source):
            data = bundle.range(member.offset + span.start, span.length)
            if not span.is_whole(data):
                raise bundle.damaged(f"{name}: the checksum of its bytes {span.start} to {span.end} is wrong")
        return data

    return JoinedFile(
        footer=source.member(group).reader.footer,
        raw_footer=bundle.verify(footer, bundle.range(footer.offset, footer.length)),
        checksums=bundle.read(name + CHUNK_CHECKSUMS),
        read=read,
    )


def _collect_statistics(parts: Sequence[RowsPart], rows: int, statistics: RowStatistics) -> None:
    """Read the columns that have statistics from the joined files, one row group at a time."""
    readers = [
        (_reader(part), [name for name in part.columns if name in statistics.columns]) for part in parts
    ]
    for reader, _ in readers:
        if int(reader.footer.starts[-1]) != rows:
            raise CannotCopyError(f"the joined files have {int(reader.footer.starts[-1])} rows for {rows}")
    for group in range(readers[0][0].footer.metadata.num_row_groups):
        arrays: dict[str, pa.Array] = {}
        for reader, names in readers:
            table = reader.read([group], names)
            arrays |= {name: table.column(name).combine_chunks() for name in names}
        if arrays:
            statistics.add(pa.RecordBatch.from_pydict(arrays))


def _reader(part: RowsPart) -> RowReader:
    """Open a joined file with its page directory and its checksums, which must fit it."""
    checksums, pages = (content for _, content in part.documents)

    def damaged(reason: object) -> CorruptTableError:
        return CorruptTableError(f"{part.path} is damaged: {reason}")

    metadata = pq.read_metadata(part.path)
    source = MappedSource(part.path, 0, part.path.stat().st_size, damaged)
    return RowReader(source, Footer(metadata, PageDirectory(pages, metadata)), lambda: checksums)
