"""Restoring an older version of the table. The actions are computed from the newest snapshot in every attempt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from indextables.errors import TableNotFoundError
from indextables.log.actions import Action
from indextables.log.changes.file_changes import remove_files
from indextables.log.changes.purge_fence import ChecksOwnFiles
from indextables.log.changes.row_changes import add_again
from indextables.log.snapshots import Snapshot


@dataclass(frozen=True)
class Restore(ChecksOwnFiles):
    """Restores the files and the metadata of an older snapshot, whatever is live now.

    `check` is called with the keys of the files to re-add and of their delta logs, and raises if one of them has been
    deleted. A file that is live with another delta log is removed and added again. The protocol stays, because it is
    never lowered, and so do the batches of streaming writers.
    """

    target: Snapshot
    check: Callable[[Sequence[str]], None]
    operation: ClassVar[str] = "RESTORE"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"version": str(self.target.version)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to restore")
        target, live = dict(self.target.files.added()), dict(current.files.added())
        changed = [
            key
            for key, added in target.items()
            if key in live and live[key].file.delta_log != added.file.delta_log
        ]
        missing = [key for key in target if key not in live]
        logs = [log for key in (*missing, *changed) if (log := target[key].file.delta_log) is not None]
        self.check([*missing, *logs])
        metadata = dataclasses.replace(
            self.target.metadata, id=current.metadata.id, created_time=current.metadata.created_time
        )
        removed = [added.file for key, added in live.items() if key not in target]
        return [
            *([metadata] if metadata != current.metadata else []),
            *remove_files(removed),
            *remove_files((live[key].file for key in changed), data_change=False),
            *(dataclasses.replace(target[key].file, data_change=True) for key in missing),
            *(add_again(live[key], target[key].file) for key in changed),
        ]
