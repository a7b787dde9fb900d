"""Planning of a merge: which splits become one. Pure: no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import pyarrow.compute as pc

from indextables.config import HOUR_MS, Settings, keys
from indextables.errors import CorruptTableError, InputError
from indextables.log import Metadata, SkipFile, Snapshot, writer_metadata
from indextables.log.actions import check_writable, is_elsewhere
from indextables.maintenance.partitions import check_partition_condition
from indextables.predicates import TRUE, Predicate
from indextables.split import DeltaLogRef
from indextables.state import KEY
from indextables.storage import options_for_tasks

DEFAULT_TARGET_BYTES: Final = 5 << 30
MIN_TARGET_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class MergeOptions:
    """What to merge: the partitions, the size of the new splits in bytes, and how many of them at most.

    `max_dest_splits` None is no limit; `max_source_splits` None is what the settings say. With `only_deleted`, each
    split with deleted rows is rewritten without them, and nothing is merged.
    """

    where: Predicate = TRUE
    target_size: int = DEFAULT_TARGET_BYTES
    max_dest_splits: int | None = None
    max_source_splits: int | None = None
    only_deleted: bool = False

    def __post_init__(self) -> None:
        if self.target_size < MIN_TARGET_BYTES:
            raise InputError(
                f"the target size of a merge is {self.target_size} bytes; the minimum is {MIN_TARGET_BYTES} (1M)"
            )
        if self.max_dest_splits is not None and self.max_dest_splits < 1:
            raise InputError(
                f"a merge into at most {self.max_dest_splits} splits does nothing; the minimum is 1"
            )
        if self.max_source_splits is not None and self.max_source_splits < 2:
            raise InputError(
                f"a merge of at most {self.max_source_splits} splits into one does nothing; the minimum is 2"
            )


@dataclass(frozen=True)
class SourceSplit:
    """A split to merge, and what the log records about it."""

    key: str
    size: int
    num_records: int | None
    num_merge_ops: int
    delta_log: DeltaLogRef | None = None

    @property
    def num_live(self) -> int | None:
        """The number of rows that are not deleted, if the log has it."""
        deleted = 0 if self.delta_log is None else self.delta_log.num_deleted
        return None if self.num_records is None else self.num_records - deleted

    @property
    def deleted_share(self) -> float:
        """The share of the rows that are deleted; 1 if the log does not record how many rows there are."""
        if self.delta_log is None:
            return 0.0
        return self.delta_log.num_deleted / self.num_records if self.num_records else 1.0


@dataclass(frozen=True)
class MergeTask:
    """One group of splits of one partition. It has all that a task needs on any machine.

    `metadata` is what the new split is written for.
    """

    uri: str
    options: dict[str, str] = field(repr=False)  # credentials may be among them
    metadata: Metadata
    partition_values: Mapping[str, str]
    sources: tuple[SourceSplit, ...]

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)


def total_size(tasks: Iterable[MergeTask]) -> int:
    """Return the size in bytes of the splits that tasks replace."""
    return sum(task.size for task in tasks)


def plan_merge(
    snapshot: Snapshot, options: MergeOptions, settings: Settings, *, now: int
) -> tuple[MergeTask, ...]:
    """Return the groups to merge, best first: those that replace the most splits.

    Splits of at least `merge.skipSplitThreshold` of the target size stay as they are. So do those that an earlier merge
    could not read, until it is time to try again. The smallest splits are merged first, and their rows keep the order
    in which they were added. A split of any size of which `merge.deletedShare` of the rows are deleted is rewritten
    without them, by itself if it is in no group.
    """
    check_partition_condition(snapshot, options.where, "MERGE SPLITS")
    most = options.max_source_splits or settings.get(keys.MERGE_MAX_SOURCES)
    share = 0.0 if options.only_deleted else settings.get(keys.MERGE_DELETED_SHARE)
    groups: list[_PartitionGroup] = []
    for values, candidates in _candidates(snapshot, options, settings, now).items():
        of_partition = list(_groups(_small_splits(candidates), options.target_size, most))
        grouped = {candidate.split.key for group in of_partition for candidate in group}
        alone = [c for c in candidates if c.split.delta_log is not None and c.split.key not in grouped]
        of_partition += [[candidate] for candidate in alone if candidate.split.deleted_share >= share]
        groups += [(values, group) for group in of_partition]
    return _tasks(snapshot, settings, groups)[: options.max_dest_splits]


def plan_due_merge(snapshot: Snapshot, settings: Settings, *, now: int) -> tuple[MergeTask, ...]:
    """Return the groups of an automatic merge: one for each partition that has too many small splits."""
    least = settings.get(keys.MERGE_ON_WRITE_SPLITS)
    most = settings.get(keys.MERGE_MAX_SOURCES)
    options = MergeOptions(target_size=settings.get(keys.MERGE_ON_WRITE_TARGET))
    groups = []
    for values, candidates in _candidates(snapshot, options, settings, now).items():
        in_order = _small_splits(candidates)
        if len(in_order) >= least:
            sizes = [candidate.split.size for candidate in in_order[:most]]
            groups.append((values, in_order[: due_splits(sizes, least, options.target_size)]))
    return _tasks(snapshot, settings, [(values, group) for values, group in groups if len(group) > 1])


def due_splits(sizes: Sequence[int], least: int, target_size: int) -> int:
    """Return how many of the smallest splits of a partition an automatic merge makes one. `sizes` ascend.

    Half of `least` in any case, and then each that is not larger than all smaller ones together. So a split is
    written again only when there are as many new rows as it has. A partition has at most `least` small splits then,
    and a row is written a few times in all, however many splits it takes to fill one.

    >>> due_splits([10] * 31 + [300], 32, 4 << 30), due_splits([10] * 31 + [600], 32, 4 << 30)
    (32, 31)
    """
    count = total = 0
    for size in sizes:
        if total + size > target_size or (count >= max(least // 2, 2) and size > total):
            break
        count, total = count + 1, total + size
    return count


_PartitionGroup: TypeAlias = tuple["_PartitionKey", Sequence["_Candidate"]]


def _tasks(
    snapshot: Snapshot, settings: Settings, groups: Sequence[_PartitionGroup]
) -> tuple[MergeTask, ...]:
    """Return the tasks of groups, best first."""
    check_writable(snapshot.protocol, snapshot.uri)
    if snapshot.gap is not None:
        raise CorruptTableError(
            f"version {snapshot.gap.first} of {snapshot.uri} is missing although version {snapshot.gap.next} exists; "
            f"repair the table before you merge its splits"
        )
    metadata = writer_metadata(snapshot)
    task_options = options_for_tasks(snapshot.uri, settings.with_properties(metadata.configuration))
    tasks = []
    for values, group in groups:
        in_order = tuple(candidate.split for candidate in sorted(group, key=_by_version))
        tasks.append(MergeTask(snapshot.uri, task_options, metadata, dict(values), in_order))
    tasks.sort(key=lambda task: (-len(task.sources), task.size))
    return tuple(tasks)


@dataclass(frozen=True)
class _Candidate:
    split: SourceSplit
    version: int
    is_small: bool


_PartitionKey: TypeAlias = tuple[tuple[str, str], ...]


def _candidates(
    snapshot: Snapshot, options: MergeOptions, settings: Settings, now: int
) -> dict[_PartitionKey, list[_Candidate]]:
    """Return the splits that may be merged, by partition."""
    limit = settings.get(keys.MERGE_SKIP_THRESHOLD) * options.target_size
    cooldown_ms = settings.get(keys.MERGE_SKIP_HOURS) * HOUR_MS
    entries = snapshot.prune(options.where).entries
    # Only the columns that are needed become objects, and only for the files that matter.
    has_deletes = pc.is_valid(entries.column("deltaLog"))
    is_small = pc.less(entries.column("size"), 0 if options.only_deleted else limit)
    files = entries.append_column("small", is_small).filter(pc.or_(is_small, has_deletes))
    columns = (
        KEY,
        "partitionValues",
        "size",
        "numRecords",
        "numMergeOps",
        "addedAtVersion",
        "companionSourceFiles",
        "deltaLog",
        "numDeleted",
        "small",
    )
    partitions: dict[_PartitionKey, list[_Candidate]] = defaultdict(list)
    for key, values, size, rows, merges, version, companions, log, deleted, small in zip(
        *(files.column(name).to_pylist() for name in columns), strict=True
    ):
        skip = snapshot.extras.skips.get(key)
        if is_elsewhere(key) or companions or (skip is not None and now < _retry_time(skip, cooldown_ms)):
            continue
        delta_log = DeltaLogRef.of(log, deleted, rows, key)
        split = SourceSplit(key, size, rows, num_merge_ops=merges or 0, delta_log=delta_log)
        partitions[tuple(sorted(values or ()))].append(_Candidate(split, version, small))
    return partitions


def _small_splits(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the small ones, the smallest first."""
    return sorted((candidate for candidate in candidates if candidate.is_small), key=_by_size)


def _retry_time(skip: SkipFile, cooldown_ms: int) -> int:
    return skip.skip_timestamp + cooldown_ms if skip.retry_after is None else skip.retry_after


def _groups(candidates: Sequence[_Candidate], target_size: int, most: int) -> Iterable[list[_Candidate]]:
    """Yield groups of at least two splits that have at most the target size together."""
    group: list[_Candidate] = []
    size = 0
    for candidate in candidates:
        if len(group) == most or size + candidate.split.size > target_size:
            if len(group) > 1:
                yield group
            group, size = [], 0
        group.append(candidate)
        size += candidate.split.size
    if len(group) > 1:
        yield group


def _by_size(candidate: _Candidate) -> tuple[int, int, str]:
    return candidate.split.size, candidate.version, candidate.split.key


def _by_version(candidate: _Candidate) -> tuple[int, str]:
    return candidate.version, candidate.split.key
