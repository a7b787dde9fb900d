"""Merging splits without indexing their rows again: segments are linked, and column chunks copied.

Only splits that this release could have written alike are linked: with row ids of their own, and with the mapping and
tokenizer of the table. Statistics and Bloom filters are computed from the joined rows, which verifies their checksums.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.rows import Footer, JoinedFile, MappedSource, PageDirectory, RowReader, Span, join_files
from indextables.runtime import new_id
from indextables.schema import FieldMapping, TableSchema
from indextables.split.assembly import RowsPart, assemble_split
from indextables.split.container import (
    CHUNK_CHECKSUMS,
    MANIFEST,
    MAPPING,
    PAGE_DIRECTORY,
    ROW_RUNS,
    Bundle,
    open_bundle,
    rows_member,
)
from indextables.split.contents import SplitContents
from indextables.split.index import RowRuns
from indextables.split.index_cache import extract_members
from indextables.split.merge.index_linking import CannotLinkError, link_indexes
from indextables.split.merge.sources import MergeSource, check_rows, source_errors
from indextables.split.rows import RowsMember
from indextables.split.writer import FinishedSplit, statistics_columns
from indextables.stats import BloomCollector, BloomFilter, MinMaxCollector, inline_stats
from indextables.storage import SCRATCH_ADVICE, disk_errors

_SMALLEST_GROUPS: Final = 16
"""Row groups stay as they are. If they have fewer rows than this part of what the settings say, the rows are rather
written again: every read of many small row groups costs more than the merge would save."""

_DISK_SHARE: Final = 3
"""A merge has the indexes of its sources, the merged index, the joined rows and the container on disk at one time."""


@dataclass(frozen=True)
class _Source:
    """A source that can be linked."""

    source: MergeSource
    bundle: Bundle
    contents: SplitContents
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Statistics:
    min_values: dict[str, str]
    max_values: dict[str, str]
    filters: dict[str, BloomFilter]


def link_splits(
    sources: Sequence[MergeSource],
    *,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    directory: Path,
) -> FinishedSplit:
    """Merge splits into one in `directory`. CannotLinkError if their rows must be indexed again.

    UnreadableSplitError names a source that is damaged. On any error nothing remains in `directory`.
    """
    target = directory / f"split-{new_id()}.split"
    work = directory / f".{target.stem}"
    with disk_errors("merge splits in", str(directory), SCRATCH_ADVICE):
        try:
            opened = [_open(source, mapping, settings) for source in sources]
            linked = [source for source in opened if source.contents.num_rows]
            row_runs = _check_linkable(linked, settings)
            work.mkdir(parents=True)
            _check_disk(linked, directory)
            (work / "index").mkdir()
            directories = [_extract(source, work / f"source-{n}") for n, source in enumerate(linked)]
            index_files = link_indexes(directories, work / "index", row_runs)
            parts = [_join(linked, group, work) for group in range(len(linked[0].groups))]
            try:
                statistics = _statistics(parts, row_runs.num_rows, schema, mapping, settings)
            except (CorruptTableError, ValueError) as reason:
                raise CannotLinkError(f"the joined rows cannot be read: {reason}") from reason
            written = assemble_split(
                target,
                work=work,
                index_files=index_files,
                parts=parts,
                mapping=mapping,
                row_runs=row_runs,
                filters=statistics.filters,
            )
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return FinishedSplit(
        path=target,
        size=written.size,
        num_records=row_runs.num_rows,
        footer_start=written.footer_start,
        footer_end=written.size,
        uncompressed_size=sum(
            sum(_member(source, group).group_bytes)
            for source in linked
            for group in range(len(source.groups))
        ),
        min_values=statistics.min_values,
        max_values=statistics.max_values,
        stats=inline_stats(statistics.filters, settings.get(keys.BLOOM_MAX_INLINE_BYTES)),
    )


def _open(source: MergeSource, mapping: FieldMapping, settings: Settings) -> _Source:
    from indextables.columns import Manifest  # noqa: PLC0415 - opening a table does not need it

    with source_errors(source):
        bundle = open_bundle(source.store, source.path, source.size)
        if MAPPING not in bundle.members or MANIFEST not in bundle.members:
            raise CannotLinkError(f"{bundle.name} is of another writer")
        if ROW_RUNS not in bundle.members:
            raise CannotLinkError(f"{bundle.name} was written before splits had row ids of their own")
        if bundle.read(MAPPING) != mapping.to_json().encode():
            raise CannotLinkError(f"{bundle.name} is indexed in another way than the table is now")
        contents = SplitContents(bundle, settings)
        check_rows(contents.num_rows, source.num_records)
        groups = Manifest.from_bytes(bundle.read(MANIFEST)).column_groups
        if any(
            len(group.files) != 1 or group.files[0].path != rows_member(n) for n, group in enumerate(groups)
        ):
            raise CannotLinkError(f"{bundle.name} has its rows in other files")
    return _Source(source, bundle, contents, tuple(tuple(group.columns) for group in groups))


def _check_linkable(sources: Sequence[_Source], settings: Settings) -> RowRuns:
    """Return the row ids of all sources. CannotLinkError if the sources do not fit together."""
    if not sources:
        raise CannotLinkError("the splits have no rows")
    if any(source.groups != sources[0].groups for source in sources):
        raise CannotLinkError("their columns are grouped in different ways")
    try:
        row_runs = RowRuns.concat(source.contents.row_runs for source in sources)
    except ValueError as reason:
        raise CannotLinkError(f"their row ids overlap: {reason}") from reason
    groups = 0
    for source in sources:
        with source_errors(source.source):
            groups += len(_member(source, 0).starts) - 1
    if groups > 1 and row_runs.num_rows * _SMALLEST_GROUPS < groups * settings.get(keys.ROW_GROUP_ROWS):
        raise CannotLinkError(
            f"their {groups} row groups have {row_runs.num_rows // groups} rows each, which is too few"
        )
    return row_runs


def _check_disk(sources: Sequence[_Source], directory: Path) -> None:
    needed = _DISK_SHARE * sum(source.bundle.size for source in sources)
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise CannotLinkError(f"{directory} has {free} bytes free, and linking takes up to {needed}")


def _extract(source: _Source, directory: Path) -> Path:
    directory.mkdir()
    with source_errors(source.source):
        extract_members(source.bundle, directory, documents=True)
    return directory


def _member(source: _Source, group: int) -> RowsMember:
    return RowsMember(source.bundle, rows_member(group))


def _join(sources: Sequence[_Source], group: int, work: Path) -> RowsPart:
    """Copy the rows of a column group from all sources into one file."""
    path = work / rows_member(group)
    files = []
    for source in sources:
        with source_errors(source.source):
            files.append(_file(source, group))
    try:
        checksums, pages = join_files(files, path)
    except (ValueError, IndexError) as reason:
        raise CannotLinkError(f"their rows cannot be joined: {reason}") from reason
    documents = [(path.name + CHUNK_CHECKSUMS, checksums), (path.name + PAGE_DIRECTORY, pages)]
    return RowsPart(path, sources[0].groups[group], documents)


def _file(source: _Source, group: int) -> JoinedFile:
    bundle, name = source.bundle, rows_member(group)
    member, footer = bundle.member(name), bundle.parquet_footers.get(name)
    if footer is None or name + CHUNK_CHECKSUMS not in bundle.members:
        raise CannotLinkError(f"{bundle.name} has no checksums")

    def read(span: Span) -> bytes:
        with source_errors(source.source):
            data = bundle.range(member.offset + span.start, span.length)
            if not span.is_whole(data):
                raise bundle.damaged(f"{name}: the checksum of its bytes {span.start} to {span.end} is wrong")
        return data

    return JoinedFile(
        footer=_member(source, group).reader.footer,
        raw_footer=bundle.verify(footer, bundle.range(footer.offset, footer.length)),
        checksums=bundle.read(name + CHUNK_CHECKSUMS),
        read=read,
    )


def _statistics(
    parts: Sequence[RowsPart], rows: int, schema: TableSchema, mapping: FieldMapping, settings: Settings
) -> _Statistics:
    """Compute the statistics from the joined rows, as the writer of a split does."""
    columns, max_length = statistics_columns(schema, mapping, settings)
    filtered = [column.name for name in settings.get(keys.BLOOM_COLUMNS) if (column := schema.get(name))]
    bounds = MinMaxCollector(schema, columns, max_length)
    blooms = BloomCollector(schema, filtered, settings.get(keys.BLOOM_FPP))
    needed = {*columns, *filtered}
    readers = [(_reader(part), [name for name in part.columns if name in needed]) for part in parts]
    for reader, _ in readers:
        if int(reader.footer.starts[-1]) != rows:
            raise CannotLinkError(f"the joined files have {int(reader.footer.starts[-1])} rows for {rows}")
    for group in range(readers[0][0].footer.metadata.num_row_groups):
        arrays: dict[str, pa.Array] = {}
        for reader, names in readers:
            table = reader.read([group], names)
            arrays |= {name: table.column(name).combine_chunks() for name in names}
        if arrays:
            batch = pa.RecordBatch.from_pydict(arrays)
            bounds.add(batch)
            blooms.add(batch)
    return _Statistics(bounds.min_values(), bounds.max_values(), blooms.filters())


def _reader(part: RowsPart) -> RowReader:
    """Open a joined file with its page directory and its checksums, which must fit it."""
    checksums, pages = (content for _, content in part.documents)

    def damaged(reason: object) -> CorruptTableError:
        return CorruptTableError(f"{part.path} is damaged: {reason}")

    metadata = pq.read_metadata(part.path)
    source = MappedSource(part.path, 0, part.path.stat().st_size, damaged)
    return RowReader(source, Footer(metadata, PageDirectory(pages, metadata)), lambda: checksums)
