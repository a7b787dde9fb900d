"""Assembling a split: the files of the index and the Parquet members become one container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from indextables.schema import FieldMapping
from indextables.split.container import (
    BLOOM_COLUMNS,
    MANIFEST,
    MAPPING,
    RANKING,
    ROW_RUNS,
    bloom_members,
    write_bundle,
)
from indextables.split.index import BuiltIndex, RowRuns
from indextables.split.statistics import RowStatistics
from indextables.stats import inline_stats


@dataclass(frozen=True)
class FinishedSplit:
    """A finished split on local disk, and what the log records about it."""

    path: Path
    size: int
    num_records: int
    footer_start: int
    footer_end: int
    uncompressed_size: int
    min_values: dict[str, str]
    max_values: dict[str, str]
    stats: str | None = None


@dataclass(frozen=True)
class RowsPart:
    """A Parquet member: its file, its columns, and the small members that go with it."""

    path: Path
    columns: tuple[str, ...]
    documents: Sequence[tuple[str, bytes]]


def assemble_split(
    target: Path,
    *,
    work: Path,
    index: BuiltIndex,
    parts: Sequence[RowsPart],
    mapping: FieldMapping,
    row_runs: RowRuns,
    statistics: RowStatistics,
    uncompressed_size: int,
) -> FinishedSplit:
    """Write the container. Temporary files go to the directory `work`."""
    from indextables.columns import (  # noqa: PLC0415 - opening a table does not need it
        ColumnGroup,
        ColumnGroupFile,
        Manifest,
    )

    rows = row_runs.num_rows
    manifest = Manifest(
        tuple(
            ColumnGroup(part.columns, "parquet", (ColumnGroupFile(part.path.name, 0, rows),))
            for part in parts
        )
    )
    filters = statistics.blooms.filters()
    blooms, bloom_columns = bloom_members(filters)
    # Parquet files are the last of the large members, so that a reader's first read gets the footers.
    paths = (*_write_members(work, blooms), *(part.path for part in parts))
    documents = [document for part in parts for document in part.documents]
    documents += [
        (MANIFEST, manifest.to_bytes()),
        (MAPPING, mapping.to_json().encode()),
        (ROW_RUNS, row_runs.to_bytes()),
        (RANKING, index.ranking.to_bytes()),
    ]
    if filters:
        documents.append((BLOOM_COLUMNS, bloom_columns))
    written = write_bundle(
        target,
        [(path.name, path) for path in paths],
        documents,
        compressed=[(path.name, path) for path in index.files],
    )
    return FinishedSplit(
        path=target,
        size=written.size,
        num_records=rows,
        footer_start=written.footer_start,
        footer_end=written.size,
        uncompressed_size=uncompressed_size,
        min_values=statistics.bounds.min_values(),
        max_values=statistics.bounds.max_values(),
        stats=inline_stats(filters, statistics.max_inline_bytes),
    )


def _write_members(work: Path, members: Mapping[str, bytes]) -> Iterator[Path]:
    """Write members to files of the work directory, and yield their paths."""
    for name, data in members.items():
        (work / name).write_bytes(data)
        yield work / name
