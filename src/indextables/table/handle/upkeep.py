"""Operations that keep a table in shape, and what can be seen of its files and log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError
from indextables.log.snapshots import invalidate_cache
from indextables.predicates import TRUE
from indextables.progress import Progress, shown_progress
from indextables.runtime import CacheFigures
from indextables.storage import open_store
from indextables.table.arguments import (
    check_condition,
    check_flag,
    to_count,
    to_hours,
    to_seconds,
    to_settings,
    to_size,
    to_version,
)
from indextables.table.handle.version import TableVersion
from indextables.table.scans import Prewarmed, plan_prewarm, run_prewarm_task, total_prewarmed

if TYPE_CHECKING:
    from indextables.maintenance import CleanedVersions, Merged, Purged, StateDescription, Truncated


class TableUpkeep(TableVersion):
    """The part of a handle that merges, cleans up and looks inside."""

    def checkpoint(self) -> int:
        """Write the state of the newest version, compacted, so that opening it is cheap; return that version.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-checkpoint", pa.table({"n": [1]}))
        >>> it.open("memory://doc-checkpoint").checkpoint()
        0
        """
        from indextables.maintenance import upgrade_and_checkpoint

        return upgrade_and_checkpoint(self._store(), self._settings).state_version

    def upgrade_protocol(
        self, *, min_reader_version: int | None = None, min_writer_version: int | None = None
    ) -> int:
        """Raise the protocol to at least these versions; return the version of the table that has it.

        Without a version, the newest one that this release supports. The protocol is never lowered.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-upgrade", pa.table({"n": [1]}))
        >>> it.open("memory://doc-upgrade").upgrade_protocol(min_reader_version=2, min_writer_version=3)
        0
        """
        from indextables.maintenance import upgrade_protocol

        versions = {"min_reader_version": min_reader_version, "min_writer_version": min_writer_version}
        checked = {name: to_version(number, name) for name, number in versions.items() if number is not None}
        return upgrade_protocol(self._store(), self._settings, self._snapshot, **checked)

    def merge_splits(
        self,
        *,
        where: str | None = None,
        target_size: str | int = "5G",
        max_dest_splits: int | None = None,
        max_source_splits: int | None = None,
        only_deleted: bool = False,
        settings: Mapping[str, str] | Settings | None = None,
        progress: bool | Progress | None = None,
    ) -> Merged:
        """Merge small splits of the newest version into splits of about the target size; return what was done.

        Splits are merged within their partition, the smallest first. No row changes, and older versions stay readable
        until a purge. `where` is a condition on partition columns. `target_size` is a number of bytes or text such as
        `"100M"`. `max_dest_splits` limits how many splits are written, `max_source_splits` how many become one.
        Deleted rows are left out of the new splits. A split of which many rows are deleted is rewritten whatever its
        size; with `only_deleted=True`, every split with deleted rows is rewritten, and no others.
        `settings` are added to those of the table. `progress` is True for a bar on a terminal or in a notebook, or a
        function that is called after each new split with the number of those that are done and of all. Interrupting a
        merge is safe.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2, 3):
        ...     _ = it.write("memory://doc-merge", pa.table({"n": [n]}))
        >>> it.open("memory://doc-merge").merge_splits(target_size="100M").message
        'merged 3 splits into 1'
        >>> it.open("memory://doc-merge").to_arrow().column("n").to_pylist()
        [1, 2, 3]
        """
        from indextables.maintenance import MergeOptions, merge_small_splits

        options = MergeOptions(
            where=TRUE if where is None else self._where(check_condition(where)),
            target_size=to_size(target_size, "target_size"),
            max_dest_splits=to_count(max_dest_splits, "max_dest_splits", "splits"),
            max_source_splits=to_count(max_source_splits, "max_source_splits", "splits"),
            only_deleted=check_flag(only_deleted, "only_deleted"),
        )
        combined = Settings(dict(self._settings) | dict(to_settings(settings)))
        with shown_progress(progress, "merging splits") as tell:
            return merge_small_splits(open_store(self._uri, combined), combined, options, progress=tell)

    def merge_jobs(self) -> pa.Table:
        """Return the merges of this table that writes of this process have started, the last to begin first.

        One row each, with the columns of DESCRIBE INDEXTABLES MERGE JOBS. `status` is `RUNNING`, `COMPLETED` or
        `FAILED`.

        >>> import indextables as it, pyarrow as pa
        >>> for n in range(4):
        ...     _ = it.write(
        ...         "memory://doc-jobs", pa.table({"n": [n]}), settings={"indextables.mergeOnWrite.minSplits": "4"}
        ...     )
        >>> table = it.open("memory://doc-jobs")
        >>> table.wait_for_upkeep(), table.merge_jobs().select(["status", "completed_groups"]).to_pylist()
        (True, [{'status': 'COMPLETED', 'completed_groups': 1}])
        >>> table.refresh()
        <indextables.Table memory://doc-jobs version=4 files=1 rows=4>
        """
        from indextables.maintenance import jobs_table, recorded_jobs

        return jobs_table(recorded_jobs(self._uri))

    def wait_for_upkeep(self, seconds: float | None = None) -> bool:
        """Wait for the merges and purges that writes of this process have started on this table.

        Returns False if they take longer than `seconds`. The end of the process waits by itself, up to
        `spark.indextables.mergeOnWrite.shutdownTimeoutMs`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-wait", pa.table({"n": [1]}))
        >>> it.open("memory://doc-wait").wait_for_upkeep(seconds=60)
        True
        """
        from indextables.maintenance import wait_for_upkeep

        return wait_for_upkeep(self._uri, to_seconds(seconds, "seconds"))

    def purge(
        self,
        older_than: str | timedelta | None = None,
        *,
        log_retention: str | timedelta | None = None,
        dry_run: bool = False,
        progress: bool | Progress | None = None,
    ) -> Purged:
        """Delete splits that no readable version names, and version files, states and manifests past retention.

        This is the usual way to drop history. `older_than` is the least age of splits, `log_retention` that of version
        files and states: `"7 days"`, `"36 hours"` or a timedelta; without them the settings decide. A dry run deletes
        nothing and reports what would be deleted. `progress` is True for a bar, or a function that is called with the
        number of splits that are deleted and of all.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-purge", pa.table({"n": [1]}))
        >>> it.open("memory://doc-purge").purge(older_than="7 days", dry_run=True).message
        'would delete 0 splits, 0 version files, 0 states, 0 manifests'
        """
        from indextables.maintenance import purge

        with shown_progress(progress, "deleting splits") as tell:
            return purge(
                self._store(),
                self._settings,
                hours=to_hours(older_than, "older_than"),
                log_hours=to_hours(log_retention, "log_retention"),
                dry_run=check_flag(dry_run, "dry_run") or None,
                progress=tell,
            )

    def clean_versions(
        self,
        older_than: str | timedelta | int | None = None,
        *,
        retention_hours: int | None = None,
        dry_run: bool = False,
    ) -> CleanedVersions:
        """Delete the version files that are older than `older_than` and that a state covers, and nothing else.

        `purge` does the same with `log_retention`, and more. `retention_hours`, or a number as `older_than`, is an
        older way to give the age.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-clean", pa.table({"n": [1]}))
        >>> it.open("memory://doc-clean").clean_versions("7 days", dry_run=True).versions_found
        0
        """
        from indextables.maintenance import clean_versions

        if older_than is not None and retention_hours is not None:
            raise InputError("older_than and retention_hours exclude each other; give older_than")
        number = older_than if isinstance(older_than, int) else retention_hours
        if isinstance(older_than, int) or number is not None:
            hours = to_count(number, "retention_hours", "hours")
        else:
            hours = to_hours(older_than, "older_than")
        dry_run = check_flag(dry_run, "dry_run")
        return clean_versions(self._store(), self._settings, hours=hours, dry_run=dry_run or None)

    def truncate_time_travel(self, *, dry_run: bool = False) -> Truncated:
        """Delete all history before the current version, for good. No row is lost.

        `purge` deletes only what is past its retention; this ignores retention, and leaves splits alone. The setting
        `cleanup.dryRun` asks for a dry run too.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2):
        ...     _ = it.write("memory://doc-time-travel", pa.table({"n": [n]}))
        >>> it.open("memory://doc-time-travel").truncate_time_travel(dry_run=True).versions_deleted
        1
        """
        from indextables.maintenance import truncate_time_travel

        dry_run = check_flag(dry_run, "dry_run")
        return truncate_time_travel(self._store(), self._settings, dry_run=dry_run or None)

    def describe_log(self, *, include_all: bool = False) -> pa.Table:
        """Return the actions of the newest state and of later versions, or of every version file; one row each.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-describe-log", pa.table({"n": [1]}))
        >>> it.open("memory://doc-describe-log").describe_log().column("action_type").to_pylist()[1:]
        ['protocol', 'metadata', 'add']
        """
        from indextables.maintenance import describe_log

        include_all = check_flag(include_all, "include_all")
        return describe_log(self._store(), self._settings, include_all=include_all)

    def describe_state(self) -> StateDescription:
        """Return the figures of the state from which a reader of the newest version starts.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-describe-state", pa.table({"n": [1]}))
        >>> _ = it.open("memory://doc-describe-state").checkpoint()
        >>> it.open("memory://doc-describe-state").describe_state().num_files
        1
        """
        from indextables.maintenance import describe_state

        return describe_state(self._store(), self._settings)

    def component_sizes(self, where: str | None = None) -> pa.Table:
        """Return the parts of each split that may hold a row that satisfies `where`: index files, rows, footers.

        One row each, with its size in bytes and in per cent of the split.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-sizes", pa.table({"n": [1]}))
        >>> table = it.open("memory://doc-sizes")
        >>> sizes = table.component_sizes().column("size_bytes").to_pylist()
        >>> sum(sizes) == table.files().column("size")[0].as_py()
        True
        """
        from indextables.maintenance import component_sizes

        return component_sizes(self._store(), self._snapshot, self._where(where))

    def prewarm(self, where: str | None = None) -> Prewarmed:
        """Bring the indexes of the splits that may hold a row that satisfies `where` into this machine's cache.

        The first search after it is then as fast as later ones. A split that cannot be read is among the `failures`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-prewarm", pa.table({"message": ["disk full"]}), text=["message"])
        >>> it.open("memory://doc-prewarm").prewarm().splits
        1
        """
        tasks = plan_prewarm(self._snapshot, self._settings, self._where(where))
        return total_prewarmed([run_prewarm_task(task) for task in tasks])

    def invalidate_cache(self) -> CacheFigures:
        """Clear this process's cache of the table's snapshots; return its hit and miss counters.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-invalidate", pa.table({"n": [1]}))
        >>> figures = it.open("memory://doc-invalidate").invalidate_cache()
        """
        return invalidate_cache(self._uri)
