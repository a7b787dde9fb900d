"""The table as a Python caller sees it: one snapshot, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings, keys
from indextables.errors import InputError, QueryError
from indextables.log import Metadata, Protocol, Snapshot, load_snapshot, read_history
from indextables.log.snapshots import cache
from indextables.predicates import (
    ALL_FIELDS,
    TRUE,
    Predicate,
    QueryLimits,
    TextQuery,
    conjunction,
    parse_where,
)
from indextables.runtime import CacheFigures
from indextables.schema import SCORE, SNIPPET, TableSchema
from indextables.split import POSITION
from indextables.storage import open_store, table_uri
from indextables.table.changes import ChangeSet, Since, changes
from indextables.table.durations import hours
from indextables.table.listing import files_table, history_table
from indextables.table.matching import matching_files
from indextables.table.scan import (
    SPLIT_PATH,
    ScanRequest,
    plan_scan,
    run_scan_task,
    scan_schema,
)
from indextables.table.timestamps import to_millis
from indextables.table.write import commit_write, parse_mode, plan_write, run_write_task

if TYPE_CHECKING:
    from indextables.maintenance import CleanedVersions, Purged, StateDescription, Truncated

_MOST_ROWS: Final = 1 << 62
"""More than any table has, and few enough for Arrow's arithmetic."""


