"""Restoring an older version, by committing a new one."""

from __future__ import annotations

from collections.abc import Sequence

from indextables.config import Settings
from indextables.errors import CorruptTableError
from indextables.log import Restore, Snapshot, commit, load_snapshot
from indextables.log.cleanup import missing_files
from indextables.log.snapshots import VersionSelector, read_snapshot
from indextables.storage import Store

_NAMED = 5


def restore(store: Store, version: int, settings: Settings, base: Snapshot | None = None) -> int:
    """Restore the table to what it was at `version`, in a new version; return the new version.

    Raises VersionNotFoundError if the version cannot be read any more, and CorruptTableError if a file that it needs
    has been deleted. Nothing is committed then.

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
        # Called in every attempt of the commit. A purge whose fence is not in the newest snapshot yet reads this commit
        # before it deletes. A purge whose fence is in it has kept the files of every version that was readable then.
        # So the version must be readable now: it is not enough that `target` could be read before.
        read_snapshot(store, VersionSelector(version), settings)
        gone = missing_files(store, keys)
        if gone:
            more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
            raise CorruptTableError(
                f"version {version} of {store.uri} cannot be restored: {', '.join(gone[:_NAMED])}{more} "
                f"{'has' if len(gone) == 1 else 'have'} been deleted since"
            )

    return commit(store, Restore(target, check), base=base or target, settings=settings).version
