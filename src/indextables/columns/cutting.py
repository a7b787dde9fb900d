"""A part of the rows of a column group, as a group of its own."""

from __future__ import annotations

from dataclasses import replace

from indextables.columns.manifest import ColumnGroup, ColumnGroupFile


def cut(group: ColumnGroup, start: int, stop: int) -> ColumnGroup:
    """The rows from `start` (included) to `stop` (excluded): only the files that have some, only those rows of them.

    >>> group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a", 5, 15), ColumnGroupFile("b", 0, 10)))
    >>> [(file.path, file.start_index, file.end_index) for file in cut(group, 8, 12).files]
    [('a', 13, 15), ('b', 0, 2)]
    """
    files: list[ColumnGroupFile] = []
    at = 0
    for file in group.files:
        rows = file.end_index - file.start_index
        low, high = max(start - at, 0), min(stop - at, rows)
        if low < high:
            files.append(replace(file, start_index=file.start_index + low, end_index=file.start_index + high))
        at += rows
    return replace(group, files=tuple(files))
