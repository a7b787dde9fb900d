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
from indextables.columns.resolvers import Resolver
from indextables.columns.transaction import Transaction
from indextables.columns.updates import Updates
from indextables.columns.version_files import LATEST, latest_version, read_manifest, versions

__all__ = [
    "LATEST",
    "ColumnGroup",
    "ColumnGroupFile",
    "DeltaLog",
    "DeltaLogType",
    "Index",
    "LobFile",
    "Manifest",
    "Resolver",
    "Statistics",
    "Transaction",
    "Updates",
    "latest_version",
    "read_manifest",
    "versions",
]
