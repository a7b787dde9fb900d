"""Every error that IndexTables raises, grouped by what a handler would do about it.

    IndexTablesError
    ├── TableError                 the table is not what the caller expects
    │   ├── TableNotFoundError     there is no table: write one first, or check the path
    │   ├── TableExistsError       there is a table already: choose another mode
    │   ├── VersionNotFoundError   the version cannot be read: ask for another
    │   ├── CorruptTableError      bytes are damaged or missing: repair or restore
    │   │   └── IrregularFileError a link, pipe or device in place of a file (also a StorageError): put the file there
    │   ├── ProtocolError          written by a newer release: upgrade this package
    │   └── UnreadableSplitError   a merge cannot read one of its splits: leave that split out, and repair it
    ├── CommitError                a commit did not happen, or its outcome is unknown
    │   ├── CommitConflictError    another writer won and the change no longer applies: redo it
    │   └── CommitUnknownError     the store's answer was lost: look at the history before you redo it
    ├── InputError                 the caller's input is wrong: correct it
    │   ├── SchemaError            columns or types do not fit the table
    │   ├── PredicateError         a `where` that cannot be understood
    │   ├── QueryError             a search query that cannot be parsed or does not fit its column
    │   ├── CommandError           a SQL command that cannot be understood
    │   └── ConfigError            an unknown setting, or a value out of range
    ├── ForkedProcessError         a library's threads stayed in the parent: start processes with `spawn`
    └── StorageError               the store failed: try again, or look at credentials and network
        ├── ObjectNotFoundError    there is no object of that name
        ├── ObjectExistsError      there is an object of that name already
        ├── StorageDeniedError     the store refuses this caller: check credentials and permissions
        ├── StorageFullError       a disk or a quota is full: make room, or choose another disk
        └── UnsafeStoreError       the store ignores conditional creates: it cannot hold a table

Each class carries a stable `kind`, for logs and for callers in other languages. Kinds are added, never changed.
"""

from __future__ import annotations

from typing import ClassVar


class IndexTablesError(Exception):
    """The common base: `except IndexTablesError` catches everything this package raises on purpose."""

    kind: ClassVar[str] = "ERROR"


class TableError(IndexTablesError):
    """The table is not what the caller expects."""

    kind = "TABLE"


class TableNotFoundError(TableError):
    """There is no table at the path."""

    kind = "TABLE_NOT_FOUND"


class TableExistsError(TableError):
    """There is a table at the path already."""

    kind = "TABLE_EXISTS"


class VersionNotFoundError(TableError):
    """The table has no such version, or clean-up has deleted it."""

    kind = "VERSION_NOT_FOUND"


class CorruptTableError(TableError):
    """Bytes of the table are damaged or missing."""

    kind = "CORRUPT_TABLE"


class ProtocolError(TableError):
    """The table requires a newer release of this package."""

    kind = "PROTOCOL"


class UnreadableSplitError(TableError):
    """A merge cannot read the split at `path`, for the reason in `__cause__`.

    `others` has an error for each of its other splits that is known to be damaged.
    """

    kind = "UNREADABLE_SPLIT"

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path
        self.others: tuple[UnreadableSplitError, ...] = ()


class CommitError(IndexTablesError):
    """A commit did not happen, or its outcome is unknown."""

    kind = "COMMIT"


class CommitConflictError(CommitError):
    """Another writer committed first, and the change no longer applies.

    `by_file` says that files with rows to change are not what they were: the rows themselves may be. `only_moved` says
    that merges have moved the rows to other files and nothing else was in the way: the same change can be made again.
    """

    kind = "COMMIT_CONFLICT"
    by_file: bool = False
    only_moved: bool = False


class CommitUnknownError(CommitError):
    """The store's answer to a commit was lost: the version may exist or not."""

    kind = "COMMIT_UNKNOWN"


class InputError(IndexTablesError):
    """The caller's input is wrong."""

    kind = "INPUT"


class SchemaError(InputError):
    """Columns or types do not fit the table."""

    kind = "SCHEMA"


class PredicateError(InputError):
    """A condition cannot be parsed or does not fit the table."""

    kind = "PREDICATE"


class QueryError(InputError):
    """A search query that cannot be parsed, or that does not fit the column it is asked of.

    `position` is the 0-based character offset in the query where the error starts, if it has one.
    """

    kind = "QUERY"

    def __init__(self, message: str, *, column: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.position = position


class CommandError(InputError):
    """A SQL command that cannot be understood; `position` is the 0-based offset in it where the error starts."""

    kind = "COMMAND"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class ConfigError(InputError):
    """A setting is unknown, or its value is out of range."""

    kind = "CONFIG"


class ForkedProcessError(IndexTablesError):
    """A library's threads stayed in the parent of a forked process."""

    kind = "FORKED_PROCESS"


class StorageError(IndexTablesError):
    """The store failed."""

    kind = "STORAGE"


class ObjectNotFoundError(StorageError):
    """There is no object of that name in the store."""

    kind = "OBJECT_NOT_FOUND"


class ObjectExistsError(StorageError):
    """There is an object of that name in the store already."""

    kind = "OBJECT_EXISTS"


class StorageDeniedError(StorageError):
    """The store refuses this caller."""

    kind = "STORAGE_DENIED"


class StorageFullError(StorageError):
    """A disk or a quota is full."""

    kind = "STORAGE_FULL"


class IrregularFileError(CorruptTableError, StorageError):
    """A link, pipe or device is in the place of a file."""

    kind = "IRREGULAR_FILE"


class UnsafeStoreError(StorageError):
    """The store ignores conditional creates, so it cannot hold a table."""

    kind = "UNSAFE_STORE"
