"""The handle of a table: one version of it, the questions that it answers, and the operations on its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.log import Metadata, Protocol, Snapshot, load_snapshot, read_history
from indextables.log.snapshots import invalidate_cache
from indextables.predicates import (
    TRUE,
    Predicate,
    QueryLimits,
    conjunction,
    parse_where,
)
from indextables.progress import Progress, shown_progress
from indextables.runtime import CacheFigures
from indextables.schema import Field
from indextables.split import Snippet
from indextables.storage import Store, open_store
from indextables.table.aggregates import ColumnStats, check_values, column_stats, histogram, top_values
from indextables.table.aggregation import COUNT_ROWS
from indextables.table.arguments import (
    check_condition,
    check_flag,
    to_columns,
    to_count,
    to_hours,
    to_mapping,
    to_millis,
    to_names,
    to_seconds,
    to_settings,
    to_size,
    to_version,
)
from indextables.table.buckets import buckets_of
from indextables.table.changes import ChangeSet, Since, changes
from indextables.table.conditions import ANY_FIELDS, text_query
from indextables.table.input_rows import arrow_stream
from indextables.table.listing import files_table, history_table, with_column_names
from indextables.table.prewarming import Prewarmed, plan_prewarm, run_prewarm_task, total_prewarmed
from indextables.table.row_deletes import RowChange, delete_where, repeat_after_merges
from indextables.table.scan import (
    ScanPlan,
    ScanRequest,
    plan_scan,
    scan_schema,
)
from indextables.table.scan_tasks import run_scan_task
from indextables.table.skipping import record_scan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from indextables.maintenance import CleanedVersions, Merged, Purged, StateDescription, Truncated
    from indextables.table.hits import Hits
    from indextables.table.search_plan import SearchPlan


class Table:
    """One version of a table. It does not change; `open` the table again, or `refresh`, to see later versions.

    >>> import indextables as it, pyarrow as pa
    >>> rows = pa.table({"id": [1, 2], "message": ["disk full on db1", "login ok"]})
    >>> it.write("memory://doc-table", rows, text=["message"])
    0
    >>> table = it.open("memory://doc-table")
    >>> table
    <indextables.Table memory://doc-table version=0 files=1 rows=2>
    >>> table.version, table.schema.names, table.partition_columns, table.protocol.min_reader_version
    (0, ['id', 'message'], [], 4)
    >>> table.search("message:(disk AND full)", columns=["id"]).column("id").to_pylist()
    [1]
    """

    def __init__(self, uri: str, snapshot: Snapshot, settings: Settings) -> None:
        self._uri = uri
        self._snapshot = snapshot
        self._settings = settings

    @property
    def uri(self) -> str:
        """The address of the table."""
        return self._uri

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the log that the handle reads."""
        return self._snapshot

    @property
    def settings(self) -> Settings:
        """The settings with which the table was opened."""
        return self._settings

    @property
    def version(self) -> int:
        """The number of this version."""
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return self._snapshot.schema.arrow

    @property
    def partition_columns(self) -> list[str]:
        """The columns whose values name the partitions."""
        return list(self._snapshot.partition_columns)

    @property
    def protocol(self) -> Protocol:
        """The versions of the format that readers and writers must support."""
        return self._snapshot.protocol

    @property
    def metadata(self) -> Metadata:
        """The table's id, schema, partitioning and configuration, as the log records them."""
        return self._snapshot.metadata

    def refresh(self) -> Table:
        """Open the newest version of the same table, with the same settings.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-refresh", pa.table({"n": [1]}))
        >>> table = it.open("memory://doc-refresh")
        >>> _ = it.write("memory://doc-refresh", pa.table({"n": [2]}))
        >>> table.count(), table.refresh().count()
        (1, 2)
        """
        snapshot = load_snapshot(self._store(), settings=self._settings)
        return Table(self._uri, snapshot, self._settings)

    def files(self, where: str | None = None) -> pa.Table:
        """Return one row for each live file that may hold a row that satisfies `where`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-files", pa.table({"day": ["mon", "tue"], "n": [1, 2]}), partition_by=["day"])
        >>> it.open("memory://doc-files").files(where="day = 'mon'").column("num_records").to_pylist()
        [1]
        """
        files = files_table(self._snapshot.prune(self._where(where)).entries)
        return with_column_names(files, self._snapshot.schema)

    def to_arrow(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, limit: int | None = None
    ) -> pa.Table:
        """Return the rows that satisfy `where`, a Spark SQL condition that may use TEXTSEARCH and its siblings.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-arrow", pa.table({"id": [1, 2], "level": ["INFO", "ERROR"]}))
        >>> it.open("memory://doc-to-arrow").to_arrow(columns=["id"], where="level = 'ERROR'").to_pylist()
        [{'id': 2}]
        """
        batches = self.to_batches(columns, where=where, limit=limit)
        return pa.Table.from_batches(batches, schema=batches.schema)

    def to_batches(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Return the rows of `to_arrow` as a stream, for results that are larger than memory.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-batches", pa.table({"n": range(5)}))
        >>> sum(batch.num_rows for batch in it.open("memory://doc-to-batches").to_batches(limit=3))
        3
        """
        names = to_columns(columns, self._snapshot.schema)
        return self._read(ScanRequest(names, self._where(where), limit=to_count(limit, "limit", "rows")))

    def to_pandas(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, limit: int | None = None
    ) -> pd.DataFrame:
        """Return the rows of `to_arrow` as a pandas DataFrame.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-pandas", pa.table({"n": [1, 2]}))
        >>> int(it.open("memory://doc-to-pandas").to_pandas(where="n > 1")["n"].sum())
        2
        """
        return self.to_arrow(columns, where, limit=limit).to_pandas()

    def to_polars(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, limit: int | None = None
    ) -> pl.DataFrame:
        """Return the rows of `to_arrow` as a Polars DataFrame. InputError if Polars is not installed.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-polars", pa.table({"n": [1, 2]}))
        >>> it.open("memory://doc-to-polars").to_polars(where="n > 1").to_dicts()
        [{'n': 2}]
        """
        from indextables.table.hits import to_polars

        return to_polars(self.to_arrow(columns, where, limit=limit))

    def hits(
        self,
        query: str,
        *,
        limit: int = 20,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | Snippet | None = None,
        time: str | None = None,
    ) -> Hits:
        """Return the best matches as something to look at: marked snippets, and a histogram over time.

        `snippet` is the text column to show, the first one by default. `time` is the column of the histogram, the
        first one of timestamps by default. The rows are those of `search`.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": [1, 2, 3], "message": ["disk full", "login ok", "disk slow"]})
        >>> _ = it.write("memory://doc-hits", rows, text=["message"])
        >>> hits = it.open("memory://doc-hits").hits("disk", limit=1)
        >>> hits
        <indextables.Hits 'disk': the best 1 of 2 rows>
        >>> hits.arrow.column("_snippet").to_pylist()
        ['<b>disk</b> full']
        """
        from indextables.table.hits import find_hits

        return find_hits(
            self, query, limit=limit, columns=columns, where=where, snippet=snippet, time_column=time
        )

    def search(
        self,
        query: str,
        *,
        limit: int | None = 10,
        offset: int = 0,
        after: str | pa.Table | None = None,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | Snippet | None = None,
        explain: bool = False,
    ) -> pa.Table:
        """Return the best matches, best first, with `_score`, and with `_snippet` of the column that `snippet` names.

        `query` is in the query language; words without a field are looked for in every text and string column.
        `limit=None` returns every match. `snippet` is the name of a text column, or an `indextables.Snippet` that also
        says how much of it to show, and how.

        There are two ways to the pages after the first. `offset` skips that many of the best matches. `after` goes on
        after the last row of a page: it takes the page, or the text that `indextables.page_token` returns for it, which
        any process can use with the same version, query and `where`. Equal scores always come in the same order, so
        pages of one version neither repeat nor miss a row, whatever is appended in between.

        `explain=True` adds `_explanation`: the parts of each score, whose sum by `math.fsum` is exactly the score.
        `indextables.score_text` makes text of them.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": range(5), "message": ["disk full"] * 5})
        >>> _ = it.write("memory://doc-pages", rows, text=["message"])
        >>> table = it.open("memory://doc-pages")
        >>> [table.search("disk", limit=2, offset=n).column("id").to_pylist() for n in (0, 2, 4)]
        [[0, 1], [2, 3], [4]]
        >>> page = table.search("disk", limit=2)
        >>> table.search("disk", limit=2, after=page).column("id").to_pylist()
        [2, 3]
        """
        from indextables.table.searching import Asked, search_table

        asked = Asked(
            query,
            where,
            limit=limit,
            offset=offset,
            after=after,
            columns=columns,
            snippet=snippet,
            explain=explain,
        )
        return search_table(self, asked)

    def more_like(
        self,
        like: str | Mapping[str, Any],
        *,
        on: Sequence[str] | None = None,
        limit: int | None = 10,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | Snippet | None = None,
    ) -> pa.Table:
        """Return the rows that are most like a text, or like a row of the table, best first, with `_score`.

        They are found by the 25 words that set the text apart: those that it has often and few rows have. A row is a
        dictionary, as `search(...).to_pylist()` has them; rows with the same values in all of its columns are not
        returned. `on` names the text and string columns to compare, all text columns by default. The other arguments
        and the result are those of `search`.

        >>> import indextables as it, pyarrow as pa
        >>> texts = ["disk full on db1", "login ok", "disk slow on db1", "login failed"]
        >>> _ = it.write("memory://doc-like", pa.table({"id": range(4), "message": texts}), text=["message"])
        >>> table = it.open("memory://doc-like")
        >>> table.more_like("a full disk", columns=["id"]).column("id").to_pylist()
        [0, 2]
        >>> row = table.to_arrow(where="id = 1").to_pylist()[0]
        >>> table.more_like(row, columns=["id"]).column("id").to_pylist()
        [3]
        """
        from indextables.table.likeness import more_like

        return more_like(self, like, on=on, limit=limit, columns=columns, where=where, snippet=snippet)

    def explain(self, query: str | None = None, *, where: str | None = None) -> SearchPlan:
        """Return which splits a search or a scan reads, what skips the others, and what would make it faster.

        No split is opened for it. Printed, it is text.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"day": ["mon", "tue"], "message": ["disk full", "login ok"]})
        >>> _ = it.write("memory://doc-explain", rows, text=["message"], partition_by=["day"])
        >>> plan = it.open("memory://doc-explain").explain("disk", where="day = 'mon'")
        >>> plan.splits, plan.splits_read, plan.skipped_by
        (2, 1, {'partition values': 1})
        """
        from indextables.table.search_plan import explain_search

        return explain_search(self, query, where)

    def search_many(
        self,
        terms: Iterable[str | None] | pa.Array | pa.ChunkedArray,
        *,
        column: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
    ) -> pa.Table:
        """Return the rows that any of many terms finds in a column, each row with each term that finds it.

        A term is text to look for, not a query: a word or phrase in a column that is indexed as text, a whole value in
        other columns. The result has the column `_term`; a row that two terms find is there twice. Rows are in no
        particular order, and have no score. Nulls and repetitions among the terms are ignored. All terms are looked up
        in one pass over the splits.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": [1, 2, 3], "message": ["disk full on db1", "login from db1", "all well"]})
        >>> _ = it.write("memory://doc-many", rows, text=["message"])
        >>> found = it.open("memory://doc-many").search_many(["db1", "disk full"], column="message", columns=["id"])
        >>> sorted(found.to_pylist(), key=str)
        [{'id': 1, '_term': 'db1'}, {'id': 1, '_term': 'disk full'}, {'id': 2, '_term': 'db1'}]
        """
        from indextables.table.many_terms import (
            TermsTask,
            check_terms,
            run_terms_task,
            terms_schema,
            to_terms,
        )

        (searched,) = to_names([column], "column")
        distinct = to_terms(terms)
        check_terms(self._snapshot, searched, distinct, self._settings)
        plan = self._plan(ScanRequest(to_columns(columns, self._snapshot.schema), self._where(where)))
        schema = terms_schema(self._snapshot.schema, plan.tasks[0].request)
        tasks = [TermsTask(task, searched, distinct) for task in plan.tasks]
        return pa.Table.from_batches(
            [batch for task in tasks for batch in run_terms_task(task)], schema=schema
        )

    def count(self, query: str | None = None, *, where: str | None = None) -> int:
        """Count the rows that match the query and satisfy `where`; without either, all rows.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"message": ["disk full", "disk slow", "login ok"]})
        >>> _ = it.write("memory://doc-count", rows, text=["message"])
        >>> table = it.open("memory://doc-count")
        >>> table.count(), table.count("disk"), table.count(where="message TEXTSEARCH 'login'")
        (3, 2, 1)
        """
        request = ScanRequest((), self._condition(query, where), aggregate=COUNT_ROWS)
        counts = self._read(request, ANY_FIELDS).read_all()
        return int(pc.sum(counts.column(0)).as_py())

    def histogram(
        self,
        column: str,
        *,
        every: str | float,
        query: str | None = None,
        where: str | None = None,
        by: str | None = None,
        fill: bool = False,
    ) -> pa.Table:
        """Count the rows of each bucket of a date, timestamp or number; return `bucket`, the column `by`, `count`.

        `query` and `where` select rows as for `count`. `every` is the width of a bucket. For numbers it is a number.
        For timestamps it is a number and a unit: seconds, minutes, hours, days, weeks, months or years, as in `"1s"`,
        `"15m"`, `"1h"`, `"1d"`, `"1w"`, `"1 month"`, `"1y"`. Dates take days and longer. Times are UTC. Buckets are
        counted from 1970-01-01, those of weeks from the Monday before it, those of numbers from 0.

        `bucket` is the start of the bucket: a date, a timestamp, a long for integers, a double for floating-point
        numbers. `by` counts the rows of each of its values separately. Rows whose value is null are in a bucket null,
        which is last; NaN and the infinities have buckets of their own. Rows are in the order of bucket and `by`. A
        bucket without rows is left out; with `fill=True` it has a row of count 0, for each value of `by`, if it is
        between others. InputError if the buckets take more than `spark.indextables.aggregation.maxMemory`.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"ms": [3, 12, 17, 41], "level": ["INFO", "INFO", "WARN", "INFO"]})
        >>> _ = it.write("memory://doc-histogram", rows)
        >>> table = it.open("memory://doc-histogram")
        >>> table.histogram("ms", every=10, where="level = 'INFO'").to_pydict()
        {'bucket': [0, 10, 40], 'count': [1, 1, 1]}
        >>> table.histogram("ms", every=20, by="level").to_pydict()
        {'bucket': [0, 0, 40], 'level': ['INFO', 'WARN', 'INFO'], 'count': [2, 1, 1]}
        """
        field, by_field = self._column(column, "column"), None if by is None else self._column(by, "by")
        fill = check_flag(fill, "fill")
        if by_field == field:
            raise InputError(
                f"by is {field.name!r}, the column of the histogram; name another column, or leave it out"
            )
        if by_field is not None and by_field.name in ("bucket", "count"):
            raise InputError(
                f"by is {by_field.name!r}, which is the name of another column of the result; to_arrow can read it"
            )
        buckets = buckets_of(field, every)
        plan = self._aggregation(query, where, *([field] if by_field is None else [field, by_field]))
        return histogram(plan, field, buckets, by_field, fill=fill, max_bytes=self._max_bytes())

    def top_values(
        self, column: str, *, n: int | None = 10, query: str | None = None, where: str | None = None
    ) -> pa.Table:
        """Return the `n` most frequent values of a column: `value` and `count`, the most frequent first.

        `query` and `where` select rows as for `count`. `n=None` returns all values. Counts are exact; equal counts are
        in the order of values. A null is a value, the last one; all NaN are one value. InputError if the distinct
        values take more than `spark.indextables.aggregation.maxMemory`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-top-values", pa.table({"host": ["db1", "web1", "db1", "db2"]}))
        >>> it.open("memory://doc-top-values").top_values("host", n=2).to_pylist()
        [{'value': 'db1', 'count': 2}, {'value': 'db2', 'count': 1}]
        """
        field, number = self._column(column, "column"), to_count(n, "n", "values")
        return top_values(self._aggregation(query, where, field), field, number, max_bytes=self._max_bytes())

    def stats(
        self, column: str, *, query: str | None = None, where: str | None = None, distinct: bool = True
    ) -> ColumnStats:
        """Return the number of values and of nulls of a column, its minimum and maximum, and the sum of numbers.

        `query` and `where` select rows as for `count`. The figures are exact. The distinct values are counted in
        memory: InputError if they take more than `spark.indextables.aggregation.maxMemory`. `distinct=False` does not
        count them.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-stats", pa.table({"ms": [3, 12, None, 3]}))
        >>> it.open("memory://doc-stats").stats("ms")
        ColumnStats(count=3, nulls=1, distinct=2, min=3, max=12, sum=18, mean=6.0)
        """
        field, distinct = self._column(column, "column"), check_flag(distinct, "distinct")
        plan = self._aggregation(query, where, field)
        return column_stats(plan, field, distinct=distinct, max_bytes=self._max_bytes())

    def history(self) -> pa.Table:
        """Return one row for each version up to this one, newest first: what was done, when, and by which engine.

        >>> import indextables as it, pyarrow as pa
        >>> for mode in ("append", "overwrite"):
        ...     _ = it.write("memory://doc-history", pa.table({"n": [1]}), mode=mode)
        >>> it.open("memory://doc-history").history().select(["version", "files_removed"]).to_pylist()
        [{'version': 1, 'files_removed': 1}, {'version': 0, 'files_removed': 0}]
        """
        return history_table(read_history(self._store()), up_to=self.version)

    def changes(self, since: Since, *, until: Since | None = None, adds_only: bool = False) -> ChangeSet:
        """Return the changes after `since`, a version or a time, up to `until`, or up to this version.

        `since=-1` means from before the first version. With `adds_only` only the state is read, which is fast and can
        go further back: removed files are not reported, and a file that was removed and added again counts as new.
        Without it, VersionNotFoundError if clean-up has deleted the record of what was removed.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2):
        ...     _ = it.write("memory://doc-changes", pa.table({"n": [n]}))
        >>> changed = it.open("memory://doc-changes").changes(since=0)
        >>> len(changed.adds), len(changed.removes), changed.new_version
        (1, 0, 1)
        >>> changed.to_arrow().column("n").to_pylist()
        [2]
        """
        store, snapshot = self._store(), self._snapshot
        if isinstance(until, str | datetime):
            snapshot = load_snapshot(store, as_of_ms=to_millis(until, "until"), settings=self._settings)
        elif until is not None:
            snapshot = load_snapshot(store, to_version(until, "until"), settings=self._settings)
        adds_only = check_flag(adds_only, "adds_only")
        return changes(store, snapshot, since, self._settings, adds_only=adds_only)

    def drop_partitions(self, where: str) -> int:
        """Remove every partition that satisfies `where`, a condition on partition columns; return the new version.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-drop", pa.table({"day": ["mon", "tue"], "n": [1, 2]}), partition_by=["day"])
        >>> it.open("memory://doc-drop").drop_partitions("day = 'mon'")
        1
        >>> it.open("memory://doc-drop").to_arrow().to_pylist()
        [{'day': 'tue', 'n': 2}]
        """
        from indextables.maintenance import change_with_upkeep, drop_partitions

        predicate, store = self._where(check_condition(where)), self._store()
        return change_with_upkeep(
            store,
            self._settings,
            lambda: drop_partitions(store, self._snapshot, predicate, self._settings),
            lambda done: done[0] if done[1].splits_removed else None,
        )[0]

    def delete(self, where: str | None = None, *, query: str | None = None) -> RowChange:
        """Delete the rows of the newest version that satisfy `where` and match `query`, as `count` counts them.

        No split is written: a small file next to each split records the positions of its deleted rows, and a split
        without other rows is removed. Older versions keep the rows. `where="true"` deletes all rows. Merging splits
        leaves the rows out of the new ones, and a purge then deletes the bytes.

        Rows that other writers append at the same time stay. CommitConflictError, and nothing is deleted, if another
        writer has changed the same rows: call it again. A merge that moves them to another file is no conflict.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": [1, 2, 3], "message": ["disk full", "login ok", "disk slow"]})
        >>> _ = it.write("memory://doc-delete", rows, text=["message"])
        >>> it.open("memory://doc-delete").delete("message TEXTSEARCH 'disk' AND id > 1").rows_deleted
        1
        >>> it.open("memory://doc-delete").to_arrow(columns=["id"]).to_pylist()
        [{'id': 1}, {'id': 2}]
        """
        if where is None and query is None:
            raise InputError("delete takes a condition: give where or query; where='true' deletes all rows")
        store, settings = self._store(), Settings(dict(self._settings) | ANY_FIELDS)

        def delete_newest() -> RowChange:
            newest = load_snapshot(store, settings=self._settings)
            predicate = _condition_on(newest, query, where, self._settings)
            return delete_where(store, newest, predicate, settings)

        return self._changed_rows(delete_newest)

    def upsert(self, data: Any, *, on: Sequence[str]) -> RowChange:
        """Replace the rows that have the keys of these rows, and append the others, in one commit.

        `data` is Arrow data as for `write`, with all columns of the table; it is held in memory. `on` names the columns
        of the key. A key that is null, or in two rows of `data`, is an InputError; floating-point columns are no keys.
        Rows of the table whose key is null are never replaced, and all rows with a key of `data` are.

        Like `delete`, it changes the newest version and writes no split again. CommitConflictError, and nothing is
        changed, if another writer has changed or added rows with the same keys.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-upsert", pa.table({"id": [1, 2], "state": ["new", "new"]}))
        >>> it.open("memory://doc-upsert").upsert(pa.table({"id": [2, 3], "state": ["done", "new"]}), on=["id"])
        RowChange(version=1, rows_deleted=1, rows_added=2, files_removed=0, files_changed=1)
        >>> sorted(row["state"] for row in it.open("memory://doc-upsert").to_arrow().to_pylist())
        ['done', 'new', 'new']
        """
        from indextables.table.upserts import upsert_rows

        names = to_names(on, "on")
        if not names:
            raise InputError("on is empty; name the columns of the key")
        schema, stream = arrow_stream(data)
        batches = list(stream)
        return self._changed_rows(lambda: upsert_rows(self._store(), schema, batches, names, self._settings))

    def alter(
        self,
        *,
        add: Mapping[str, pa.DataType | str] | None = None,
        default: Mapping[str, Any] | None = None,
        text: Sequence[str] | Mapping[str, str] = (),
        rename: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        widen: Mapping[str, pa.DataType | str] | None = None,
        properties: Mapping[str, str | None] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> int:
        """Change columns and properties of the newest version in one commit; return the new version.

        No file is written again. Columns are dropped first, then renamed, widened and added.

        - `drop`: columns to remove. A column that is added later under the same name is another one.
        - `rename`: new names by old ones, all at the same time: two columns can swap their names.
        - `widen`: wider types by name: integers to wider integers, float to double, decimals to more digits before the
          point.
        - `add`: new columns at the end, as Arrow types or names of Spark's types. They are null in the rows that are
          there, or have the value that `default` gives them.
        - `text`: those of the new columns to split into words, as for `write`. `settings` are for other options of
          indexing, such as `spark.indextables.indexing.typemap.<column>`.
        - `properties`: table properties by their keys, such as `spark.indextables.stats.bloom.columns`; None
          removes one.

        Partition columns stay as they are, because the paths of files have their names and values. Readers of earlier
        releases refuse a table whose columns were changed. SchemaError, with what can be done instead, for a change
        that cannot be made.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-alter", pa.table({"id": [1], "msg": ["disk full"]}), text=["msg"])
        >>> it.open("memory://doc-alter").alter(rename={"msg": "message"}, add={"level": "string"})
        1
        >>> it.open("memory://doc-alter").search("message:disk").select(["message", "level"]).to_pylist()
        [{'message': 'disk full', 'level': None}]
        """
        from indextables.table.alterations import Alteration, alter_table

        names = to_names(list(text) if isinstance(text, Mapping) else text, "text")
        typemap = dict(to_settings(settings)) | {f"{keys.TYPEMAP.prefix}{name}": "text" for name in names}
        if isinstance(text, Mapping):
            typemap |= {f"{keys.TOKENIZER.prefix}{name}": str(given) for name, given in text.items()}
        alteration = Alteration(
            drop=to_names(drop, "drop"),
            rename=to_mapping(rename, "rename"),
            widen=to_mapping(widen, "widen"),
            add=to_mapping(add, "add"),
            default=to_mapping(default, "default"),
            typemap=typemap,
            properties=to_mapping(properties, "properties"),
        )
        newest = load_snapshot(self._store(), settings=self._settings)
        return alter_table(self._store(), newest, alteration, self._settings)

    def restore(self, version: int) -> int:
        """Make the table what it was at an older version, as a new version; return that version.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2):
        ...     _ = it.write("memory://doc-restore-table", pa.table({"n": [n]}), mode="overwrite")
        >>> it.open("memory://doc-restore-table").restore(0)
        2
        >>> it.open("memory://doc-restore-table").to_arrow().to_pylist()
        [{'n': 1}]
        """
        from indextables.maintenance import change_with_upkeep, restore

        store, target = self._store(), to_version(version, "version")
        return change_with_upkeep(
            store,
            self._settings,
            lambda: restore(store, target, self._settings, self._snapshot),
            lambda committed: committed,
        )

    def checkpoint(self) -> int:
        """Write the state of the newest version, compacted, so that opening it is cheap; return that version.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-checkpoint", pa.table({"n": [1]}))
        >>> it.open("memory://doc-checkpoint").checkpoint()
        0
        """
        from indextables.maintenance import upgrade_and_checkpoint

        return upgrade_and_checkpoint(self._store(), self._settings).state_version

    def upgrade_protocol(
        self, *, min_reader_version: int | None = None, min_writer_version: int | None = None
    ) -> int:
        """Raise the protocol to at least these versions; return the version of the table that has it.

        Without a version, the newest one that this release supports. The protocol is never lowered.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-upgrade", pa.table({"n": [1]}))
        >>> it.open("memory://doc-upgrade").upgrade_protocol(min_reader_version=2, min_writer_version=3)
        0
        """
        from indextables.maintenance import upgrade_protocol

        versions = {"min_reader_version": min_reader_version, "min_writer_version": min_writer_version}
        checked = {name: to_version(number, name) for name, number in versions.items() if number is not None}
        return upgrade_protocol(self._store(), self._settings, self._snapshot, **checked)

    def merge_splits(
        self,
        *,
        where: str | None = None,
        target_size: str | int = "5G",
        max_dest_splits: int | None = None,
        max_source_splits: int | None = None,
        only_deleted: bool = False,
        settings: Mapping[str, str] | Settings | None = None,
        progress: bool | Progress | None = None,
    ) -> Merged:
        """Merge small splits of the newest version into splits of about the target size; return what was done.

        Splits are merged within their partition, the smallest first. No row changes, and older versions stay readable
        until a purge. `where` is a condition on partition columns. `target_size` is a number of bytes or text such as
        `"100M"`. `max_dest_splits` limits how many splits are written, `max_source_splits` how many become one.
        Deleted rows are left out of the new splits. A split of which many rows are deleted is rewritten whatever its
        size; with `only_deleted=True`, every split with deleted rows is rewritten, and no others.
        `settings` are added to those of the table. `progress` is True for a bar on a terminal or in a notebook, or a
        function that is called after each new split with the number of those that are done and of all. Interrupting a
        merge is safe.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2, 3):
        ...     _ = it.write("memory://doc-merge", pa.table({"n": [n]}))
        >>> it.open("memory://doc-merge").merge_splits(target_size="100M").message
        'merged 3 splits into 1'
        >>> it.open("memory://doc-merge").to_arrow().column("n").to_pylist()
        [1, 2, 3]
        """
        from indextables.maintenance import MergeOptions, merge_small_splits

        options = MergeOptions(
            where=TRUE if where is None else self._where(check_condition(where)),
            target_size=to_size(target_size, "target_size"),
            max_dest_splits=to_count(max_dest_splits, "max_dest_splits", "splits"),
            max_source_splits=to_count(max_source_splits, "max_source_splits", "splits"),
            only_deleted=check_flag(only_deleted, "only_deleted"),
        )
        combined = Settings(dict(self._settings) | dict(to_settings(settings)))
        with shown_progress(progress, "merging splits") as tell:
            return merge_small_splits(open_store(self._uri, combined), combined, options, progress=tell)

    def merge_jobs(self) -> pa.Table:
        """Return the merges of this table that writes of this process have started, the last to begin first.

        One row each, with the columns of DESCRIBE INDEXTABLES MERGE JOBS. `status` is `RUNNING`, `COMPLETED` or
        `FAILED`.

        >>> import indextables as it, pyarrow as pa
        >>> for n in range(4):
        ...     _ = it.write(
        ...         "memory://doc-jobs", pa.table({"n": [n]}), settings={"indextables.mergeOnWrite.minSplits": "4"}
        ...     )
        >>> table = it.open("memory://doc-jobs")
        >>> table.wait_for_upkeep(), table.merge_jobs().select(["status", "completed_groups"]).to_pylist()
        (True, [{'status': 'COMPLETED', 'completed_groups': 1}])
        >>> table.refresh()
        <indextables.Table memory://doc-jobs version=4 files=1 rows=4>
        """
        from indextables.maintenance import jobs_table, recorded_jobs

        return jobs_table(recorded_jobs(self._uri))

    def wait_for_upkeep(self, seconds: float | None = None) -> bool:
        """Wait for the merges and purges that writes of this process have started on this table.

        Returns False if they take longer than `seconds`. The end of the process waits by itself, up to
        `spark.indextables.mergeOnWrite.shutdownTimeoutMs`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-wait", pa.table({"n": [1]}))
        >>> it.open("memory://doc-wait").wait_for_upkeep(seconds=60)
        True
        """
        from indextables.maintenance import wait_for_upkeep

        return wait_for_upkeep(self._uri, to_seconds(seconds, "seconds"))

    def purge(
        self,
        older_than: str | timedelta | None = None,
        *,
        log_retention: str | timedelta | None = None,
        dry_run: bool = False,
        progress: bool | Progress | None = None,
    ) -> Purged:
        """Delete splits that no readable version names, and version files, states and manifests past retention.

        This is the usual way to drop history. `older_than` is the least age of splits, `log_retention` that of version
        files and states: `"7 days"`, `"36 hours"` or a timedelta; without them the settings decide. A dry run deletes
        nothing and reports what would be deleted. `progress` is True for a bar, or a function that is called with the
        number of splits that are deleted and of all.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-purge", pa.table({"n": [1]}))
        >>> it.open("memory://doc-purge").purge(older_than="7 days", dry_run=True).message
        'would delete 0 splits, 0 version files, 0 states, 0 manifests'
        """
        from indextables.maintenance import purge

        with shown_progress(progress, "deleting splits") as tell:
            return purge(
                self._store(),
                self._settings,
                hours=to_hours(older_than, "older_than"),
                log_hours=to_hours(log_retention, "log_retention"),
                dry_run=check_flag(dry_run, "dry_run") or None,
                progress=tell,
            )

    def clean_versions(
        self,
        older_than: str | timedelta | int | None = None,
        *,
        retention_hours: int | None = None,
        dry_run: bool = False,
    ) -> CleanedVersions:
        """Delete the version files that are older than `older_than` and that a state covers, and nothing else.

        `purge` does the same with `log_retention`, and more. `retention_hours`, or a number as `older_than`, is an
        older way to give the age.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-clean", pa.table({"n": [1]}))
        >>> it.open("memory://doc-clean").clean_versions("7 days", dry_run=True).versions_found
        0
        """
        from indextables.maintenance import clean_versions

        if older_than is not None and retention_hours is not None:
            raise InputError("older_than and retention_hours exclude each other; give older_than")
        number = older_than if isinstance(older_than, int) else retention_hours
        if isinstance(older_than, int) or number is not None:
            hours = to_count(number, "retention_hours", "hours")
        else:
            hours = to_hours(older_than, "older_than")
        dry_run = check_flag(dry_run, "dry_run")
        return clean_versions(self._store(), self._settings, hours=hours, dry_run=dry_run or None)

    def truncate_time_travel(self, *, dry_run: bool = False) -> Truncated:
        """Delete all history before the current version, for good. No row is lost.

        `purge` deletes only what is past its retention; this ignores retention, and leaves splits alone. The setting
        `cleanup.dryRun` asks for a dry run too.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2):
        ...     _ = it.write("memory://doc-time-travel", pa.table({"n": [n]}))
        >>> it.open("memory://doc-time-travel").truncate_time_travel(dry_run=True).versions_deleted
        1
        """
        from indextables.maintenance import truncate_time_travel

        dry_run = check_flag(dry_run, "dry_run")
        return truncate_time_travel(self._store(), self._settings, dry_run=dry_run or None)

    def describe_log(self, *, include_all: bool = False) -> pa.Table:
        """Return the actions of the newest state and of later versions, or of every version file; one row each.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-describe-log", pa.table({"n": [1]}))
        >>> it.open("memory://doc-describe-log").describe_log().column("action_type").to_pylist()[1:]
        ['protocol', 'metadata', 'add']
        """
        from indextables.maintenance import describe_log

        include_all = check_flag(include_all, "include_all")
        return describe_log(self._store(), self._settings, include_all=include_all)

    def describe_state(self) -> StateDescription:
        """Return the figures of the state from which a reader of the newest version starts.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-describe-state", pa.table({"n": [1]}))
        >>> _ = it.open("memory://doc-describe-state").checkpoint()
        >>> it.open("memory://doc-describe-state").describe_state().num_files
        1
        """
        from indextables.maintenance import describe_state

        return describe_state(self._store(), self._settings)

    def component_sizes(self, where: str | None = None) -> pa.Table:
        """Return the parts of each split that may hold a row that satisfies `where`: index files, rows, footers.

        One row each, with its size in bytes and in per cent of the split.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-sizes", pa.table({"n": [1]}))
        >>> table = it.open("memory://doc-sizes")
        >>> sizes = table.component_sizes().column("size_bytes").to_pylist()
        >>> sum(sizes) == table.files().column("size")[0].as_py()
        True
        """
        from indextables.maintenance import component_sizes

        return component_sizes(self._store(), self._snapshot, self._where(where))

    def prewarm(self, where: str | None = None) -> Prewarmed:
        """Bring the indexes of the splits that may hold a row that satisfies `where` into this machine's cache.

        The first search after it is then as fast as later ones. A split that cannot be read is among the `failures`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-prewarm", pa.table({"message": ["disk full"]}), text=["message"])
        >>> it.open("memory://doc-prewarm").prewarm().splits
        1
        """
        tasks = plan_prewarm(self._snapshot, self._settings, self._where(where))
        return total_prewarmed([run_prewarm_task(task) for task in tasks])

    def invalidate_cache(self) -> CacheFigures:
        """Clear this process's cache of the table's snapshots; return its hit and miss counters.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-invalidate", pa.table({"n": [1]}))
        >>> figures = it.open("memory://doc-invalidate").invalidate_cache()
        """
        return invalidate_cache(self._uri)

    def __repr__(self) -> str:
        files = self._snapshot.files.entries()
        counts = pc.subtract(files.column("numRecords"), pc.fill_null(files.column("numDeleted"), 0))
        rows = "unknown" if counts.null_count else pc.sum(counts).as_py() or 0
        return f"<indextables.Table {self._uri} version={self.version} files={files.num_rows} rows={rows}>"

    def _repr_html_(self) -> str:
        from indextables.table.notebook_views import table_view

        return table_view(self)

    def __len__(self) -> int:
        """Return the number of rows.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-len", pa.table({"n": [1, 2]}))
        >>> len(it.open("memory://doc-len"))
        2
        """
        return self.count()

    def __bool__(self) -> bool:
        """Return True: a table is there, whether it has rows or not."""
        return True

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return all rows as a stream of Arrow's C interface, which Polars, DuckDB and pandas read."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def _store(self) -> Store:
        return open_store(self._uri, self._settings)

    def _changed_rows(self, change: Callable[[], RowChange]) -> RowChange:
        """Return what a change of rows does, repeated where a merge has moved them, and start upkeep after it."""
        from indextables.maintenance import change_with_upkeep

        return change_with_upkeep(
            self._store(),
            self._settings,
            lambda: repeat_after_merges(change),
            lambda done: done.version if done.rows_deleted or done.rows_added else None,
        )

    def _where(self, where: str | None) -> Predicate:
        return _where_on(self._snapshot, where, self._settings)

    def _condition(self, query: str | None, where: str | None) -> Predicate:
        return _condition_on(self._snapshot, query, where, self._settings)

    def _column(self, name: str, argument: str) -> Field:
        if not isinstance(name, str):
            raise InputError(f"{argument} is {name!r}; it takes the name of a column")
        return check_values(self._snapshot.schema.field(name))

    def _max_bytes(self) -> int:
        return self._settings.get(keys.AGGREGATION_MAX_MEMORY)

    def _aggregation(self, query: str | None, where: str | None, *columns: Field) -> ScanPlan:
        """Plan a scan of these columns, of the rows that `count` counts."""
        request = ScanRequest(tuple(column.name for column in columns), self._condition(query, where))
        return self._plan(request, ANY_FIELDS)

    def _read(self, request: ScanRequest, extra: Mapping[str, str] | None = None) -> pa.RecordBatchReader:
        plan = self._plan(request, extra)

        def batches() -> Iterator[pa.RecordBatch]:
            remaining = request.limit
            for task in plan.tasks:
                for batch in run_scan_task(task):
                    yield batch if remaining is None else batch.slice(0, remaining)
                    remaining = None if remaining is None else remaining - batch.num_rows
                    if remaining is not None and remaining <= 0:
                        return

        return pa.RecordBatchReader.from_batches(scan_schema(self._snapshot.schema, request), batches())

    def _plan(self, request: ScanRequest, extra: Mapping[str, str] | None = None) -> ScanPlan:
        settings = Settings(dict(self._settings) | dict(extra or {}))
        plan = plan_scan(self._uri, self._snapshot, request, settings)
        record_scan(plan)
        return plan


def _where_on(snapshot: Snapshot, where: str | None, settings: Settings) -> Predicate:
    if where is None:
        return TRUE
    return parse_where(where, snapshot.schema, limits=QueryLimits.of(settings))


def _condition_on(snapshot: Snapshot, query: str | None, where: str | None, settings: Settings) -> Predicate:
    queries = [text_query(query)] if query is not None else []
    return conjunction([*queries, _where_on(snapshot, where, settings)])
