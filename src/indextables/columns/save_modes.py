"""From written files to a version: the save modes of Spark and Python callers, on top of transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import pyarrow as pa

from indextables.columns.dataset_schema import SCHEMA_STAT, store_schema
from indextables.columns.manifest import ColumnGroup, Manifest
from indextables.columns.resolvers import Resolver, fail, merge
from indextables.columns.transaction import Transaction
from indextables.columns.updates import Updates, apply
from indextables.config import Settings
from indextables.errors import CommitConflictError, CommitUnknownError, IndexTablesError, TableExistsError
from indextables.storage import open_store

Mode = Literal["append", "overwrite", "error", "ignore"]


def commit_groups(
    uri: str, groups: Sequence[ColumnGroup], schema: pa.Schema, *, mode: Mode, settings: Settings
) -> int:
    """Make the files of these groups part of the dataset; the version that has them.

    Where that fails for certain the files are deleted. An append of no rows to a dataset makes no version.
    """
    try:
        try:
            return _commit(uri, groups, schema, mode, settings)
        except CommitConflictError:
            # Somebody may have made the dataset that was to be made: then this is an append to theirs.
            if mode != "append":
                raise
            return _commit(uri, groups, schema, mode, settings)
    except CommitUnknownError:
        raise
    except IndexTablesError:
        delete_files(uri, groups, settings)
        raise


def delete_files(uri: str, groups: Sequence[ColumnGroup], settings: Settings) -> None:
    """Of a write that certainly is not committed."""
    store = open_store(uri, settings)
    for group in groups:
        for file in group.files:
            store.delete(file.path.removeprefix(f"{store.uri}/"))


def _commit(
    uri: str, groups: Sequence[ColumnGroup], schema: pa.Schema, mode: Mode, settings: Settings
) -> int:
    with Transaction.open(uri, resolver=_RESOLVERS[mode], options=dict(settings)) as transaction:
        read = transaction.read_version
        if read and mode == "ignore":
            delete_files(uri, groups, settings)
            return read
        if read and mode == "error":
            raise TableExistsError(f"there is a dataset at {uri} already; choose mode append or overwrite")
        has_groups = bool(transaction.get_manifest().column_groups)
        if mode == "append" and has_groups and not any(group.files for group in groups):
            return read
        transaction.append_files(groups)
        if not has_groups or mode == "overwrite":
            noted = store_schema(open_store(uri, settings), schema, groups)
            transaction.update_stat(SCHEMA_STAT, noted.paths, noted.metadata)
        try:
            return transaction.commit()
        except CommitConflictError as reason:
            if mode == "error":
                raise TableExistsError(f"another writer has made a dataset at {uri} meanwhile") from reason
            raise


def _replace(_read: Manifest, _seen: Manifest, updates: Updates, /) -> Manifest:
    """Nothing of what was there stays, delta logs and statistics included: they were of other rows."""
    return apply(Manifest(), updates)


_RESOLVERS: Final[Mapping[Mode, Resolver]] = {
    "append": merge,
    "overwrite": _replace,
    "error": fail,
    "ignore": fail,
}
