"""The purge fence: a time up to which a purge deletes orphaned splits, committed before it deletes any.

A split that no version names may belong to a writer that has not committed yet. A purge keeps splits that are younger
than its retention. A writer that was paused for longer must find out that its splits may be gone. So a purge commits a
version that records the time of the youngest split that it deletes (the fence), and deletes afterwards.

Versions are totally ordered, so every commit is either before the fence or after it:

- a commit before the fence: the purge reads the versions up to the fence and keeps every split that they name;
- a commit after the fence: it is computed on a snapshot that has the fence, and `check_purge_fence` refuses it if one
  of its splits is missing, or old enough to be deleted.

So no version can name a split that the purge deletes. All of these times are the store's: the fence is the time of a
split in a listing, and the time in an add action was read from the store (`new_files`). The clock of a writer may be
wrong by any amount.

The fence is stored as a `txn` action of an application id of this package, so that states and checkpoints carry it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from indextables.config import HOUR_MS
from indextables.errors import CommitConflictError, ObjectNotFoundError, TableNotFoundError
from indextables.log.actions import Action, AddFile, Txn, is_elsewhere, split_key
from indextables.log.snapshots import Snapshot
from indextables.storage import Store

APPLICATION: Final = "io.indextables.purge"
NO_FENCE: Final = -1

_SLACK_MS: Final = 24 * HOUR_MS
"""By how much two answers of a store about the time of a file may differ; younger files are not looked for."""

_NAMED: Final = 3


@dataclass(frozen=True)
class SetPurgeFence:
    """Records that splits which the store has had since `before_ms` or longer may be deleted.

    Splits that a version up to this one names are not deleted.
    """

    before_ms: int
    operation: ClassVar[str] = "PURGE"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"before": str(self.before_ms)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to purge")
        # Also if an earlier fence is as high: this purge needs a version that orders it with concurrent commits.
        return [Txn(APPLICATION, max(self.before_ms, fence_time_ms(current)))]


class ChecksOwnFiles:
    """A change that adds files of an older version again, and checks in `actions` that the store still has them.

    Such files are older than the fence as a rule, so that `check_purge_fence` would look for each of them once more.
    """


def fence_time_ms(snapshot: Snapshot) -> int:
    """Return the time up to which splits that no version named may have been deleted, or NO_FENCE."""
    return snapshot.txns.get(APPLICATION, NO_FENCE)


def check_purge_fence(store: Store, current: Snapshot | None, actions: Sequence[Action]) -> None:
    """Raise CommitConflictError if a purge may have deleted a file that these actions would add to the table."""
    fence = NO_FENCE if current is None else fence_time_ms(current)
    if current is None or fence == NO_FENCE:
        return
    gone = []
    for action in actions:
        if not isinstance(action, AddFile):
            continue
        key, log = split_key(action.path, store.uri), action.delta_log
        if (
            action.modification_time <= fence + _SLACK_MS
            and not is_elsewhere(key)
            and key not in current.files
            and _may_be_gone(store, key, fence)
        ):
            gone.append(key)
        if log is not None and not _has(current, key, log) and _may_be_gone(store, log, fence):
            gone.append(log)
    if gone:
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        raise CommitConflictError(
            f"a purge of {store.uri} deletes files that are as old as {', '.join(gone[:_NAMED])}{more}, which this "
            f"write had stored and not committed yet; write the rows again, and purge with a longer OLDER THAN"
        )


def _has(current: Snapshot, key: str, delta_log: str) -> bool:
    return key in current.files and current.files[key].delta_log == delta_log


def _may_be_gone(store: Store, key: str, fence: int) -> bool:
    try:
        return store.head(key).modified_ms <= fence
    except ObjectNotFoundError:
        return True
