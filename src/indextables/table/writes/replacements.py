"""Replacing a part of a table: an overwrite of the rows that satisfy a condition, or of the partitions it writes to.

The new rows are written first. They must satisfy the condition, or a repeated write would leave some of them behind.
The commit deletes the rows that satisfy it from the newest version, as a delete does, and adds the new ones. A
condition on partition columns alone removes whole files and opens none.
"""

from __future__ import annotations

from dataclasses import dataclass

from indextables.config import Settings
from indextables.errors import InputError, SchemaError
from indextables.log import AddFile, Metadata, OverwritePartitions, Txn, commit, load_snapshot
from indextables.predicates import TRUE, Predicate, bind, to_sql
from indextables.schema import FieldMapping, TableSchema, decode_value
from indextables.split import open_split
from indextables.storage import Store
from indextables.table.writes.row_deletes import (
    RowChange,
    check_no_restore,
    commit_deletes,
    look_up_deletes,
    repeat_after_merges,
)


@dataclass(frozen=True)
class Replacement:
    """What an overwrite replaces: the rows for which `where` is TRUE; without it, the partitions that it writes to."""

    where: Predicate | None = None


def check_replacing_rows(
    store: Store,
    add: AddFile,
    replacement: Replacement | None,
    *,
    schema: TableSchema,
    mapping: FieldMapping,
    partition_columns: tuple[str, ...],
    settings: Settings,
) -> None:
    """Raise InputError if a split that was just written has a row that does not satisfy the condition."""
    if replacement is None or replacement.where is None:
        return
    columns = [schema.field(name) for name in partition_columns]
    values = {field.name: decode_value(add.partition_values.get(field.name), field.type) for field in columns}
    predicate = bind(replacement.where, values)
    if predicate == TRUE:
        return
    with open_split(store, add.path, add.size, settings=settings, mapping=mapping) as split:
        others = split.num_rows - split.count(predicate)
    if others:
        raise InputError(
            f"{others} of the rows to write do not satisfy {to_sql(replacement.where)!r:.200}, the condition of the "
            f"rows that they replace; filter them, or write them with mode append"
        )


def commit_replacement(
    store: Store,
    replacement: Replacement,
    adds: tuple[AddFile, ...],
    *,
    metadata: Metadata,
    txn: Txn | None,
    settings: Settings,
) -> tuple[int, bool]:
    """Commit an overwrite of a part of the table. Return the version, and whether it has these files.

    It has not if another process has committed the same `txn` first.
    """
    if replacement.where is None:
        change = OverwritePartitions(adds=adds, metadata=metadata, txn=txn)
        snapshot = load_snapshot(store, settings=settings)
        done = commit(store, change, base=snapshot, settings=settings)
        return done.version, not done.skipped
    where = replacement.where

    def replace_rows() -> RowChange:
        snapshot = load_snapshot(store, settings=settings)
        if snapshot.schema.names != TableSchema.of_table(metadata.schema_string).names:
            raise SchemaError(
                f"the columns of {store.uri} have changed since the rows were written; write them again"
            )
        return commit_deletes(
            store,
            snapshot,
            look_up_deletes(store, snapshot, where, settings),
            settings,
            adds=adds,
            metadata=metadata,
            check=lambda current: check_no_restore(store, snapshot, current, "overwrite"),
            txn=txn,
            operation="WRITE",
            parameters={"mode": "overwrite", "replaceWhere": to_sql(where)},
        )

    replaced = repeat_after_merges(replace_rows)
    return replaced.version, replaced.rows_added > 0
