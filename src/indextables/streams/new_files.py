"""What a version means to a stream: the files with new rows, or an error. Pure: no I/O.

A merge moves rows and adds none. A version that removes rows is an error unless the stream ignores it, since rows that
were already read cannot be taken back.
"""

from __future__ import annotations

from indextables.errors import TableError
from indextables.log import AddFile, RemoveFile, split_key
from indextables.log.versions import VersionActions
from indextables.streams.options import StreamOptions


def new_files(uri: str, version: VersionActions, options: StreamOptions) -> list[tuple[str, AddFile]]:
    """Return the files that a version adds with new rows, with their keys, in the order of the log.

    A file that is removed and added again in one version has lost rows, if its delta log is another one, and has no
    new ones.

    >>> version = VersionActions(5, [AddFile("a", {}, 1), AddFile("merged", {}, 1, data_change=False)])
    >>> [key for key, _ in new_files("memory://t", version, StreamOptions())]
    ['a']
    """
    removes = {split_key(a.path, uri): a for a in version.actions if isinstance(a, RemoveFile)}
    adds = {split_key(a.path, uri): a for a in version.actions if isinstance(a, AddFile)}
    removed = {key for key, action in removes.items() if action.data_change}
    removed |= {key for key in removes.keys() & adds.keys() if removes[key].delta_log != adds[key].delta_log}
    new = [(key, file) for key, file in adds.items() if file.data_change and key not in removes]
    if not removed:
        return new
    if options.skip_change_commits:
        return []
    if new:
        raise TableError(
            f"version {version.version} of {uri} ({_operation(version)}) replaces rows that the stream may have read; "
            "start it with skipChangeCommits=true to pass over such versions, or with a new checkpointLocation to read "
            "the table from the beginning"
        )
    if options.ignore_deletes:
        return []
    raise TableError(
        f"version {version.version} of {uri} ({_operation(version)}) removes rows that the stream may have read; start "
        f"it with ignoreDeletes=true to pass over such versions, or with a new checkpointLocation to read the table "
        "from the beginning"
    )


def _operation(version: VersionActions) -> str:
    info = version.commit_info
    return "an unknown operation" if info is None or info.operation is None else info.operation
