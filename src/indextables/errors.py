"""Every error that IndexTables raises, grouped by what a handler would do about it.

    IndexTablesError
    ├── TableError                 the table is not what the caller thought
    │   ├── TableNotFoundError     nothing there yet: write first, or mend the path
    │   ├── TableExistsError       something there already: choose another mode
    │   ├── VersionNotFoundError   that version cannot be read: ask for another
    │   ├── CorruptTableError      bytes are damaged or missing: repair or restore
    │   │   └── IrregularFileError a link, pipe or device in place of a file (also a StorageError): put the file there
    │   └── ProtocolError          written by a newer release: upgrade this package
    ├── CommitError                a commit did not happen, or cannot be known to have happened
    │   ├── CommitConflictError    somebody else won and the change no longer applies: redo it
    │   └── CommitUnknownError     the store never said: look at the history before you redo it
    ├── InputError                 the caller's input is wrong: mend it
    │   ├── SchemaError            columns or types do not fit the table
    │   ├── PredicateError         a `where` that cannot be understood
    │   ├── QueryError             a search query that cannot be parsed or does not fit its column
    │   ├── CommandError           a SQL command that cannot be understood
    │   └── ConfigError            an unknown setting, or a value out of range
    ├── ForkedProcessError         a library's threads stayed in the parent: start processes with `spawn`
    └── StorageError               the store failed: try again, or look at credentials and network
        ├── ObjectNotFoundError
        ├── ObjectExistsError
        ├── StorageDeniedError     the store refuses this caller: mend credentials or permissions
        ├── StorageFullError       a disk or a quota is full: make room, or choose another disk
        └── UnsafeStoreError       the store ignores conditional creates: it cannot hold a table

Each class carries a stable `kind`, for logs and for callers in other languages. Kinds are only ever added.
"""

from __future__ import annotations

from typing import ClassVar


class IndexTablesError(Exception):
    """The common base: `except IndexTablesError` catches everything this package raises on purpose."""

    kind: ClassVar[str] = "ERROR"


class TableError(IndexTablesError):
    kind = "TABLE"


class TableNotFoundError(TableError):
    kind = "TABLE_NOT_FOUND"


class TableExistsError(TableError):
    kind = "TABLE_EXISTS"


class VersionNotFoundError(TableError):
    kind = "VERSION_NOT_FOUND"


class CorruptTableError(TableError):
    kind = "CORRUPT_TABLE"


class ProtocolError(TableError):
    kind = "PROTOCOL"


class CommitError(IndexTablesError):
    kind = "COMMIT"


class CommitConflictError(CommitError):
    kind = "COMMIT_CONFLICT"


class CommitUnknownError(CommitError):
    kind = "COMMIT_UNKNOWN"


class InputError(IndexTablesError):
    kind = "INPUT"


class SchemaError(InputError):
    kind = "SCHEMA"


class PredicateError(InputError):
    kind = "PREDICATE"


class QueryError(InputError):
    """A search query that cannot be parsed, or that does not fit the column it is asked of.

    `position` is the 0-based character offset in the query where the trouble starts, when it has one.
    """

    kind = "QUERY"

    def __init__(self, message: str, *, column: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.position = position


class CommandError(InputError):
    """A SQL command that cannot be understood; `position` is the 0-based offset in it where the trouble starts."""

    kind = "COMMAND"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class ConfigError(InputError):
    kind = "CONFIG"


class ForkedProcessError(IndexTablesError):
    kind = "FORKED_PROCESS"


class StorageError(IndexTablesError):
    kind = "STORAGE"


class ObjectNotFoundError(StorageError):
    kind = "OBJECT_NOT_FOUND"


class ObjectExistsError(StorageError):
    kind = "OBJECT_EXISTS"


class StorageDeniedError(StorageError):
    kind = "STORAGE_DENIED"


class StorageFullError(StorageError):
    kind = "STORAGE_FULL"


class IrregularFileError(CorruptTableError, StorageError):
    kind = "IRREGULAR_FILE"


class UnsafeStoreError(StorageError):
    kind = "UNSAFE_STORE"
