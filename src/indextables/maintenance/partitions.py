"""Dropping whole partitions: only the log changes, the files go when they are purged."""

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
    """Removes the files of every partition for which the predicate is TRUE; the version that did it, and what."""
    _check(snapshot, predicate)
    done = commit(store, DropPartitions(predicate), base=snapshot, settings=settings)
    if done.skipped:
        message = f"no partition satisfies the condition at version {done.version}"
        return done.version, DroppedPartitions(store.uri, "no_action", 0, 0, 0, message)
    # What was written, not what was expected: others may have added to a partition meanwhile.
    removed = [action for action in done.actions if isinstance(action, RemoveFile)]
    partitions = {tuple(sorted((action.partition_values or {}).items())) for action in removed}
    return done.version, DroppedPartitions(
        store.uri,
        "success",
        len(partitions),
        len(removed),
        sum(action.size or 0 for action in removed),
        f"dropped by version {done.version}; the files are deleted when the table is purged",
    )


def _check(snapshot: Snapshot, predicate: Predicate) -> None:
    if not snapshot.partition_columns:
        raise PredicateError("the table is not partitioned: there is no partition to drop")
    others = sorted(columns_of(predicate) - set(snapshot.partition_columns))
    if others or text_queries(predicate):
        named = ", ".join(repr(name) for name in others) or "a text search"
        raise PredicateError(
            f"dropping partitions takes a condition on partition columns only, and this one has {named}; "
            f"the table is partitioned by {', '.join(snapshot.partition_columns)}"
        )
