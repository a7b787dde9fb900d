"""The column-group store: which files hold which columns of a set of rows, and what has been deleted since."""

from indextables.columns.manifest import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)

__all__ = [
    "ColumnGroup",
    "ColumnGroupFile",
    "DeltaLog",
    "DeltaLogType",
    "Index",
    "LobFile",
    "Manifest",
    "Statistics",
]