class Table:
    """One version of a table. It never changes under the caller; `open` again, or `refresh`, to see more.

    >>> import indextables as it
    >>> rows = pa.table({"id": [1, 2], "message": ["disk full on db1", "login ok"]})
    >>> it.write("memory://doc-table", rows, text=["message"])
    0
    >>> table = it.open("memory://doc-table")
    >>> table.search("message:(disk AND full)", columns=["id"]).column("id").to_pylist()
    [1]
    """

    def __init__(self, uri: str, snapshot: Snapshot, settings: Settings) -> None:
        self._uri = uri
        self._snapshot = snapshot
        self._settings = settings

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def version(self) -> int:
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        return self._snapshot.schema.arrow

    @property
    def partition_columns(self) -> list[str]:
        return list(self._snapshot.partition_columns)

    @property
    def protocol(self) -> Protocol:
        return self._snapshot.protocol

    @property
    def metadata(self) -> Metadata:
        return self._snapshot.metadata

    def refresh(self) -> Table:
        """The newest version of the same table."""
        store = open_store(self._uri, self._settings)
        return Table(self._uri, load_snapshot(store, settings=self._settings), self._settings)

    def files(self, where: str | None = None) -> pa.Table:
        """One row for each live file that can hold a row that satisfies `where`."""
        return files_table(matching_files(self._snapshot, self._where(where)).entries)

    def to_arrow(
        self, columns: Sequence[str] | None = None, where: str | None = None, limit: int | None = None
    ) -> pa.Table:
        """The rows that satisfy `where`, a Spark SQL condition that may use TEXTSEARCH and its siblings."""
        batches = self.to_batches(columns, where, limit)
        return pa.Table.from_batches(batches, schema=batches.schema)

    def to_batches(
        self, columns: Sequence[str] | None = None, where: str | None = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """The same rows as a stream, for results that are larger than memory."""
        request = ScanRequest(self._columns(columns), self._where(where), limit=_row_count(limit, "limit"))
        return self._read(request)

    def search(
        self,
        query: str,
        limit: int | None = 10,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | None = None,
        *,
        offset: int = 0,
    ) -> pa.Table:
        """The best matches, best first, with `_score`, and with `_snippet` of the column that `snippet` names.

        `query` is in the query language; words without a field are looked for in every text and string column.
        `limit=None` returns every match. `offset` leaves out that many of the best, for the pages after the first:
        equal scores always come in the same order, so pages of one version neither repeat nor miss a row.

        >>> import indextables as it
        >>> rows = pa.table({"id": range(5), "message": ["disk full"] * 5})
        >>> _ = it.write("memory://doc-pages", rows, text=["message"])
        >>> table = it.open("memory://doc-pages")
        >>> [table.search("disk", limit=2, offset=n).column("id").to_pylist() for n in (0, 2, 4)]
        [[0, 1], [2, 3], [4]]
        """
        limit, offset = _row_count(limit, "limit"), _row_count(offset, "offset") or 0
        predicate = conjunction([_text_query(query), self._where(where)])
        wanted = (*self._columns(columns), SCORE, *([SNIPPET] if snippet is not None else []))
        best = None if limit is None else min(limit + offset, _MOST_ROWS)
        if snippet is not None:
            snippet = self._text_column(snippet)
        keyed = (*wanted, SPLIT_PATH, POSITION)
        request = ScanRequest(keyed, predicate, top=best, snippet_column=snippet)
        # Every word may name its own field here, so the guard against accidental searches of wide tables is off.
        rows = self._read(request, {keys.INDEX_ALL_MAX_FIELDS.key: "0"}).read_all()
        return rows.select(wanted).take(_ranking(rows)[offset:best])

    def count(self, query: str | None = None, where: str | None = None) -> int:
        """How many rows match the query and satisfy `where`; without either, how many there are."""
        asked = [_text_query(query)] if query is not None else []
        request = ScanRequest((), conjunction([*asked, self._where(where)]), count_only=True)
        counts = self._read(request, {keys.INDEX_ALL_MAX_FIELDS.key: "0"}).read_all()
        return int(pc.sum(counts.column(0)).as_py())

    def history(self) -> pa.Table:
        """Who did what and when, newest first."""
        return history_table(read_history(open_store(self._uri, self._settings)), up_to=self.version)

    def changes(self, since: Since, until: Since | None = None, *, adds_only: bool = False) -> ChangeSet:
        """What changed after `since`, a version or a moment, up to `until`, or up to this version.

        Since -1 is since before the first version. With `adds_only` only the state is asked, which is quick and can
        go further back: nothing is said of files that went, and a file that came back counts as new. Without it,
        VersionNotFoundError if clean-up has left no way to know what was removed.

        >>> import indextables as it
        >>> for n in (1, 2):
        ...     _ = it.write("memory://doc-changes", pa.table({"n": [n]}))
        >>> changed = it.open("memory://doc-changes").changes(since=0)
        >>> len(changed.adds), len(changed.removes), changed.new_version
        (1, 0, 1)
        >>> changed.to_arrow().column("n").to_pylist()
        [2]
        """
        store, snapshot = open_store(self._uri, self._settings), self._snapshot
        if isinstance(until, int):
            snapshot = load_snapshot(store, until, settings=self._settings)
        elif until is not None:
            snapshot = load_snapshot(store, as_of_ms=to_millis(until, "until"), settings=self._settings)
        return changes(store, snapshot, since, self._settings, adds_only=adds_only)

    def drop_partitions(self, where: str) -> int:
        """Removes every partition that satisfies `where`, a condition on partition columns; the new version."""
        from indextables.maintenance import drop_partitions

        predicate = self._where(where)
        return drop_partitions(
            open_store(self._uri, self._settings), self._snapshot, predicate, self._settings
        )[0]

    def restore(self, version: int) -> int:
        """Makes the table what it was at an older version, in a new version, which it returns."""
        from indextables.maintenance import restore

        return restore(open_store(self._uri, self._settings), version, self._settings, self._snapshot)

    def describe_log(self, *, include_all: bool = False) -> pa.Table:
        """The actions of the newest state and of the versions after it, or of every version file; one row each."""
        from indextables.maintenance import describe_log

        return describe_log(open_store(self._uri, self._settings), self._settings, include_all=include_all)

    def describe_state(self) -> StateDescription:
        """The figures of the state from which a reader of the newest version starts."""
        from indextables.maintenance import describe_state

        return describe_state(open_store(self._uri, self._settings), self._settings)

    def invalidate_cache(self) -> CacheFigures:
        """Forgets what this process has read of the log, and how often that was of use up to now."""
        return cache.invalidate(self._uri)

    def clean_versions(self, retention_hours: int | None = None, *, dry_run: bool = False) -> CleanedVersions:
        """Deletes the version files that are older than the retention and that a state covers."""
        from indextables.maintenance import clean_versions

        store = open_store(self._uri, self._settings)
        return clean_versions(store, self._settings, hours=retention_hours, dry_run=dry_run or None)

    def truncate_time_travel(self, *, dry_run: bool = False) -> Truncated:
        """Deletes all history before the current version, for good. No row is lost.

        Nothing is deleted in a dry run, which the setting `cleanup.dryRun` can ask for too.
        """
        from indextables.maintenance import truncate_time_travel

        store = open_store(self._uri, self._settings)
        return truncate_time_travel(store, self._settings, dry_run=dry_run or None)

    def purge(
        self,
        older_than: str | timedelta | None = None,
        log_retention: str | timedelta | None = None,
        *,
        dry_run: bool = False,
    ) -> Purged:
        """Deletes splits that no readable version names, and version files, states and manifests past retention.

        `older_than` is how old splits must be, `log_retention` how old version files and states: `"7 days"`,
        `"36 hours"` or a timedelta; without them the settings decide. A dry run deletes nothing and says what would go.

        >>> import indextables as it
        >>> _ = it.write("memory://doc-purge", pa.table({"n": [1]}))
        >>> it.open("memory://doc-purge").purge(older_than="7 days", dry_run=True).message
        'would delete 0 splits, 0 version files, 0 states, 0 manifests'
        """
        from indextables.maintenance import purge

        store = open_store(self._uri, self._settings)
        age, log_age = hours(older_than, "older_than"), hours(log_retention, "log_retention")
        return purge(store, self._settings, hours=age, log_hours=log_age, dry_run=dry_run or None)

    def upgrade_protocol(self, min_reader_version: int = 4, min_writer_version: int = 4) -> int:
        """Raise the protocol to at least these versions, unless the table has it; return the version that does.

        >>> import indextables as it
        >>> _ = it.write("memory://doc-upgrade", pa.table({"n": [1]}))
        >>> it.open("memory://doc-upgrade").upgrade_protocol(min_reader_version=2, min_writer_version=3)
        0
        """
        from indextables.maintenance import upgrade_protocol

        return upgrade_protocol(
            open_store(self._uri, self._settings),
            self._settings,
            self._snapshot,
            min_reader_version=min_reader_version,
            min_writer_version=min_writer_version,
        )

    def checkpoint(self) -> int:
        """Writes the state of the newest version, compacted, so that opening it is cheap; that version."""
        from indextables.maintenance import upgrade_and_checkpoint

        return upgrade_and_checkpoint(open_store(self._uri, self._settings), self._settings).state_version

    def __repr__(self) -> str:
        files = self._snapshot.files.entries()
        counts = files.column("numRecords")
        rows = "unknown" if counts.null_count else pc.sum(counts).as_py() or 0
        return f"<indextables.Table {self._uri} version={self.version} files={files.num_rows} rows={rows}>"

    def _where(self, where: str | None) -> Predicate:
        if where is None:
            return TRUE
        return parse_where(where, self._snapshot.schema, limits=QueryLimits.of(self._settings))

    def _columns(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        if columns is None:
            return tuple(self._snapshot.schema.names)
        given = _names(columns, "columns")
        if not given:
            raise InputError(
                "columns is empty; name at least one column, or use count() for the number of rows"
            )
        resolved = tuple(self._snapshot.schema.field(name).name for name in given)
        if repeated := [name for name in dict.fromkeys(resolved) if resolved.count(name) > 1]:
            raise InputError(f"columns names {', '.join(map(repr, repeated))} more than once")
        return resolved

    def _text_column(self, name: str) -> str:
        (given,) = _names([name], "snippet")
        column = self._snapshot.schema.field(given).name
        mapped = self._snapshot.mapping.get(column)
        if mapped is None or mapped.kind != "text":
            raise InputError(f"snippet is {column!r}, which is not indexed as text; only text has snippets")
        return column

    def _read(self, request: ScanRequest, extra: Mapping[str, str] | None = None) -> pa.RecordBatchReader:
        settings = Settings(dict(self._settings) | dict(extra or {}))
        plan = plan_scan(self._uri, self._snapshot, request, settings)

        def batches() -> Iterator[pa.RecordBatch]:
            left = request.limit
            for task in plan.tasks:
                for batch in run_scan_task(task):
                    yield batch if left is None else batch.slice(0, left)
                    left = None if left is None else left - batch.num_rows
                    if left is not None and left <= 0:
                        return

        return pa.RecordBatchReader.from_batches(scan_schema(self._snapshot.schema, request), batches())


def open_table(
    path: str | PathLike[str],
    version: int | None = None,
    as_of: str | datetime | None = None,
    settings: Mapping[str, str] | None = None,
) -> Table:
    """A table at its newest version, at `version`, or as it was at the moment `as_of` (UTC unless it says).

    Raises TableNotFoundError where there is no table, and VersionNotFoundError for a version that it lacks.
    """
    if version is not None and as_of is not None:
        raise InputError("version and as_of exclude each other; give one of them")
    chosen = Settings(settings)
    uri = table_uri(path)
    snapshot = load_snapshot(
        open_store(uri, chosen),
        version,
        as_of_ms=None if as_of is None else to_millis(as_of, "as_of"),
        settings=chosen,
    )
    return Table(uri, snapshot, chosen)


def write_table(
    path: str | PathLike[str],
    data: Any,
    mode: str = "append",
    partition_by: Sequence[str] | None = None,
    text: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    txn: tuple[str, int] | None = None,
) -> int:
    """Writes Arrow data and returns the version that holds it. The table is made if there is none.

    `data` is a pyarrow Table, RecordBatch or RecordBatchReader, or anything that speaks Arrow's C stream
    (Polars, DuckDB, pandas). `text` names the string columns to tokenise for full-text search. `mode` is append,
    overwrite, error (fail if the table exists) or ignore (do nothing if it does). With `txn`, an application's name
    and the number of this write in it, a write that the table has already, or a later one of, is not made again.
    """
    options = dict(settings or {}) | {f"{keys.TYPEMAP.prefix}{name}": "text" for name in _names(text, "text")}
    chosen = Settings(options)
    uri = table_uri(path)
    schema, batches = _stream(data)
    partitions = None if partition_by is None else _names(partition_by, "partition_by")
    plan = plan_write(uri, schema, mode=parse_mode(mode), partition_by=partitions, settings=chosen, txn=txn)
    if plan is None:
        return open_table(uri, settings=settings).version
    return commit_write(plan, [run_write_task(plan, batches)])


def _stream(data: Any) -> tuple[TableSchema, Iterable[pa.RecordBatch]]:
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return TableSchema.from_arrow(data.schema), data.to_batches(max_chunksize=65536)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return TableSchema.from_arrow(reader.schema), reader
    raise InputError(
        f"cannot write a {type(data).__name__}; give a pyarrow Table, RecordBatch or RecordBatchReader, "
        "or an object with __arrow_c_stream__ such as a Polars or pandas DataFrame"
    )


def _names(names: Sequence[str], argument: str) -> list[str]:
    if isinstance(names, str):
        raise InputError(f"{argument} is the string {names!r}; it takes a list of column names")
    if not isinstance(names, Iterable):
        raise InputError(f"{argument} is a {type(names).__name__}; it takes a list of column names")
    given = list(names)
    for name in given:
        if not isinstance(name, str):
            raise InputError(f"{argument} has a {type(name).__name__} in it; names of columns are strings")
    return given


def _text_query(query: str) -> TextQuery:
    if not isinstance(query, str):
        raise QueryError(f"a query is a string, not {type(query).__name__}")
    return TextQuery("INDEXQUERY", ALL_FIELDS, query)


def _row_count(number: int | None, argument: str) -> int | None:
    """A number of rows that an argument gives, however large; None for no limit."""
    if number is None:
        return None
    if isinstance(number, bool) or not hasattr(number, "__index__") or number < 0:
        raise InputError(f"{argument} is {number!r}; it takes a whole number of rows, zero or more")
    return min(index(number), _MOST_ROWS)


def _ranking(rows: pa.Table) -> pa.Array:
    """The rows by score, best first, then by the path of their split and their position in it.

    This does not depend on the order in which splits are read, nor on that of the files in the log.
    """
    paths = rows.column(SPLIT_PATH).combine_chunks().dictionary_encode()
    rank = pc.rank(paths.dictionary).to_numpy() if len(paths.dictionary) else np.empty(0, np.uint64)
    keys = (
        rows.column(POSITION).to_numpy(),
        rank[paths.indices.to_numpy(zero_copy_only=False)],
        -rows.column(SCORE).to_numpy(),
    )
    return pa.array(np.lexsort(keys))
