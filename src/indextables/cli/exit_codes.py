"""The exit code of each kind of error. Codes are added, never changed."""

from __future__ import annotations

from typing import Final

from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    IndexTablesError,
    InputError,
    ProtocolError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnreadableSplitError,
    VersionNotFoundError,
)

DONE: Final = 0
NOTHING_FOUND: Final = 1
USAGE: Final = 2
NO_TABLE: Final = 3
CONFLICT: Final = 4
DAMAGED: Final = 5
STORAGE: Final = 6
UNKNOWN: Final = 7
INTERNAL: Final = 70
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_BY_KIND: Final[tuple[tuple[type[IndexTablesError], int], ...]] = (
    (InputError, USAGE),
    (TableExistsError, USAGE),
    (TableNotFoundError, NO_TABLE),
    (VersionNotFoundError, NO_TABLE),
    (CommitConflictError, CONFLICT),
    (CommitUnknownError, UNKNOWN),
    (CorruptTableError, DAMAGED),  # before StorageError: an irregular file is both
    (ProtocolError, DAMAGED),
    (UnreadableSplitError, DAMAGED),
    (StorageError, STORAGE),
)


def exit_code(error: IndexTablesError) -> int:
    """Return the exit code of an error.

    >>> from indextables.errors import QueryError
    >>> exit_code(QueryError("unclosed parenthesis")), exit_code(TableNotFoundError("no table"))
    (2, 3)
    """
    return next((code for kind, code in _BY_KIND if isinstance(error, kind)), INTERNAL)
