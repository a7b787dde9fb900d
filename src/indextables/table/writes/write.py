"""Writes: what each task does with the rows, and the one commit at the end. `write_plan` decides what both follow.

run_write_task (anywhere) turns rows into splits in the store, which no version names yet
commit_write (once)       publishes one version that names all the splits, or none
abort_write               deletes the splits of a write that certainly did not commit
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.log import AddFile, Append, Overwrite, Snapshot, commit, store_split
from indextables.schema import conform
from indextables.split import FinishedSplit, SplitWriter
from indextables.storage import ScratchDirectory, Store, open_store
from indextables.table.writes.partitioning import PartitionKey, PartitionSpill
from indextables.table.writes.replacements import Replacement, check_replacing_rows, commit_replacement
from indextables.table.writes.write_plan import WritePlan, load_base

_FEWEST_ROWS: Final = 1000
"""A batch of rows is not divided into splits of fewer rows, however small the target size."""


@dataclass(frozen=True)
class TaskResult:
    """The splits that one task has stored."""

    adds: tuple[AddFile, ...]


def run_write_task(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> TaskResult:
    """Index the rows into splits and store them. Readers see nothing of them until the commit."""
    settings = Settings(plan.options)
    store = open_store(plan.uri, settings)
    missing = plan.missing
    rows = (conform(batch, plan.schema, missing) for batch in batches)
    adds: list[AddFile] = []
    try:
        with ScratchDirectory(settings) as directory:
            for key, part in _partitions(plan, rows, directory):
                for split in _splits(plan, part, settings, directory):
                    adds.append(
                        store_split(
                            store,
                            split,
                            partition_columns=plan.partition_columns,
                            partition_values=dict(zip(plan.partition_columns, key, strict=True)),
                            mapping=plan.mapping,
                        )
                    )
                    check_replacing_rows(
                        store,
                        adds[-1],
                        plan.replacement,
                        schema=plan.schema,
                        mapping=plan.mapping,
                        partition_columns=plan.partition_columns,
                        settings=settings,
                    )
    except BaseException:
        _delete(store, adds)
        raise
    return TaskResult(tuple(adds))


def commit_write(plan: WritePlan, results: Iterable[TaskResult | None]) -> int:
    """Commit the whole write as one version; return it, or the version planned on if there is nothing to commit.

    If another process has committed the same `txn` first, this write is not committed again: its splits are deleted and
    the version of that table is returned.
    """
    return publish_write(plan, results)[0]


def publish_write(plan: WritePlan, results: Iterable[TaskResult | None]) -> tuple[int, Snapshot | None]:
    """Commit the whole write as `commit_write` does. Return the version, and the table at it.

    There is no snapshot if there was nothing to commit, or if a part of the table was replaced.
    """
    stored = [result for result in results if result is not None]
    adds = tuple(add for result in stored for add in result.adds)
    adds_only = plan.mode == "append" or plan.replacement == Replacement()
    if adds_only and plan.base_version is not None and not adds and plan.txn is None:
        return plan.base_version, None
    settings = Settings(plan.options)
    store = open_store(plan.uri, settings)
    base = None if plan.base_version is None else load_base(store, plan.base_version)
    change: Append | Overwrite
    if plan.mode == "overwrite":
        change = Overwrite(adds=adds, metadata=plan.metadata, replaces=plan.replaces, txn=plan.txn)
    else:
        create: Literal["allow", "only"] = "allow" if plan.mode == "append" else "only"
        change = Append(adds=adds, metadata=plan.metadata, create=create, txn=plan.txn, evolves=plan.evolves)
    try:
        if plan.replacement is not None and base is not None:
            version, has_adds = commit_replacement(
                store, plan.replacement, adds, metadata=plan.metadata, txn=plan.txn, settings=settings
            )
            if not has_adds:
                abort_write(plan, stored)
            return version, None
        done = commit(store, change, base=base, settings=settings)
    except CommitUnknownError:
        raise
    except IndexTablesError:
        # Any other IndexTablesError means that the commit certainly did not happen, so the splits can be deleted. After
        # an error of another kind a version may name them: they stay, and a purge finds them if none does.
        abort_write(plan, stored)
        raise
    if done.skipped:
        abort_write(plan, stored)
    return done.version, done.snapshot


def abort_write(plan: WritePlan, results: Iterable[TaskResult | None]) -> None:
    """Delete the splits that the tasks stored. Only for a write that certainly did not commit."""
    store = open_store(plan.uri, Settings(plan.options))
    _delete(store, [add for result in results if result is not None for add in result.adds])


def _partitions(
    plan: WritePlan, rows: Iterator[pa.RecordBatch], directory: Path
) -> Iterator[tuple[PartitionKey, Iterator[pa.RecordBatch]]]:
    if not plan.partition_columns:
        yield (), rows
        return
    with PartitionSpill(directory, plan.schema, plan.partition_columns) as spill:
        for batch in rows:
            spill.add(batch)
        yield from spill.partitions()


def _splits(
    plan: WritePlan, rows: Iterator[pa.RecordBatch], settings: Settings, directory: Path
) -> Iterator[FinishedSplit]:
    """Yield splits of about the target size; none if there are no rows."""
    schema = plan.schema.without(plan.partition_columns)
    writer: SplitWriter | None = None
    try:
        for batch in rows:
            while batch.num_rows:
                if writer is None:
                    writer = SplitWriter(schema, plan.mapping, settings=settings, directory=directory)
                count = _rows_within(batch, plan.split_bytes - writer.input_bytes)
                writer.write(batch.slice(0, count))
                batch = batch.slice(count)  # noqa: PLW2901 - what is left of it
                if writer.input_bytes >= plan.split_bytes:
                    finished, writer = writer.finish(), None
                    yield finished
        if writer is not None:
            finished, writer = writer.finish(), None
            yield finished
    finally:
        if writer is not None:
            writer.abort()


def _rows_within(batch: pa.RecordBatch, size: int) -> int:
    """Return how many rows of a batch have about that size, but not so few that splits become tiny."""
    rows: int = batch.num_rows
    return min(rows, max(math.ceil(rows * size / max(int(batch.nbytes), 1)), _FEWEST_ROWS))


def _delete(store: Store, adds: Iterable[AddFile]) -> None:
    for add in adds:
        store.delete(add.path)
