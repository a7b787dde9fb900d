"""What has changed in a table, and operations that change its rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.log import load_snapshot, read_history
from indextables.table.arguments import (
    ANY_FIELDS,
    check_condition,
    check_flag,
    parse_condition,
    to_mapping,
    to_millis,
    to_names,
    to_settings,
    to_version,
)
from indextables.table.handle.version import TableVersion
from indextables.table.history import ChangeSet, Since, changes, history_table
from indextables.table.writes import RowChange, arrow_stream, delete_where, repeat_after_merges


class TableChanges(TableVersion):
    """The part of a handle that changes rows and columns, and that tells what has changed."""

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
            predicate = parse_condition(query, where, newest.schema, self._settings)
            return delete_where(store, newest, predicate, settings)

        return self._changed_rows(delete_newest)

    def upsert(self, data: Any, *, on: Sequence[str]) -> RowChange:
        """Replace the rows that have the keys of these rows, and append the others, in one commit.

        `data` is Arrow data as for `write`, with all columns of the table; it is held in memory. `on` names the columns
        of the key. A key that is null, or in two rows of `data`, is an InputError; floating-point columns are no keys.
        Rows of the table whose key is null are never replaced, and all rows with a key of `data` are.

        Like `delete`, it changes the newest version and writes no split again. CommitConflictError, and nothing is
        changed, if another writer has changed or added rows with the same keys, or restored an older version.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-upsert", pa.table({"id": [1, 2], "state": ["new", "new"]}))
        >>> it.open("memory://doc-upsert").upsert(pa.table({"id": [2, 3], "state": ["done", "new"]}), on=["id"])
        RowChange(version=1, rows_deleted=1, rows_added=2, files_removed=0, files_changed=1)
        >>> sorted(row["state"] for row in it.open("memory://doc-upsert").to_arrow().to_pylist())
        ['done', 'new', 'new']
        """
        from indextables.table.writes import upsert_rows

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
        from indextables.table.writes import Alteration, alter_table

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

    def _changed_rows(self, change: Callable[[], RowChange]) -> RowChange:
        """Return what a change of rows does, repeated where a merge has moved them, and start upkeep after it."""
        from indextables.maintenance import change_with_upkeep

        return change_with_upkeep(
            self._store(),
            self._settings,
            lambda: repeat_after_merges(change),
            lambda done: done.version if done.rows_deleted or done.rows_added else None,
        )
