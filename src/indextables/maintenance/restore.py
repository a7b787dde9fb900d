"""Going back to an older version, by a new one."""

from __future__ import annotations

from collections.abc import Sequence

from indextables.config import Settings
from indextables.errors import CommitConflictError, CorruptTableError, VersionNotFoundError
from indextables.log import Committed, Restore, Snapshot, commit, load_snapshot
from indextables.log.loading import Wanted, read_snapshot
from indextables.log.purged import NEVER, purged_before
from indextables.maintenance.presence import missing_files
from indextables.storage import Store

_NAMED = 5


def restore(store: Store, version: int, settings: Settings, base: Snapshot | None = None) -> int:
    """Makes the table what it was at `version`, in a new version, which it returns.

    VersionNotFoundError if the version cannot be read any more; CorruptTableError, and nothing is committed, if
    a file that it needs has been deleted since.

    >>> import indextables as it, pyarrow as pa
    >>> for n in range(2):
    ...     _ = it.write("memory://doc-restore", pa.table({"n": [n]}))
    >>> it.open("memory://doc-restore").restore(0)
    2
    >>> it.open("memory://doc-restore").to_arrow().column("n").to_pylist()
    [0]
    """
    target = load_snapshot(store, version, settings=settings)

    def check(keys: Sequence[str]) -> None:
        gone = missing_files(store, keys)
        if gone:
            more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
            raise CorruptTableError(
                f"version {version} of {store.uri} cannot be restored: {', '.join(gone[:_NAMED])}{more} "
                f"{'has' if len(gone) == 1 else 'have'} been deleted since"
            )

    done = commit(store, Restore(target, check), base=base or target, settings=settings)
    if not done.skipped and purged_before(done.snapshot) != NEVER:
        _check_still_there(store, target, done, settings)
    return done.version


def _check_still_there(store: Store, target: Snapshot, done: Committed, settings: Settings) -> None:
    """If the version can still be read, it could before, and every purge knew of its files.

    If not, a purge may be deleting them, which a version that was made after it began does not stop.
    """
    try:
        read_snapshot(store, Wanted(target.version), settings)
    except (VersionNotFoundError, CorruptTableError):
        before = load_snapshot(store, done.version - 1, settings=settings)
        undone = commit(store, Restore(before, lambda _: None), base=done.snapshot, settings=settings)
        raise CommitConflictError(
            f"version {target.version} of {store.uri} was cleaned up while it was being restored; "
            f"the table is as it was again, by version {undone.version}"
        ) from None
