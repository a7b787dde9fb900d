"""Upserts: one commit deletes the rows of a table that have the keys of the new rows, and adds the new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import CommitConflictError, CommitUnknownError, IndexTablesError, InputError
from indextables.log import Snapshot, load_snapshot
from indextables.log.actions import Added, to_entries
from indextables.predicates import And, Compare, In, Predicate, bind, conjunction
from indextables.rows import RowIds
from indextables.schema import FLOAT_TYPES, INTEGER_TYPES, Field, TableSchema, conform, is_nested
from indextables.split import SplitReader
from indextables.state import PrunedFiles
from indextables.storage import Store
from indextables.table.scans import ScanRequest, ScanTask, SplitLeases, SplitRef, split_refs
from indextables.table.writes.row_deletes import (
    RowChange,
    TaskDeletes,
    check_no_restore,
    commit_deletes,
    delete_rows,
    discard_deletes,
    plan_delete,
)
from indextables.table.writes.row_images import ALL, count_by_partition, mark_updates
from indextables.table.writes.write import TaskResult, abort_write, run_write_task
from indextables.table.writes.write_plan import WritePlan, plan_write

if TYPE_CHECKING:
    from indextables.columns import KeySet

_FEW_KEYS: Final = 1000
"""So many keys of a column are looked up one by one; of more, the least and the greatest."""

OPERATION: Final = "UPSERT"


def upsert_rows(
    store: Store,
    schema: TableSchema,
    batches: Sequence[pa.RecordBatch],
    on: Sequence[str],
    settings: Settings,
) -> RowChange:
    """Replace the rows of the newest version that have the keys of these rows, and add the others."""
    plan = plan_write(
        store.uri, schema, mode="append", partition_by=None, settings=settings, is_complete=True
    )
    assert plan is not None
    assert plan.base_version is not None
    snapshot = load_snapshot(store, plan.base_version, settings=settings)
    rows = pa.Table.from_batches([conform(batch, plan.schema) for batch in batches], plan.schema.arrow)
    keys = Keys.of(rows, [plan.schema.field(name) for name in on])
    if not rows.num_rows:
        return RowChange(snapshot.version)
    deletes: list[TaskDeletes] = []
    replaced: list[pa.RecordBatch] = []
    try:
        for task in plan_delete(store.uri, snapshot, keys.predicate, settings):
            # One after the other: the list must hold a delete if the next one fails.
            deletes += [_as_updates(delete_rows(task, partial(keys.look_up, replaced=replaced)))]
        written = _write(plan, rows, keys, replaced)
    except BaseException:
        discard_deletes(store, deletes)
        raise
    try:
        return commit_deletes(
            store,
            snapshot,
            deletes,
            settings,
            adds=written.adds,
            metadata=plan.metadata,
            check=lambda current: check_later_files(
                store, snapshot, current, partial(_count_keys, plan, current, keys)
            ),
            operation=OPERATION,
            parameters={"on": ", ".join(field.name for field in keys.fields)},
        )
    except CommitUnknownError:
        raise
    except IndexTablesError:
        abort_write(plan, [written])
        raise


def _as_updates(deletes: TaskDeletes) -> TaskDeletes:
    """Return deletes of rows that all have new values."""
    return replace(deletes, rows=tuple(replace(rows, updated=ALL) for rows in deletes.rows))


def _write(plan: WritePlan, rows: pa.Table, keys: Keys, replaced: Sequence[pa.RecordBatch]) -> TaskResult:
    """Store the rows, those first whose keys the table has: the log has their number (see `row_images`)."""
    names = [field.name for field in keys.fields]
    updated = rows.slice(0, 0)
    if any(batch.num_rows for batch in replaced):
        from indextables.columns import KeySet  # noqa: PLC0415 - opening a table does not need it

        old_keys = KeySet.of(pa.Table.from_batches(replaced), nulls_match=False)
        is_update = pa.array(np.concatenate([*map(old_keys.contains, rows.select(names).to_batches())]))
        updated, rows = rows.filter(is_update), rows.filter(pc.invert(is_update))
    batches = updated.to_batches(max_chunksize=65536)
    updates = count_by_partition(batches, plan.schema, plan.partition_columns)
    written = run_write_task(plan, [*batches, *rows.to_batches(max_chunksize=65536)])
    return TaskResult(mark_updates(written.adds, updates, plan.partition_columns))


@dataclass(frozen=True)
class Keys:
    """The keys of new rows. `predicate` is TRUE for every row that has one of them, and for others."""

    fields: tuple[Field, ...]
    values: KeySet
    predicate: Predicate

    @classmethod
    def of(cls, rows: pa.Table, fields: Sequence[Field]) -> Keys:
        """Return the keys of rows. InputError if a key is null or not a key of one row."""
        for field in fields:
            if is_nested(field.type):
                raise InputError(
                    f"column {field.name!r} is {field.type_name}; values of several parts are no keys. Name columns of "
                    f"plain values in on"
                )
            if field.type in FLOAT_TYPES:
                raise InputError(
                    f"column {field.name!r} is {field.type}; floating-point numbers are not exact, and no keys. "
                    f"Name other columns in on"
                )
            if nulls := rows.column(field.name).null_count:
                raise InputError(
                    f"column {field.name!r} is null in {nulls} rows, and null is no key: no row equals it. Fill it, or "
                    f"append those rows with write"
                )
        names = [field.name for field in fields]
        keys = rows.select(names)
        counts = keys.group_by(names).aggregate([([], "count_all")])
        repeated = counts.filter(pc.greater(counts.column("count_all"), 1))
        if repeated.num_rows:
            example = repeated.select(names).slice(0, 1).to_pylist()[0]
            raise InputError(
                f"{repeated.num_rows} keys are in more than one of the rows, such as {example!r:.200}; keep one row "
                f"for each key"
            )
        conditions = [_condition(field, rows.column(field.name)) for field in fields]
        predicate = conjunction([condition for condition in conditions if condition is not None])
        from indextables.columns import KeySet  # noqa: PLC0415 - the same

        return cls(tuple(fields), KeySet.of(keys, nulls_match=False), predicate)

    def look_up(
        self,
        ref: SplitRef,
        split: SplitReader,
        predicate: Predicate,
        replaced: list[pa.RecordBatch] | None = None,
    ) -> RowIds:
        """Return the rows of a split that have one of the keys, and add their keys to `replaced`."""
        candidates = split.matching(predicate)
        stored = [field.name for field in self.fields if field.name not in ref.partition_values]
        matches: list[RowIds] = [candidates[:0]]
        for rows, batch in split.columns_of(candidates, stored):
            arrays = [
                batch.column(field.name)
                if field.name in stored
                else pa.repeat(pa.scalar(ref.partition_values[field.name], field.arrow_type), len(rows))
                for field in self.fields
            ]
            columns = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in self.fields])
            has_key = self.values.contains(columns)
            matches.append(rows[has_key])
            if replaced is not None:
                replaced.append(columns.filter(pa.array(has_key)))
        return np.concatenate(matches)


def _condition(field: Field, values: pa.ChunkedArray) -> Predicate | None:
    """Return a condition that each of the values satisfies; None if there is none that is worth a look."""
    if field.type not in INTEGER_TYPES | {"string"} or not len(values):
        return None
    distinct = pc.unique(values)
    if len(distinct) <= _FEW_KEYS:
        return In(field.name, tuple(distinct.to_pylist()))
    bounds = pc.min_max(distinct)
    return And(
        (Compare(">=", field.name, bounds["min"].as_py()), Compare("<=", field.name, bounds["max"].as_py()))
    )


def check_later_files(
    store: Store, before: Snapshot, current: Snapshot, count_keys: Callable[[Mapping[str, Added]], int]
) -> None:
    """Raise CommitConflictError if the table has rows with keys of an upsert that were not there at its look-up.

    They are in files that were added since, where `count_keys` looks, or a restore has brought them back.
    """
    check_no_restore(store, before, current, OPERATION)
    later = dict(current.files.added_after(before.version))
    if later and (found := count_keys(later)):
        raise CommitConflictError(
            f"a concurrent commit has added {found} rows with keys of this upsert to {current.uri} (now at version "
            f"{current.version}); read the table again and repeat the upsert"
        )


def _count_keys(plan: WritePlan, current: Snapshot, keys: Keys, later: Mapping[str, Added]) -> int:
    """Return how many rows of some files of a snapshot have one of the keys. It stops at the first file with one."""
    columns = [current.schema.field(name) for name in current.partition_columns]
    refs = split_refs(PrunedFiles(to_entries(later.items()), columns, {}))
    request = ScanRequest((), keys.predicate)
    task = ScanTask(
        uri=plan.uri,
        options=plan.options,
        schema=current.schema,
        mapping=current.mapping,
        request=request,
        splits=tuple(refs),
    )
    lease = SplitLeases(task)
    for ref in refs:
        with lease(ref) as split:
            rows = keys.look_up(ref, split, bind(keys.predicate, ref.partition_values))
        if len(rows):
            return len(rows)
    return 0
