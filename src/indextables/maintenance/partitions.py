"""Dropping whole partitions. Only the log changes; a purge deletes the files later."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.config import Settings
from indextables.errors import PredicateError
from indextables.log import DropPartitions, RemoveFile, Snapshot, commit
from indextables.predicates import Predicate, columns_of, text_queries
from indextables.storage import Store


@dataclass(frozen=True)
class DroppedPartitions:
    """What was dropped. Status is `success`, or `no_action` when no partition satisfied the condition."""

    table_path: str
    status: str
    partitions_dropped: int
    splits_removed: int
    total_size_bytes: int
    message: str


def drop_partitions(
    store: Store, snapshot: Snapshot, predicate: Predicate, settings: Settings
) -> tuple[int, DroppedPartitions]:
    """Remove the files of every partition for which the predicate is TRUE.

    Returns the version of the table afterwards, and what was dropped.
    """
    if not snapshot.partition_columns:
        raise PredicateError("the table is not partitioned: there is no partition to drop")
    check_partition_condition(snapshot, predicate, "dropping partitions")
    done = commit(store, DropPartitions(predicate), base=snapshot, settings=settings)
    if done.skipped:
        message = f"no partition satisfies the condition at version {done.version}"
        return done.version, DroppedPartitions(
            table_path=store.uri,
            status="no_action",
            partitions_dropped=0,
            splits_removed=0,
            total_size_bytes=0,
            message=message,
        )
    # Count what was written, not what was expected: a concurrent commit may have added files to a partition.
    removed = [action for action in done.actions if isinstance(action, RemoveFile)]
    partitions = {tuple(sorted((action.partition_values or {}).items())) for action in removed}
    return done.version, DroppedPartitions(
        table_path=store.uri,
        status="success",
        partitions_dropped=len(partitions),
        splits_removed=len(removed),
        total_size_bytes=sum(action.size or 0 for action in removed),
        message=f"dropped by version {done.version}; the files are deleted when the table is purged",
    )


def check_partition_condition(snapshot: Snapshot, predicate: Predicate, operation: str) -> None:
    """Raise PredicateError if the condition of an operation is on anything but partition columns."""
    others = sorted(columns_of(predicate) - set(snapshot.partition_columns))
    if others or text_queries(predicate):
        named = ", ".join(repr(name) for name in others) or "a text search"
        partitioned = ", ".join(snapshot.partition_columns)
        raise PredicateError(
            f"{operation} takes a condition on partition columns only, and this one has {named}; "
            f"the table is {f'partitioned by {partitioned}' if partitioned else 'not partitioned'}"
        )
