"""Merging splits without indexing their rows again: segments are linked, and column chunks copied.

Only splits that this release could have written alike are linked: with row ids of their own, and with the mapping and
tokenizer of the table. If their column chunks cannot be copied, their rows are written again.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from indextables.config import Settings
from indextables.runtime import new_id
from indextables.schema import FieldMapping, TableSchema
from indextables.split.assembly import FinishedSplit, RowsPart, assemble_split
from indextables.split.container import MANIFEST, MAPPING, ROW_RUNS, Bundle, rows_member
from indextables.split.contents import SplitContents
from indextables.split.index import BuiltIndex, IndexFields, RankingStatistics, RowRuns
from indextables.split.index_cache import extract_members
from indextables.split.merge.index_linking import CannotLinkError, link_indexes
from indextables.split.merge.row_copies import (
    CannotCopyError,
    LinkedSource,
    check_copyable,
    copy_rows,
    uncompressed_bytes,
)
from indextables.split.merge.sources import MergeSource, check_rows, source_errors, split_rows
from indextables.split.reader import SplitReader
from indextables.split.rows_writer import RowsWriter
from indextables.split.statistics import RowStatistics
from indextables.split.stored_form import StoredForm
from indextables.storage import SCRATCH_ADVICE, disk_errors

_MAX_RUNS: Final = 4096
"""Every open of a split decodes the list of its runs. One with more is indexed again, after which it has one run."""


class LinkedSplit(NamedTuple):
    """A split of linked segments. `rewritten` says why its rows were written again, and is None if they were copied."""

    split: FinishedSplit
    rewritten: str | None


class _MergedRows(NamedTuple):
    parts: Sequence[RowsPart]
    statistics: RowStatistics
    rewritten: str | None


def link_splits(
    sources: Sequence[MergeSource],
    bundles: Sequence[Bundle],
    *,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    directory: Path,
) -> LinkedSplit:
    """Merge splits into one in `directory`. CannotLinkError if their rows must be indexed again.

    `bundles` are the open containers of the sources.
    UnreadableSplitError names a source that is damaged. On any error nothing remains in `directory`.
    """
    form = StoredForm.of(schema, mapping, settings)
    schema, mapping, settings = form.schema, form.mapping, form.settings
    target = directory / f"split-{new_id()}.split"
    work = directory / f".{target.stem}"
    with disk_errors("merge splits in", str(directory), SCRATCH_ADVICE):
        try:
            opened = [
                _open(source, bundle, mapping, settings)
                for source, bundle in zip(sources, bundles, strict=True)
            ]
            linked = [source for source in opened if source.contents.num_rows]
            row_runs = _row_runs(linked)
            work.mkdir(parents=True)
            index = _link(linked, work, IndexFields(mapping), row_runs)
            rows = _merge_rows(linked, row_runs, mapping, schema, settings, work)
            split = assemble_split(
                target,
                work=work,
                index=index,
                parts=rows.parts,
                mapping=mapping,
                row_runs=row_runs,
                statistics=rows.statistics,
                uncompressed_size=sum(map(uncompressed_bytes, linked)),
            )
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return LinkedSplit(split, rows.rewritten)


def _open(source: MergeSource, bundle: Bundle, mapping: FieldMapping, settings: Settings) -> LinkedSource:
    from indextables.columns import Manifest  # noqa: PLC0415 - opening a table does not need it

    if source.delta_log is not None:
        raise CannotLinkError(f"rows of {source.path} are deleted")
    with source_errors(source):
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
    return LinkedSource(source, bundle, contents, tuple(tuple(group.columns) for group in groups))


def _row_runs(sources: Sequence[LinkedSource]) -> RowRuns:
    """Return the row ids of all sources. CannotLinkError if two rows have the same id, or there are too many runs."""
    if not sources:
        raise CannotLinkError("the splits have no rows")
    runs = sum(len(source.contents.row_runs.runs) for source in sources)
    if runs > _MAX_RUNS:
        raise CannotLinkError(f"their row ids are in {runs} runs, more than {_MAX_RUNS}")
    try:
        return RowRuns.concat(source.contents.row_runs for source in sources)
    except ValueError as reason:
        raise CannotLinkError(f"their row ids overlap: {reason}") from reason


def _link(sources: Sequence[LinkedSource], work: Path, fields: IndexFields, row_runs: RowRuns) -> BuiltIndex:
    """Merge the indexes, and check that the merged one has as many words as they have together."""
    (work / "index").mkdir()
    directories = [_extract(source, work / f"source-{n}") for n, source in enumerate(sources)]
    index = link_indexes(directories, work / "index", fields, row_runs)
    parts = []
    for source in sources:
        with source_errors(source.source):
            parts.append(source.contents.ranking)
    recorded = [part for part in parts if part is not None]
    if len(recorded) == len(parts) and index.ranking != (total := RankingStatistics.total(recorded)):
        raise CannotLinkError(
            f"their ranking statistics are {total} together, and {index.ranking} when merged"
        )
    return index


def _extract(source: LinkedSource, directory: Path) -> Path:
    directory.mkdir()
    with source_errors(source.source):
        extract_members(source.bundle, directory, documents=True)
    return directory


def _merge_rows(
    sources: Sequence[LinkedSource],
    row_runs: RowRuns,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    work: Path,
) -> _MergedRows:
    """Merge the Parquet members: copy their column chunks, or else write their rows again."""
    try:
        check_copyable(sources, settings)
        statistics = RowStatistics(schema, mapping, settings)
        return _MergedRows(copy_rows(sources, row_runs.num_rows, statistics, work), statistics, None)
    except CannotCopyError as reason:
        statistics = RowStatistics(schema, mapping, settings)
        writer = RowsWriter(work, schema, mapping, settings)
        try:
            for source in sources:
                with source_errors(source.source):
                    for batch in split_rows(SplitReader(source.contents), schema):
                        statistics.add(batch)
                        writer.write(batch)
            return _MergedRows(writer.finish(), statistics, str(reason))
        except BaseException:
            writer.abort()
            raise
