"""Merging by simulated processes: plan, batches and commits of production code, over splits of a few bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from indextables.config import Settings, keys
from indextables.errors import ObjectNotFoundError, UnreadableSplitError
from indextables.maintenance import (
    Merged,
    MergeOptions,
    add_committed,
    commit_merge,
    empty_result,
    merge_small_splits,
    plan_newest,
    run_merge_task,
)
from indextables.predicates import TRUE, Compare, Predicate
from indextables.runtime import now_ms
from indextables.schema import FieldMapping, TableSchema
from indextables.split import MergedSplit, MergeSource, load_deleted_rows
from support.simulation.process import DAYS, Process

_UNREADABLE = 0.03
"""The chance of a split that it cannot be read by a merge."""


def merge(process: Process) -> None:
    """Merge small splits, in one process or with tasks that ran elsewhere, from a plan that may be old by then."""
    rng = process.rng
    day = rng.choice(DAYS)
    where: Predicate = Compare("=", "day", day) if rng.random() < 0.3 else TRUE
    options = MergeOptions(
        where, max_source_splits=rng.choice([None, 2, 3]), max_dest_splits=rng.choice([None, None, 1])
    )
    settings = Settings(dict(process.settings) | {keys.MERGE_BATCH_SIZE.key: str(rng.randint(1, 3))})
    run = merge_in_process if rng.random() < 0.5 else merge_in_tasks
    process.try_to("merge", lambda: run(process, options, settings))


def merge_in_process(process: Process, options: MergeOptions, settings: Settings) -> Merged:
    return merge_small_splits(process.store, settings, options, merger=_Joiner(process))


def merge_in_tasks(process: Process, options: MergeOptions, settings: Settings) -> Merged:
    """As a cluster does it: all tasks run before the first commit."""
    base, tasks = plan_newest(process.store, options, settings, now=now_ms())
    result = empty_result(base)
    groups = [run_merge_task(task, process.store, _Joiner(process)) for task in tasks]
    size = settings.get(keys.MERGE_BATCH_SIZE)
    for first in range(0, len(groups), size):
        batch = groups[first : first + size]
        committed = commit_merge(
            process.store, batch, metadata=tasks[0].metadata, base=base, settings=settings
        )
        base, result = committed.snapshot, add_committed(result, committed)
    return result


class _Joiner:
    """Joins the rows of splits. It is what `split.merge_splits` does to real ones."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __call__(
        self,
        sources: Sequence[MergeSource],
        *,
        mapping: FieldMapping,
        schema: TableSchema,
        settings: Settings,
        directory: Path,
    ) -> MergedSplit:
        rows: list[bytes] = []
        for source in sources:
            try:
                found = source.store.get(source.path).split()
            except ObjectNotFoundError as reason:
                raise UnreadableSplitError("it is gone", path=source.path) from reason
            if self._process.rng.random() < _UNREADABLE:
                raise UnreadableSplitError("it is damaged", path=source.path)
            assert len(found) == source.num_records
            deleted = load_deleted_rows(source.store, source.delta_log, len(found))
            rows += [found[row] for row in deleted.without(np.arange(len(found)))]
        content = b" ".join(rows)
        path = directory / "merged"
        path.write_bytes(content)
        return MergedSplit(path, len(content), len(rows), 0, len(content), len(content), {}, {})
