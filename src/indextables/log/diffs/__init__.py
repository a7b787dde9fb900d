"""Diffs: what changed between two versions.

Read the modules in this order:

- `changeset`: the files that were added and removed, and where the new rows are, from values alone;
- `diff`: the same between two versions of a stored table, from what clean-up has left of the log;
- `version_range`: the versions themselves, one after the other.
"""

from indextables.log.diffs.changeset import FileChangeset, changeset_of_snapshots, changeset_of_versions
from indextables.log.diffs.diff import BEGINNING, diff_versions, files_added_since, version_at
from indextables.log.diffs.version_range import first_version, read_range

__all__ = [
    "BEGINNING",
    "FileChangeset",
    "changeset_of_snapshots",
    "changeset_of_versions",
    "diff_versions",
    "files_added_since",
    "first_version",
    "read_range",
    "version_at",
]
