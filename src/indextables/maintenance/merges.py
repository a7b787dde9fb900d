"""MERGE SPLITS: replace small splits of a partition by one larger split with the same rows, without deleted ones.

plan_merge      (once)           groups the small splits of each partition
run_merge_task  (anywhere)       merges one group into a new split in the store, which no version names yet
commit_merge    (for each batch) publishes one version that replaces the sources of a batch by its new splits (see
                                 `merge_commits`)

Readers of older versions keep the sources. A purge deletes them when no readable version names them.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from indextables.config import Settings, keys
from indextables.errors import (
    CorruptTableError,
    IndexTablesError,
    UnreadableSplitError,
    VersionNotFoundError,
)
from indextables.log import Snapshot, load_snapshot, store_split
from indextables.log.snapshots import is_expired, mapping_of, read_snapshot
from indextables.maintenance.merge_commits import CommittedMerge, MergedGroup, commit_merge, discard_groups
from indextables.maintenance.merge_plan import MergeOptions, MergeTask, plan_merge
from indextables.notebook import result_html
from indextables.progress import Progress
from indextables.runtime import now_ms
from indextables.schema import FieldMapping, TableSchema
from indextables.split import MergedSplit, MergeSource, merge_splits
from indextables.storage import ScratchDirectory, Store, open_store

_log: Final = logging.getLogger(__name__)

_SHOWN: Final = 3
_LONGEST_REASON: Final = 500
_INDEXED_AGAIN: Final = "indexed again: "
"""The beginning of the messages that say how a split was made; the others are about what was not merged."""


class GroupMerger(Protocol):
    """Merges the splits of one group, as `split.merge_splits` does."""

    def __call__(
        self,
        sources: Sequence[MergeSource],
        *,
        mapping: FieldMapping,
        schema: TableSchema,
        settings: Settings,
        directory: Path,
    ) -> MergedSplit: ...


@dataclass(frozen=True)
class Merged:
    """The result of a merge. `status` is `success`, `partial_success`, or `no_action` if nothing was merged.

    `merged_files` splits of `original_size_bytes` with `rows` rows became `merge_groups` splits of
    `merged_size_bytes`. `linked` and `indexed_again` of these were made in that way. `dropped_groups` were not
    committed because concurrent commits had removed one of their splits. `skipped_files` could not be read, and the
    tasks of `failed_groups` have failed. `messages` say why. `version` is that of the table afterwards.

    >>> import indextables as it, pyarrow as pa
    >>> for n in (1, 2, 3):
    ...     _ = it.write("memory://doc-merged", pa.table({"n": [n]}))
    >>> merged = it.open("memory://doc-merged").merge_splits()
    >>> merged.status, merged.merged_files, merged.merge_groups, merged.rows, merged.version
    ('success', 3, 1, 3, 3)
    """

    table_path: str
    status: str
    merged_files: int
    merge_groups: int
    original_size_bytes: int
    merged_size_bytes: int
    message: str
    rows: int = 0
    linked: int = 0
    indexed_again: int = 0
    dropped_groups: int = 0
    skipped_files: int = 0
    failed_groups: int = 0
    version: int = 0
    duration_ms: int = 0
    messages: tuple[str, ...] = field(default=(), repr=False)

    def _repr_html_(self) -> str:
        return result_html(f"Merge of {self.table_path}", self)


def plan_newest(
    store: Store, options: MergeOptions, settings: Settings, *, now: int
) -> tuple[Snapshot, tuple[MergeTask, ...]]:
    """Return the newest snapshot and the groups of its splits to merge (see `plan_merge`)."""
    snapshot = load_snapshot(store, settings=settings)
    while True:
        try:
            return snapshot, plan_merge(snapshot, options, settings, now=now)
        except (CorruptTableError, VersionNotFoundError):
            if not is_expired(store, snapshot):
                raise
            # The files of the snapshot were still to be read, and the state that has them has been deleted since.
            snapshot = read_snapshot(store, settings=settings)


def run_merge_task(
    task: MergeTask, store: Store | None = None, merger: GroupMerger = merge_splits
) -> MergedGroup:
    """Merge the splits of one group and store the result under a new name. Readers see nothing of it yet.

    A split that cannot be read is left out, and the others are merged without it. A task may run twice: the split that
    is not committed is an orphan, which a purge deletes.
    """
    settings = Settings(task.options)
    store = open_store(task.uri, settings) if store is None else store
    sources = list(task.sources)
    unreadable: list[tuple[str, str]] = []
    with ScratchDirectory(settings) as directory:
        schema = TableSchema.of_table(task.metadata.schema_string)
        mapping = mapping_of(task.metadata)
        while len(sources) > 1 or (sources and sources[0].delta_log is not None):
            try:
                split = merger(
                    [
                        MergeSource(store, source.key, source.size, source.num_records, source.delta_log)
                        for source in sources
                    ],
                    mapping=mapping,
                    schema=schema.without(task.metadata.partition_columns),
                    settings=settings,
                    directory=directory,
                )
            except UnreadableSplitError as reason:
                damaged = {error.path: str(error.__cause__ or error) for error in (reason, *reason.others)}
                unreadable += damaged.items()
                sources = [source for source in sources if source.key not in damaged]
                continue
            return MergedGroup(
                sources=tuple(source.key for source in sources),
                delta_logs={
                    source.key: log.key for source in sources if (log := source.delta_log) is not None
                },
                size=sum(source.size for source in sources),
                add=store_split(
                    store,
                    split,
                    partition_columns=task.metadata.partition_columns,
                    partition_values=task.partition_values,
                    mapping=mapping,
                    num_merge_ops=max(source.num_merge_ops for source in sources) + 1,
                ),
                method=split.method,
                reason=split.reason,
                unreadable=tuple(unreadable),
            )
    return MergedGroup(unreadable=tuple(unreadable))


def merge_small_splits(
    store: Store,
    settings: Settings,
    options: MergeOptions | None = None,
    *,
    progress: Progress | None = None,
    clock: Callable[[], int] = now_ms,
    merger: GroupMerger = merge_splits,
) -> Merged:
    """Merge the small splits of the newest version, and commit after each batch. Safe next to any other commit.

    `progress` is called after each group. A group that fails is counted in the result, and the others are merged. If
    nothing was merged, its error is raised. An interrupt, or an error of a commit, leaves the batches that are
    committed; the rest of the table is as it was.
    """
    started = clock()
    snapshot, tasks = plan_newest(store, options or MergeOptions(), settings, now=started)
    result = merge_tasks(store, settings, snapshot, tasks, progress=progress, clock=clock, merger=merger)
    return dataclasses.replace(result, duration_ms=max(clock() - started, 0))


def merge_tasks(
    store: Store,
    settings: Settings,
    snapshot: Snapshot,
    tasks: Sequence[MergeTask],
    *,
    progress: Progress | None = None,
    clock: Callable[[], int] = now_ms,
    merger: GroupMerger = merge_splits,
) -> Merged:
    """Merge the groups of a plan, which was made for `snapshot`, and commit after each batch.

    A group that fails does not stop the others. If nothing was merged, the error of the first that failed is raised.
    """
    result = empty_result(snapshot)
    size = settings.get(keys.MERGE_BATCH_SIZE)
    errors: list[Exception] = []
    for first in range(0, len(tasks), size):
        groups: list[MergedGroup] = []
        failures: list[str] = []
        try:
            for number, task in enumerate(tasks[first : first + size], first + 1):
                try:
                    groups.append(run_merge_task(task, store, merger))
                except InterruptedError:  # an OSError that asks the merge to stop
                    raise
                except (IndexTablesError, OSError, MemoryError) as reason:
                    _log.warning("%s: a group of splits was not merged: %s", store.uri, reason)
                    errors.append(reason)
                    failures.append(failure_of(reason))
                if progress is not None:
                    progress(number, len(tasks))
        except BaseException:
            discard_groups(store, groups)
            raise
        committed = commit_merge(
            store, groups, metadata=tasks[0].metadata, base=snapshot, settings=settings, clock=clock
        )
        snapshot = committed.snapshot
        result = add_committed(result, committed, failures)
    if errors and not result.merge_groups:
        raise errors[0]
    _log.info("%s: merge: %s", store.uri, result.message)
    return result


def failure_of(reason: Exception) -> str:
    """Return the text that says why a group was not merged."""
    return f"{type(reason).__name__}: {reason}"[:_LONGEST_REASON]


def empty_result(snapshot: Snapshot) -> Merged:
    """Return the result of a merge that has not merged anything yet."""
    return Merged(
        table_path=snapshot.uri,
        status="no_action",
        merged_files=0,
        merge_groups=0,
        original_size_bytes=0,
        merged_size_bytes=0,
        message=f"no partition has two small splits at version {snapshot.version}",
        version=snapshot.version,
    )


def add_committed(result: Merged, committed: CommittedMerge, failures: Sequence[str] = ()) -> Merged:
    """Return the result after one more batch. `failures` are the reasons why tasks of the batch have failed."""
    adds = [group.add for group in committed.merged if group.add is not None]
    methods = [group.method for group in committed.merged]
    total = dataclasses.replace(
        result,
        merged_files=result.merged_files + sum(len(group.sources) for group in committed.merged),
        merge_groups=result.merge_groups + len(adds),
        original_size_bytes=result.original_size_bytes + sum(group.size for group in committed.merged),
        merged_size_bytes=result.merged_size_bytes + sum(add.size for add in adds),
        rows=result.rows + sum(add.num_records or 0 for add in adds),
        linked=result.linked + methods.count("linked"),
        indexed_again=result.indexed_again + methods.count("indexed again"),
        dropped_groups=result.dropped_groups + len(committed.dropped),
        skipped_files=result.skipped_files + len(committed.skipped),
        failed_groups=result.failed_groups + len(failures),
        version=committed.snapshot.version,
        messages=tuple(
            dict.fromkeys(
                (
                    *result.messages,
                    *_messages(committed),
                    *(f"a group failed: {reason}" for reason in failures),
                )
            )
        ),
    )
    incomplete = total.dropped_groups or total.skipped_files or total.failed_groups
    status = "no_action" if not total.merge_groups else "partial_success" if incomplete else "success"
    return dataclasses.replace(total, status=status, message=_message(total))


def _messages(committed: CommittedMerge) -> list[str]:
    """Return what a user should know about a batch, each text once."""
    texts = [f"{_INDEXED_AGAIN}{group.reason}" for group in committed.merged if group.reason is not None]
    if committed.dropped:
        texts.append(f"{len(committed.dropped)} groups were not committed: {committed.reason}")
    texts += [f"cannot read {key}: {reason}" for key, reason in committed.skipped]
    return list(dict.fromkeys(texts))


def _message(result: Merged) -> str:
    problems = [text for text in result.messages if not text.startswith(_INDEXED_AGAIN)]
    if not result.merge_groups and not problems:
        return result.message
    parts = [f"merged {result.merged_files} splits into {result.merge_groups}", *problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        parts.append(f"and {len(problems) - _SHOWN} more messages")
    return "; ".join(parts)
