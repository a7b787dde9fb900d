"""The log as a caller sees it: versions, live files, changes and the rows of changes."""

from indextables.table.history.changeset import ChangeSet, Since, changes
from indextables.table.history.listing import files_table, history_table, with_column_names

__all__ = [
    "ChangeSet",
    "Since",
    "changes",
    "files_table",
    "history_table",
    "with_column_names",
]
