"""The rows that later versions append to a table, for `tail --follow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.opening import condition_of
from indextables.log import Restore, split_key
from indextables.table import (
    ChangeSet,
    ScanRequest,
    Table,
    open_table,
    plain_rows,
    plan_scan,
    run_scan_task,
    scan_schema,
)

_CHANGE_TYPE: Final = "_change_type"


def appended_rows(
    newest: Table, since: int, columns: Sequence[str], query: str | None = None, where: str | None = None
) -> Iterator[pa.Table]:
    """Yield the rows that each version after `since` inserted, and that match: not those it updated, moved or restored.

    >>> import indextables as it
    >>> for n in (1, 2, 3):
    ...     _ = it.write("memory://doc-appended-rows", pa.table({"n": [n]}))
    >>> [rows.to_pylist() for rows in appended_rows(it.open("memory://doc-appended-rows"), 0, ["n"])]
    [[{'n': 2}], [{'n': 3}]]
    """
    if newest.version <= since:
        return
    history = newest.history().select(["version", "operation"]).to_pylist()
    operations = {row["version"]: row["operation"] for row in history}
    for version in range(since + 1, newest.version + 1):
        if operations.get(version) == Restore.operation:
            continue
        changed = newest.changes(since=version - 1, until=version)
        if not changed.adds:
            continue
        rows = (
            _inserted(changed, columns)
            if query is None and where is None
            else _matching(newest, changed, columns, query, where)
        )
        if rows.num_rows:
            yield rows


def _inserted(changed: ChangeSet, columns: Sequence[str]) -> pa.Table:
    """Return the rows that one version inserted. Where it only adds files, those are all of their rows."""
    if not (changed.removes or changed.changed):
        return changed.to_arrow(columns)
    feed = changed.to_arrow(columns, feed=True)
    return feed.filter(pc.equal(feed.column(_CHANGE_TYPE), "insert")).select(list(columns))


def _matching(
    newest: Table, changed: ChangeSet, columns: Sequence[str], query: str | None, where: str | None
) -> pa.Table:
    """Return the inserted rows of one version that match, by the index of the files that it added."""
    table = open_table(newest.uri, version=changed.new_version, settings=newest.settings)
    names = table.schema.names
    only_adds = not (changed.removes or changed.changed)
    matches = _rows_of_files(table, changed, columns if only_adds else names, query, where)
    if only_adds or not matches.num_rows:
        return matches.select(list(columns))
    # The files hold updated rows too. Rows of equal values match alike, so that values tell which rows match.
    keys = {_key(row) for row in plain_rows(matches)}
    rows = _inserted(changed, names)
    return rows.filter(pa.array([_key(row) in keys for row in plain_rows(rows)], pa.bool_())).select(
        list(columns)
    )


def _rows_of_files(
    table: Table, changed: ChangeSet, columns: Sequence[str], query: str | None, where: str | None
) -> pa.Table:
    predicate, settings = condition_of(table, query, where)
    request = ScanRequest(tuple(columns), predicate)
    added = {split_key(add.path, table.uri) for add in changed.adds}
    batches: list[pa.RecordBatch] = []
    for task in plan_scan(table.uri, table.snapshot, request, settings).tasks:
        splits = tuple(split for split in task.splits if split.path in added)
        if splits:
            batches += run_scan_task(replace(task, splits=splits))
    return pa.Table.from_batches(batches, schema=scan_schema(table.snapshot.schema, request))


def _key(row: dict[str, object]) -> bytes:
    return orjson.dumps(row, default=str)
