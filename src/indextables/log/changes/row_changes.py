"""Changes of rows: delete some rows of files, and perhaps add others, in one commit; and their conflict rules.

The rows were looked up in the files of one snapshot. A file is the same if it has the same path and the same delta
log. For each file that is not the same in the newest snapshot:

- it was removed: a conflict, unless this change and the commits that removed it only delete rows. If a merge has
  removed it, the conflict says so: the caller can look the rows up again;
- it was added again with a delta log that deletes more rows: the positions are united. If a row is deleted by both, it
  is a conflict, unless both only delete rows;
- it was added again with a delta log that lacks deleted rows, as a restore does: a conflict.

Files that were appended since do not matter: their rows were not in the snapshot. A change that looked for keys in
the snapshot (an upsert) also has to look for them in those files, and conflicts if it finds one. A restore brings rows
back in files that were there: an upsert, and an overwrite of the rows that satisfy a condition, conflict with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from typing import Protocol as Interface

from indextables.errors import CommitConflictError, TableNotFoundError
from indextables.log.actions import Action, Added, AddFile, Metadata, RemoveFile, Txn, split_key
from indextables.log.changes.compatibility import check_compatible, register_mappings
from indextables.log.changes.file_changes import MergeSplits, is_batch_committed, remove_files
from indextables.log.snapshots import Snapshot
from indextables.log.versions import VersionActions

DELETE: Final = "DELETE"
"""The operation that deletes rows and does nothing else."""

UPDATED_ROWS: Final = "updatedRows"
"""The tag of a file that says which of the rows that a version adds or deletes are updated ones."""


@dataclass(frozen=True)
class DeletedRows:
    """Rows to delete of the file `key`, which had `delta_log` when they were looked up.

    `new_log` has the positions of all deleted rows, earlier ones included, and `num_deleted` is their number. Without
    `new_log`, every row of the file is deleted. `updated` is the tag about those that have new values.
    """

    key: str
    delta_log: str | None
    new_log: str | None
    num_deleted: int = 0
    updated: str | None = None


class United(NamedTuple):
    """The rows that two changes delete from one file; `overlap` if both delete some of the same rows."""

    rows: DeletedRows
    overlap: bool


class UniteRows(Interface):
    """Unites the rows that a change deletes with those that are deleted by now, and stores the delta log.

    None if a row that was deleted when the change looked its rows up is not deleted any more.
    """

    def __call__(self, mine: DeletedRows, theirs: AddFile) -> United | None: ...


@dataclass(frozen=True)
class ChangeRows:
    """Deletes rows of the files of a snapshot, and adds files. `metadata` is what both were planned for.

    `later` returns the versions after that snapshot, up to another. `check` is called with the newest snapshot and
    raises CommitConflictError if files that were added since hold rows that this change should have seen.
    """

    rows: tuple[DeletedRows, ...]
    metadata: Metadata
    unite: UniteRows
    later: Callable[[Snapshot], Sequence[VersionActions]]
    adds: tuple[AddFile, ...] = ()
    check: Callable[[Snapshot], None] | None = None
    txn: Txn | None = None
    operation: str = DELETE
    parameters: Mapping[str, str] = field(default_factory=dict)

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to change rows of")
        if is_batch_committed(self.txn, current):
            return []
        check_compatible(self.metadata, current)
        live = {rows.key: _live(current, rows.key) for rows in self.rows}
        resolved = self._resolve(live, current)
        if (
            self.check is not None
        ):  # after it is known that no merge has moved the rows to a file that was added since
            self.check(current)
        whole = [(rows, _file(live, rows)) for rows in resolved if rows.new_log is None]
        again = [(rows, _live_file(live, rows)) for rows in resolved if rows.new_log is not None]
        return [
            *register_mappings(current.metadata, self.metadata, self.adds),
            *([] if self.txn is None else [self.txn]),
            *(_remove(rows, file, data_change=True) for rows, file in whole),
            *(_remove(rows, added.file, data_change=False) for rows, added in again),
            *(add_again(added, with_deletes(added.file, rows)) for rows, added in again),
            *self.adds,
        ]

    def _resolve(self, live: Mapping[str, Added | None], current: Snapshot) -> list[DeletedRows]:
        """Return the rows to delete from the files as they are now."""
        changed = {rows.key for rows in self.rows if not _is_same(live[rows.key], rows)}
        operations = operations_by_file(current.uri, self.later(current), changed) if changed else {}
        resolved = []
        for rows in self.rows:
            if rows.key not in changed:
                resolved.append(rows)
                continue
            both_delete = self.operation == DELETE and operations.get(rows.key) == {DELETE}
            added = live[rows.key]
            theirs = None if added is None else added.file
            united = resolve_rows(rows, theirs, self.unite, both_delete=both_delete)
            if isinstance(united, str):
                conflict = CommitConflictError(
                    f"{united} of {current.uri} (now at version {current.version}); read the table again and repeat "
                    f"the {self.operation}"
                )
                conflict.by_file = True
                conflict.only_moved = theirs is None and operations.get(rows.key) == {MergeSplits.operation}
                raise conflict
            if united is not None:
                resolved.append(united)
        return resolved


def resolve_rows(
    mine: DeletedRows, theirs: AddFile | None, unite: UniteRows, *, both_delete: bool
) -> DeletedRows | str | None:
    """Return the rows to delete from a file that concurrent commits have changed, None if nothing remains to be done.

    `theirs` is the file as it is now, None if it is no longer live. The result is a text if it is a conflict.
    """
    if theirs is None:
        return None if both_delete else f"a concurrent commit has removed {mine.key}"
    united = unite(mine, theirs)
    if united is None:
        return f"a concurrent commit has restored deleted rows of {mine.key}"
    if united.overlap and not both_delete:
        return f"a concurrent commit has changed the same rows of {mine.key}"
    return united.rows


def operations_by_file(
    uri: str, versions: Iterable[VersionActions], keys: Collection[str]
) -> dict[str, set[str | None]]:
    """Return the operations that removed each of some files, or added it again."""
    operations: dict[str, set[str | None]] = {}
    for version in versions:
        info = version.commit_info
        for action in version.actions:
            if isinstance(action, RemoveFile | AddFile) and (key := split_key(action.path, uri)) in keys:
                operations.setdefault(key, set()).add(None if info is None else info.operation)
    return operations


def with_deletes(file: AddFile, rows: DeletedRows) -> AddFile:
    """Return a file with other deleted rows."""
    return dataclasses.replace(file, delta_log=rows.new_log, num_deleted=rows.num_deleted)


def add_again(live: Added, file: AddFile) -> AddFile:
    """Return the action that adds a live file again with another delta log. It keeps the time of its first add."""
    return dataclasses.replace(
        file,
        data_change=False,
        added_at_version=live.version,
        added_at_timestamp=live.timestamp_ms,
        added_data_change=live.file.data_change,
    )


def _remove(rows: DeletedRows, file: AddFile, *, data_change: bool) -> RemoveFile:
    (remove,) = remove_files([file], data_change=data_change)
    return remove if rows.updated is None else dataclasses.replace(remove, tags={UPDATED_ROWS: rows.updated})


def _live(current: Snapshot, key: str) -> Added | None:
    return current.files.get_added(key)


def _is_same(live: Added | None, rows: DeletedRows) -> bool:
    return live is not None and live.file.delta_log == rows.delta_log


def _live_file(live: Mapping[str, Added | None], rows: DeletedRows) -> Added:
    added = live[rows.key]
    assert added is not None
    return added


def _file(live: Mapping[str, Added | None], rows: DeletedRows) -> AddFile:
    return _live_file(live, rows).file
