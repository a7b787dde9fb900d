"""The save modes append, overwrite, error and ignore: how written files become a version, on top of transactions."""

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
    """Make the files of these groups part of the dataset; return the version that has them.

    If the commit failed for certain, the files are deleted. An append of no rows to a dataset makes no version.
    """
    try:
        try:
            return _commit(uri, groups, schema, mode, settings)
        except CommitConflictError:
            # Another writer may have created the dataset after this one found none. With the schema of a new dataset
            # the first commit then conflicts; the second reads the other writer's version, and appends to it.
            if mode != "append":
                raise
            return _commit(uri, groups, schema, mode, settings)
    except CommitUnknownError:
        raise
    except IndexTablesError:
        delete_files(uri, groups, settings)
        raise


def delete_files(uri: str, groups: Sequence[ColumnGroup], settings: Settings) -> None:
    """Delete the files of a write that is certainly not committed."""
    store = open_store(uri, settings)
    for group in groups:
        for file in group.files:
            store.delete(file.path.removeprefix(f"{store.uri}/"))


def _commit(
    uri: str, groups: Sequence[ColumnGroup], schema: pa.Schema, mode: Mode, settings: Settings
) -> int:
    with Transaction.open(uri, resolver=_RESOLVERS[mode], settings=settings) as transaction:
        read = transaction.read_version
        if read and mode == "ignore":
            delete_files(uri, groups, settings)
            return read
        if read and mode == "error":
            raise TableExistsError(f"a dataset exists at {uri}; choose mode append or overwrite")
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
                raise TableExistsError(
                    f"another writer has created a dataset at {uri} at the same time; choose mode append or overwrite"
                ) from reason
            raise


def _replace(_read: Manifest, _seen: Manifest, updates: Updates, /) -> Manifest:
    """Replace everything, including delta logs and statistics, which describe the old rows."""
    return apply(Manifest(), updates)


_RESOLVERS: Final[Mapping[Mode, Resolver]] = {
    "append": merge,
    "overwrite": _replace,
    "error": fail,
    "ignore": fail,
}
