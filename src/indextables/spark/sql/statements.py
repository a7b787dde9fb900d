"""The commands as values: what the grammar makes of a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class TableName:
    """A table of the session's catalog. Only Spark can look up its location."""

    parts: tuple[str, ...]


TableRef: TypeAlias = str | TableName
"""A path, or a name that stands for one."""


@dataclass(frozen=True)
class Condition:
    """The text after WHERE, and its position in the command."""

    text: str
    position: int


@dataclass(frozen=True)
class DescribeLog:
    table: TableRef
    include_all: bool = False


@dataclass(frozen=True)
class DescribeHistory:
    """The versions of a table, newest first; with `limit`, only that many."""

    table: TableRef
    limit: Amount | None = None


@dataclass(frozen=True)
class DescribeState:
    table: TableRef


@dataclass(frozen=True)
class DescribeMergeJobs:
    """The automatic merges of the session's driver."""


@dataclass(frozen=True)
class TruncateTimeTravel:
    table: TableRef
    dry_run: bool = False


@dataclass(frozen=True)
class DropPartitions:
    table: TableRef
    where: Condition


@dataclass(frozen=True)
class Age:
    """A number of hours, and its position in the command."""

    hours: int
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Purge:
    """The minimum age of the splits, and of the files of the log, to delete. None: the settings decide."""

    table: TableRef
    older_than: Age | None = None
    log_retention: Age | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class Amount:
    """A number of bytes or splits, and its position in the command."""

    number: int
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class MergeSplits:
    """What to merge. None: the partitions are all, and the settings decide the rest.

    `only_deleted` is that of REORG TABLE: splits with deleted rows are rewritten, and nothing else.
    """

    table: TableRef
    where: Condition | None = None
    target_size: Amount | None = None
    max_dest_splits: Amount | None = None
    max_source_splits: Amount | None = None
    only_deleted: bool = False


@dataclass(frozen=True)
class InvalidateCache:
    """Invalidate the cache of one table, or of all tables."""

    table: TableRef | None = None


@dataclass(frozen=True)
class Checkpoint:
    table: TableRef


@dataclass(frozen=True)
class RepairLog:
    """The paths are those of logs, not of tables. Without a target, a lost log is written where it was."""

    source: str
    target: str | None = None


@dataclass(frozen=True)
class DescribeComponents:
    """The sizes of the parts of the splits that may satisfy a condition."""

    table: TableRef
    where: Condition | None = None


@dataclass(frozen=True)
class DescribeSkipping:
    """What pruning has saved the scans of one table, or of all tables."""

    table: TableRef | None = None


Subject: TypeAlias = Literal[
    "ENVIRONMENT", "STORAGE STATS", "DISK CACHE", "FLUSH DISK CACHE", "FLUSH SEARCHER CACHE"
]


@dataclass(frozen=True)
class Gather:
    """A command about the processes of the cluster and what they keep."""

    subject: Subject

    @property
    def table(self) -> None:
        """None: the command is about no table."""


@dataclass(frozen=True)
class Named:
    """A column, and its position in the command."""

    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Prewarm:
    """Which indexes to bring into the caches of the executors, with how many threads in a task."""

    table: TableRef
    fields: tuple[Named, ...] = ()
    threads: Amount | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Restore:
    """The version to restore, or the time at which it was the newest."""

    table: TableRef
    version: int | None = None
    timestamp: Named | None = None


@dataclass(frozen=True)
class EmptyTrash:
    """Delete the directories of dropped tables. They are in the directories of databases, which Spark knows."""

    older_than: Age | None = None
    dry_run: bool = False


Other: TypeAlias = (
    DescribeLog
    | DescribeHistory
    | Restore
    | DescribeComponents
    | DescribeSkipping
    | DescribeState
    | TruncateTimeTravel
    | DropPartitions
    | InvalidateCache
    | Checkpoint
    | RepairLog
)
"""The commands that the driver runs by itself."""

WithJobs: TypeAlias = Purge | MergeSplits | Prewarm
"""The commands on a table that the executors may run."""

Statement: TypeAlias = Other | WithJobs | Gather | DescribeMergeJobs | EmptyTrash
