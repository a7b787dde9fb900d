"""Writes: what each task does with the rows, and the one commit at the end. `write_plan` decides what both follow.

run_write_task (anywhere) turns rows into splits in the store, which no version names yet
commit_write (once)       publishes one version that names all the splits, or none
abort_write               deletes the splits of a write that certainly did not commit
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.log import AddFile, Append, Overwrite, Snapshot, commit, store_split
from indextables.schema import conform
from indextables.split import FinishedSplit
from indextables.storage import ScratchDirectory, Store, open_store
from indextables.table.writes.partitioning import PartitionSpill
from indextables.table.writes.replacements import Replacement, check_replacing_rows, commit_replacement
from indextables.table.writes.split_building import (
    SplitJob,
    jobs_of_splits,
    parallel_writers,
    run_jobs,
    splits,
)
from indextables.table.writes.write_plan import WritePlan, load_base


@dataclass(frozen=True)
class TaskResult:
    """The splits that one task has stored."""

    adds: tuple[AddFile, ...]


def run_write_task(plan: WritePlan, batches: Iterable[pa.RecordBatch], *, writers: int = 1) -> TaskResult:
    """Index the rows into splits and store them. Readers see nothing of them until the commit.

    Up to `writers` splits are built at a time, if there are several partitions, or `batches` is a list of rows of
    several splits.
    """
    return _WriteTask(plan, writers, None).run(batches)


def write_rows(
    plan: WritePlan, batches: Iterable[pa.RecordBatch], tell: Callable[[int], object] | None = None
) -> TaskResult:
    """Index and store the rows as `run_write_task` does, in a process that does nothing else: with all cores.

    `tell` is called with the number of rows that were taken so far.
    """
    return _WriteTask(plan, parallel_writers(Settings(plan.options)), tell).run(batches)


class _WriteTask:
    """One run of `run_write_task`. Its jobs have every split that was stored, also if the write then fails."""

    def __init__(self, plan: WritePlan, writers: int, tell: Callable[[int], object] | None) -> None:
        self._plan = plan
        self._writers = writers
        self._tell = tell
        self._settings = Settings(plan.options)
        self._store = open_store(plan.uri, self._settings)
        self._jobs: Sequence[SplitJob] = ()

    def run(self, batches: Iterable[pa.RecordBatch]) -> TaskResult:
        try:
            with ScratchDirectory(self._settings) as directory:
                self._build(batches, directory)
        except BaseException:
            _delete(self._store, self._adds())
            raise
        return TaskResult(tuple(self._adds()))

    def _build(self, batches: Iterable[pa.RecordBatch], directory: Path) -> None:
        plan = self._plan
        if plan.partition_columns:
            with PartitionSpill(directory, plan.schema, plan.partition_columns) as spill:
                for batch in self._conformed(self._counted(batches)):
                    spill.add(batch)
                with spill.opened() as partitions:
                    self._run([SplitJob(key, rows) for key, rows in partitions], directory)
            return
        jobs = jobs_of_splits(plan, batches) if isinstance(batches, Sequence) else []
        if len(jobs) > 1:
            jobs = [replace(job, batches=self._conformed(job.batches)) for job in jobs]
            self._run(jobs, directory, self._tell)
            return
        rows = self._conformed(self._counted(batches))
        self._run([SplitJob((), rows, is_one_split=len(jobs) == 1)], directory)

    def _run(
        self, jobs: Sequence[SplitJob], directory: Path, tell: Callable[[int], object] | None = None
    ) -> None:
        self._jobs = jobs
        rows = 0

        def after(job: SplitJob) -> None:
            nonlocal rows
            rows += sum(add.num_records or 0 for add in job.adds)
            if tell is not None:
                tell(rows)

        def build(job: SplitJob, heap: int | None, check: Callable[[], None]) -> None:
            parts = splits(
                self._plan,
                job,
                settings=self._settings,
                directory=directory,
                heap=heap,
                check=check,
            )
            with closing(parts):
                for split in parts:
                    self._store_split(split, job)

        run_jobs(jobs, build, settings=self._settings, writers=self._writers, after=after)

    def _store_split(self, split: FinishedSplit, job: SplitJob) -> None:
        plan = self._plan
        job.adds.append(
            store_split(
                self._store,
                split,
                partition_columns=plan.partition_columns,
                partition_values=dict(zip(plan.partition_columns, job.key, strict=True)),
                mapping=plan.mapping,
            )
        )
        check_replacing_rows(
            self._store,
            job.adds[-1],
            plan.replacement,
            schema=plan.schema,
            mapping=plan.mapping,
            partition_columns=plan.partition_columns,
            settings=self._settings,
        )

    def _conformed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema, missing = self._plan.schema, self._plan.missing
        return (conform(batch, schema, missing) for batch in batches)

    def _counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches; each that is taken is reported when the next one is asked for."""
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.num_rows
            if self._tell is not None:
                self._tell(rows)

    def _adds(self) -> list[AddFile]:
        """Return the splits in the order of their rows."""
        return [add for job in self._jobs for add in job.adds]


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


def _delete(store: Store, adds: Iterable[AddFile]) -> None:
    for add in adds:
        store.delete(add.path)
