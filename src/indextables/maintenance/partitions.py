"""Dropping whole partitions: only the log changes, the files go when they are purged."""

from __future__ import annotations

from indextables.config import Settings
from indextables.errors import PredicateError
from indextables.log import DropPartitions, Snapshot, commit
from indextables.predicates import Predicate, columns_of, text_queries
from indextables.storage import Store


def drop_partitions(store: Store, snapshot: Snapshot, predicate: Predicate, settings: Settings) -> int:
    """Removes the files of every partition for which the predicate is TRUE; the version that did it."""
    if not snapshot.partition_columns:
        raise PredicateError("the table is not partitioned: there is no partition to drop")
    others = sorted(columns_of(predicate) - set(snapshot.partition_columns))
    if others or text_queries(predicate):
        named = ", ".join(repr(name) for name in others) or "a text search"
        raise PredicateError(
            f"dropping partitions takes a condition on partition columns only, and this one has {named}; "
            f"the table is partitioned by {', '.join(snapshot.partition_columns)}"
        )
    return commit(store, DropPartitions(predicate), base=snapshot, settings=settings).version
