"""UPDATE, MERGE INTO and DELETE as Spark runs them, without Spark: rows are found, and later changed in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import indextables as it
from indextables.config import Settings
from indextables.predicates import TRUE, parse_where
from indextables.schema import ROW_NUMBER, SPLIT_PATH
from indextables.table import (
    RowChange,
    RowUpdatePlan,
    ScanRequest,
    commit_row_updates,
    plan_scan,
    plan_write,
    run_scan_task,
    run_update_task,
)

DELETED, UPDATED, INSERTED = range(3)
Row = dict[str, Any]


class RowStatement:
    """A statement that has found its rows: `rows`, without what names them. `run` changes them."""

    def __init__(
        self,
        path: str | Path,
        kind: str,
        where: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        table = it.open(path, settings=settings)
        snapshot, resolved = table.snapshot, Settings(settings or {})
        write = plan_write(table.uri, snapshot.schema, mode="append", partition_by=None, settings=resolved)
        assert write is not None
        self.plan = RowUpdatePlan(write, table.version, kind)
        predicate = TRUE if where is None else parse_where(where, snapshot.schema)
        request = ScanRequest((*snapshot.schema.names, SPLIT_PATH, ROW_NUMBER), predicate)
        tasks = plan_scan(table.uri, snapshot, request, resolved).tasks
        found = [row for task in tasks for batch in run_scan_task(task) for row in batch.to_pylist()]
        self._places = [(row.pop(SPLIT_PATH), row.pop(ROW_NUMBER)) for row in found]
        self.rows: list[Row] = found

    def only(self, matches: Callable[[Row], bool]) -> None:
        """Leave the other rows that it has found as they are."""
        pairs = [pair for pair in zip(self.rows, self._places, strict=True) if matches(pair[0])]
        self.rows, self._places = [row for row, _ in pairs], [place for _, place in pairs]

    def run(self, new: Callable[[Row], Row | None], inserted: Iterable[Row] = ()) -> RowChange:
        """Change each row to what `new` returns for it, or delete it for None, and insert others."""
        changed = [(new(row), *place) for row, place in zip(self.rows, self._places, strict=True)]
        entries = [(DELETED if row is None else UPDATED, key, number, row) for row, key, number in changed]
        entries += [(INSERTED, None, None, row) for row in inserted]
        kinds, keys, numbers, rows = zip(*entries, strict=True) if entries else ((), (), (), ())
        batch = pa.record_batch(
            {
                "kind": pa.array(kinds, pa.int32()),
                "split": pa.array(keys, pa.string()),
                "number": pa.array(numbers, pa.int64()),
                "row": pa.array(rows, pa.struct(list(self.plan.write.schema.arrow))),
            }
        )
        return commit_row_updates(self.plan, [run_update_task(self.plan, [batch])])
