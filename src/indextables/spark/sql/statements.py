"""The commands, as values: what a parsed one says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class TableName:
    """A table of the session's catalog; only Spark knows where it is."""

    parts: tuple[str, ...]


TableRef: TypeAlias = str | TableName
"""A path, or a name that stands for one."""


@dataclass(frozen=True)
class Condition:
    """The text after WHERE, and where in the command it begins."""

    text: str
    position: int


@dataclass(frozen=True)
class DescribeLog:
    table: TableRef
    include_all: bool = False


@dataclass(frozen=True)
class DescribeState:
    table: TableRef


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
    """A number of hours, and where in the command it stands."""

    hours: int
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Purge:
    """How old splits must be, and how old the files of the log; without a word the settings decide."""

    table: TableRef
    older_than: Age | None = None
    log_retention: Age | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class InvalidateCache:
    """Of one table, or of all."""

    table: TableRef | None = None


@dataclass(frozen=True)
class Checkpoint:
    table: TableRef


@dataclass(frozen=True)
class RepairLog:
    """The paths of logs, not of tables. Without a target, a log that is lost is written where it was."""

    source: str
    target: str | None = None


Other: TypeAlias = (
    DescribeLog
    | DescribeState
    | TruncateTimeTravel
    | DropPartitions
    | InvalidateCache
    | Checkpoint
    | RepairLog
)
"""Those that the driver runs by itself."""

Statement: TypeAlias = Other | Purge
