"""Superseded versions: commits whose number clean-up had already passed when their file was created.

A commit creates the file of the next version if it is absent. While files only accumulate, a successful create proves
that the version is the next one. Clean-up deletes old files, so a writer that was paused during a clean-up may find
an old number free again and create an *orphaned commit*: a version file that is not part of the table. The writer
detects this with `is_superseded`, deletes the file and retries. If the writer dies before that, the orphaned commit
stays until the next clean-up, and readers skip it with the other two functions.
"""

from __future__ import annotations

from collections.abc import Mapping

from indextables.errors import CorruptTableError
from indextables.log.versions.listing import LogListing, VersionFile
from indextables.log.versions.reader import read_txn_id
from indextables.log.versions.watermark import NO_WATERMARK, read_watermark, recorded_transaction
from indextables.state import state_key
from indextables.storage import Store


def is_superseded(store: Store, version: int, txn_id: str, *, table_id: str | None, by_state: bool) -> bool:
    """Return True if the version that this writer has just created is not part of the table.

    `table_id` and `by_state` are those of the snapshot that the commit follows (None and False for a new table).

    Call this after the create. Clean-up advances the watermark before it deletes a file. So if the watermark is below
    `version` now, no clean-up had deleted this number when the file was created, and the commit is valid. A clean-up
    that starts later finds the file and records its transaction.
    """
    if by_state and _has_state(store, version):
        return True
    if not _is_covered(store, version, table_id):
        return False
    # The watermark covers this version. Either our file was committed before clean-up ran (and the state includes it),
    # or clean-up had deleted the number and we re-created it. Clean-up records the transaction of every version that
    # it covers before it deletes any, so the recorded transaction id tells which.
    return recorded_transaction(store, version) != txn_id


def is_recorded(store: Store, version: int, txn_id: str, *, table_id: str) -> bool:
    """Return True if clean-up has covered the version, and has recorded that this transaction wrote it."""
    return _is_covered(store, version, table_id) and recorded_transaction(store, version) == txn_id


def cut_at_orphaned_commit(store: Store, run: list[VersionFile]) -> list[VersionFile]:
    """Return the versions of the run up to the first orphaned commit.

    Costs a request for each version that the watermark covers, so call it only for versions that clean-up may have
    passed: those before the newest state.
    """
    watermark = read_watermark(store) if run else NO_WATERMARK
    for i, file in enumerate(run):
        if file.version > watermark:
            break
        if read_txn_id(store, file.version) != recorded_transaction(store, file.version):
            return run[:i]
    return run


def check_no_orphaned_commit(store: Store, read: Mapping[int, str | None], listing: LogListing) -> None:
    """Raise CorruptTableError if one of the versions that were read is an orphaned commit.

    `read` has the transaction id of each version that the reader decoded. Call this after reading: between the listing
    and the reading, clean-up may have deleted a version and a paused writer may have created its own in its place.
    Clean-up advances the watermark before it deletes, so a watermark that is read now covers every such version.
    """
    watermark = read_watermark(store, listed=listing.cleanups)
    for version, txn_id in read.items():
        if version <= watermark and recorded_transaction(store, version) != txn_id:
            raise CorruptTableError(
                f"{store.uri}: version {version} was cleaned up while it was being read; open it again"
            )


def _is_covered(store: Store, version: int, table_id: str | None) -> bool:
    # The watermark cached under `table_id` may belong to an earlier table at this path, and be too high. So a cached
    # watermark that covers the version is confirmed by a listing before it counts.
    return read_watermark(store, table_id) >= version and read_watermark(store) >= version


def _has_state(store: Store, version: int) -> bool:
    """Return True if the version has a state.

    Some older writers commit by creating a state and no version file. On their tables, such a state means that
    another writer committed this version first.
    """
    return store.exists(state_key(version))
