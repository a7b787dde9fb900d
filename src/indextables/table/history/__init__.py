"""The log as a caller sees it: versions, live files, changes and the rows of changes."""

from indextables.table.history.changeset import ChangeSet, Since, changes
from indextables.table.history.listing import files_table, history_table, with_column_names
from indextables.table.history.version_differences import FileDifference, file_differences, row_differences

__all__ = [
    "ChangeSet",
    "FileDifference",
    "Since",
    "changes",
    "file_differences",
    "files_table",
    "history_table",
    "row_differences",
    "with_column_names",
]
