"""The column-group store: which files hold which columns of a set of rows, and what has been deleted since."""

from indextables.columns.chunk_reader import ChunkMetadata, ChunkReader
from indextables.columns.dataset import Dataset, open_dataset, write
from indextables.columns.deltas import decode_positions, encode_positions, write_delta
from indextables.columns.external import adopt, external_group
from indextables.columns.file_formats import PARQUET
from indextables.columns.keysets import KeySet
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
from indextables.columns.policies import AsStored, Policy, SchemaBased, Single, SizeBased, plan_groups
from indextables.columns.reader import Reader
from indextables.columns.resolvers import Resolver
from indextables.columns.save_modes import commit_groups, delete_files
from indextables.columns.stored_files import FILE_SIZE
from indextables.columns.transaction import Transaction
from indextables.columns.updates import Updates
from indextables.columns.version_files import LATEST, latest_version, read_manifest, versions
from indextables.columns.writer import Writer

open = open_dataset  # noqa: A001 - columns.open(path) is the word for it
"""Not in `__all__`: `from indextables.columns import *` leaves Python's own `open` alone."""

__all__ = [
    "FILE_SIZE",
    "LATEST",
    "PARQUET",
    "AsStored",
    "ChunkMetadata",
    "ChunkReader",
    "ColumnGroup",
    "ColumnGroupFile",
    "Dataset",
    "DeltaLog",
    "DeltaLogType",
    "Index",
    "KeySet",
    "LobFile",
    "Manifest",
    "Policy",
    "Reader",
    "Resolver",
    "SchemaBased",
    "Single",
    "SizeBased",
    "Statistics",
    "Transaction",
    "Updates",
    "Writer",
    "adopt",
    "commit_groups",
    "decode_positions",
    "delete_files",
    "encode_positions",
    "external_group",
    "latest_version",
    "open_dataset",
    "plan_groups",
    "read_manifest",
    "versions",
    "write",
    "write_delta",
]
