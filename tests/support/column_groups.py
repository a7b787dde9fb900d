"""Column groups, and updates of them, in one line each."""

from __future__ import annotations

from indextables.columns import ColumnGroup, ColumnGroupFile
from indextables.columns.updates import Updates


def group(columns: str, *files: tuple[str, int], kind: str = "parquet") -> ColumnGroup:
    """`group("a b", ("f1", 10))`: columns a and b, in one file of ten rows."""
    return ColumnGroup(
        tuple(columns.split()), kind, tuple(ColumnGroupFile(path, 0, rows) for path, rows in files)
    )


def append(*groups: ColumnGroup) -> Updates:
    return Updates(appended_files=(groups,))


def add(*groups: ColumnGroup) -> Updates:
    return Updates(added_column_groups=groups)
