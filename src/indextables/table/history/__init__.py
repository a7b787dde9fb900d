"""The log as a caller sees it: versions, live files, changes and the rows of changes."""

from indextables.table.history.change_feed import (
    CHANGE_TYPE,
    FEED_FIELDS,
    FeedTask,
    FileChange,
    changes_of,
    check_feed,
    feed_schema,
    feed_task,
    file_changes,
    insertion,
    run_feed_task,
)
from indextables.table.history.changeset import ChangeSet, Since, changes
from indextables.table.history.listing import files_table, history_table, with_column_names
from indextables.table.history.past_columns import PastColumns, PastTable

__all__ = [
    "CHANGE_TYPE",
    "FEED_FIELDS",
    "ChangeSet",
    "FeedTask",
    "FileChange",
    "PastColumns",
    "PastTable",
    "Since",
    "changes",
    "changes_of",
    "check_feed",
    "feed_schema",
    "feed_task",
    "file_changes",
    "files_table",
    "history_table",
    "insertion",
    "run_feed_task",
    "with_column_names",
]
