"""The purge fence: files older than a moment may be deleted, and a writer that stored such a file must not commit it.

A file that no version names may belong to a writer that has yet to commit. A purge spares those that are younger
than its window; one that was held up for longer must find out. So a purge commits a version that says up to which
moment it deletes, and only then does. Every later commit is built upon that version and looks at its files; every
earlier one was seen by the purge. There is no moment between.

The version holds a `txn` action of an application of our own, so that states and checkpoints carry it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from indextables.errors import CommitConflictError, ObjectNotFoundError, TableNotFoundError
from indextables.log.actions import Action, AddFile, Txn, is_elsewhere, split_key
from indextables.log.snapshots import Snapshot
from indextables.storage import Store

APPLICATION: Final = "io.indextables.purge"
NO_FENCE: Final = -1

_SLACK_MS: Final = 24 * 3_600_000
"""How far the clock of a writer may be ahead of the store's: files that are younger by more are not looked at."""

_NAMED: Final = 3


@dataclass(frozen=True)
class SetPurgeFence:
    """Files that the store has had since `before_ms` or longer may be gone, unless a version up to here names them."""

    before_ms: int
    operation: ClassVar[str] = "PURGE"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"before": str(self.before_ms)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to purge")
        # Even if an earlier purge went as far: what counts is that the version is there.
        return [Txn(APPLICATION, max(self.before_ms, fence_time_ms(current)))]


def fence_time_ms(snapshot: Snapshot) -> int:
    """The moment in milliseconds up to which files that no version named may be gone, or NEVER."""
    return snapshot.txns.get(APPLICATION, NO_FENCE)


def check_purge_fence(store: Store, current: Snapshot | None, actions: Sequence[Action]) -> None:
    """CommitConflictError if a purge may have taken a file that these actions would bring into the table."""
    fence = NO_FENCE if current is None else fence_time_ms(current)
    if current is None or fence == NO_FENCE:
        return
    gone = []
    for action in actions:
        if isinstance(action, AddFile) and action.modification_time <= fence + _SLACK_MS:
            key = split_key(action.path, store.uri)
            if not is_elsewhere(key) and key not in current.files and _may_be_gone(store, key, fence):
                gone.append(key)
    if gone:
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        raise CommitConflictError(
            f"a purge of {store.uri} deletes files that are as old as {', '.join(gone[:_NAMED])}{more}, which this "
            f"write stored and had not committed; write the rows again, and purge with a longer OLDER THAN"
        )


def _may_be_gone(store: Store, key: str, fence: int) -> bool:
    try:
        return store.head(key).modified_ms <= fence
    except ObjectNotFoundError:
        return True
