"""What differs between two versions: files with their rows, and rows by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import VersionNotFoundError
from indextables.log import split_key
from indextables.log.diffs import BEGINNING
from indextables.table.api import open_table
from indextables.table.handle import Table
from indextables.table.history import CHANGE_TYPE, FEED_FIELDS
from indextables.table.plain_values import plain_rows

_ADDING: Final = ("insert", "update_postimage")


@dataclass(frozen=True)
class FileDifference:
    """A file that is in one of two versions only, or of which rows were deleted or restored; `rows` None: unknown."""

    change: Literal["added", "removed", "rows deleted", "rows restored"]
    path: str
    rows: int | None
    size: int | None


def file_differences(table: Table, since: int) -> list[FileDifference]:
    """Return the files by which a table differs from its version `since`.

    The rows of removed files are known as long as that version can be read.

    >>> import indextables as it, pyarrow as pa
    >>> for mode in ("append", "overwrite"):
    ...     _ = it.write("memory://doc-file-differences", pa.table({"n": [1, 2]}), mode=mode)
    >>> found = file_differences(it.open("memory://doc-file-differences"), since=0)
    >>> [(file.change, file.rows) for file in found]
    [('added', 2), ('removed', 2)]
    """
    changed = table.changes(since=since)
    before = _live_rows(table, since) if changed.removes or changed.changed else {}
    added = [
        FileDifference("added", add.path, _rows_of(add.num_records, add.num_deleted), add.size)
        for add in changed.adds
    ]
    removed = [
        FileDifference("removed", gone.path, before.get(split_key(gone.path, table.uri)), gone.size)
        for gone in changed.removes
    ]
    others = []
    for file in changed.changed:
        now, then = _rows_of(file.num_records, file.num_deleted), before.get(split_key(file.path, table.uri))
        deleted = None if now is None or then is None else then - now
        is_restored = deleted is not None and deleted < 0
        others.append(
            FileDifference(
                "rows restored" if is_restored else "rows deleted",
                file.path,
                None if deleted is None else abs(deleted),
                file.size,
            )
        )
    return [*added, *others, *removed]


def row_differences(table: Table, since: int) -> pa.Table:
    """Return the rows that a table has and its version `since` had not (`insert`), and the reverse (`delete`).

    Rows are compared by value: one that was removed and added again, by a restore or in another split, is the same.

    >>> import indextables as it, pyarrow as pa
    >>> for numbers in ([1, 2], [2, 3]):
    ...     _ = it.write("memory://doc-row-differences", pa.table({"n": numbers}), mode="overwrite")
    >>> row_differences(it.open("memory://doc-row-differences"), since=0).to_pylist()
    [{'_change_type': 'delete', 'n': 1}, {'_change_type': 'insert', 'n': 3}]
    """
    feed = table.changes(since=since).to_arrow(feed=True)
    is_new = pc.is_in(feed.column(CHANGE_TYPE), value_set=pa.array(_ADDING))
    rows = feed.drop_columns([field.name for field in FEED_FIELDS])
    places = _without_pairs(rows, is_new.to_pylist())
    kinds = pc.if_else(is_new, "insert", "delete").take(places)
    return rows.take(places).add_column(0, CHANGE_TYPE, kinds)


def _without_pairs(rows: pa.Table, is_new: Sequence[bool]) -> pa.Array:
    """Return the places of rows that no row of the other kind equals, each counted as often as it occurs."""
    if len(set(is_new)) < 2:
        return pa.array(range(rows.num_rows), pa.int64())
    waiting: dict[tuple[bytes, bool], list[int]] = {}
    places: set[int] = set()
    for place, (row, new) in enumerate(zip(plain_rows(rows), is_new, strict=True)):
        key = orjson.dumps(row, default=str)
        if opposite := waiting.get((key, not new)):
            places.discard(opposite.pop())
        else:
            waiting.setdefault((key, new), []).append(place)
            places.add(place)
    return pa.array(sorted(places), pa.int64())


def _live_rows(table: Table, version: int) -> Mapping[str, int | None]:
    if version == BEGINNING:
        return {}
    try:
        files = open_table(table.uri, version=version, settings=table.settings).files()
    except VersionNotFoundError:
        return {}
    return dict(zip(files.column("path").to_pylist(), files.column("num_records").to_pylist(), strict=True))


def _rows_of(records: int | None, deleted: int | None) -> int | None:
    return None if records is None else records - (deleted or 0)
