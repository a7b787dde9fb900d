"""A dataset of column groups for Python callers: opening one version, reading its rows, writing more."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.columns.arguments import expect
from indextables.columns.dataset_schema import dataset_schema
from indextables.columns.manifest import Manifest
from indextables.columns.policies import SINGLE, AsStored, Policy
from indextables.columns.reader import Reader
from indextables.columns.save_modes import Mode, commit_groups
from indextables.columns.stored_files import Files, as_settings
from indextables.columns.version_files import LATEST, check_place, find, read_manifest, store_at
from indextables.columns.writer import Writer
from indextables.config import Settings
from indextables.errors import InputError, TableExistsError, TableNotFoundError
from indextables.predicates import Predicate
from indextables.runtime import lazy_property
from indextables.storage import table_uri

Rows: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch]


class Dataset:
    """One version of a dataset. It never changes under the caller; open it again to see more.

    >>> write("memory:doc-dataset", pa.table({"id": [1, 2, 3], "vector": [[0.1], [0.2], [0.3]]}))
    1
    >>> dataset = open_dataset("memory:doc-dataset")
    >>> dataset.to_arrow(columns=["id"], where="id > 1").column("id").to_pylist()
    [2, 3]
    """

    def __init__(
        self, uri: str, version: int, manifest: Manifest, schema: pa.Schema | None, settings: Settings
    ) -> None:
        self.uri = uri
        self.version = version
        self.manifest = manifest
        self._schema = schema
        self._settings = settings

    @lazy_property
    def schema(self) -> pa.Schema:
        if self._schema is not None:
            return self._schema
        return dataset_schema(self.manifest, Files(self._settings))

    @property
    def num_rows(self) -> int:
        """The number of rows that are stored, including deleted ones."""
        return self._plain.num_rows

    @lazy_property
    def _plain(self) -> Reader:
        return self.reader()

    def reader(
        self,
        columns: Sequence[str] | None = None,
        *,
        apply_deltas: bool = False,
        primary_key: str | Sequence[str] | None = None,
    ) -> Reader:
        """Return a `Reader` of this version, with the schema of the dataset."""
        return Reader(
            self.manifest,
            self.schema,
            base=self.uri,
            columns=columns,
            apply_deltas=apply_deltas,
            primary_key=primary_key,
            settings=self._settings,
        )

    def scan(
        self,
        where: Predicate | str | None = None,
        *,
        columns: Sequence[str] | None = None,
        apply_deltas: bool = False,
    ) -> pa.RecordBatchReader:
        """Return the rows that satisfy `where`, as a stream."""
        return self._reading(apply_deltas).scan(where, columns=columns)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Predicate | str | None = None,
        apply_deltas: bool = False,
    ) -> pa.Table:
        """Return the rows that satisfy `where`, all at once."""
        return self._reading(apply_deltas).to_table(where, columns=columns)

    def take(
        self,
        indices: Sequence[int] | npt.NDArray[np.int64] | pa.Array,
        columns: Sequence[str] | None = None,
        *,
        parallelism: int = 1,
        apply_deltas: bool = False,
    ) -> pa.Table:
        """Return the rows at these positions, in this order."""
        return self._reading(apply_deltas).take(indices, columns, parallelism=parallelism)

    def _reading(self, apply_deltas: bool) -> Reader:
        return self.reader(apply_deltas=True) if apply_deltas else self._plain

    def __repr__(self) -> str:
        return f"Dataset({self.uri!r}, version={self.version})"


def open_dataset(
    path: str | os.PathLike[str],
    version: int | None = None,
    *,
    schema: pa.Schema | None = None,
    settings: Settings | Mapping[str, str] | None = None,
) -> Dataset:
    """Open the dataset at `path`, at its newest version or the one given.

    With a `schema`, columns that the dataset does not have are null. Without, the files determine the types.

    >>> open_dataset("memory:doc-no-dataset")
    Traceback (most recent call last):
        ...
    indextables.errors.TableNotFoundError: there is no dataset of column groups at memory://doc-no-dataset
    """
    expect(schema, (pa.Schema, NoneType), "schema", "a pyarrow.Schema")
    read_settings = as_settings(settings)
    uri = table_uri(check_place(path))
    number = find(store_at(uri, read_settings), LATEST if version is None else version)
    if number == 0:
        raise TableNotFoundError(f"there is no dataset of column groups at {uri}")
    return Dataset(uri, number, read_manifest(uri, number, read_settings), schema, read_settings)


def write(
    path: str | os.PathLike[str],
    rows: Rows,
    *,
    mode: Mode = "append",
    policy: Policy | None = None,
    settings: Settings | Mapping[str, str] | None = None,
    **options: Any,
) -> int:
    """Write rows to a dataset, created if there is none; return the version that has them.

    Appended rows go into the existing column groups; `policy` is for a new dataset. Further options are `Writer`'s.

    >>> rows = pa.table({"id": [1, 2]})
    >>> write("memory:doc-columns-write", rows), write("memory:doc-columns-write", rows)
    (1, 2)
    """
    if not isinstance(mode, str) or mode not in get_args(Mode):
        raise InputError(f"mode is {mode!r}; it takes {', '.join(get_args(Mode))}")
    write_settings = as_settings(settings)
    uri = table_uri(check_place(path))
    stored = read_manifest(uri, settings=write_settings)
    version = find(store_at(uri, write_settings), LATEST)
    if version and mode == "ignore":
        return version
    if version and mode == "error":
        raise TableExistsError(f"a dataset exists at {uri}; choose mode append or overwrite")
    schema, batches = _schema_and_batches(rows)
    if mode == "append" and stored.column_groups and policy is None:
        policy, schema = (
            AsStored(stored.column_groups),
            open_dataset(uri, version, settings=write_settings).schema,
        )
    with Writer(uri, schema, policy=policy or SINGLE, settings=write_settings, **options) as writer:
        for batch in batches:
            writer.write(batch)
        groups = writer.close()
    return commit_groups(uri, groups, schema, mode=mode, settings=write_settings)


def _schema_and_batches(rows: Rows) -> tuple[pa.Schema, Iterator[pa.Table | pa.RecordBatch]]:
    if isinstance(rows, pa.Table | pa.RecordBatch):
        return rows.schema, iter([rows])
    if isinstance(rows, pa.RecordBatchReader):
        return rows.schema, iter(rows)
    kinds = "a pyarrow.Table, RecordBatch or RecordBatchReader, or record batches"
    expect(rows, Iterable, "rows", kinds)
    batches = iter(rows)
    first = next(batches, None)
    expect(first, (pa.RecordBatch, pa.Table, NoneType), "a batch of rows", kinds)
    if first is None:
        raise InputError(
            "rows has no batches, so the columns are unknown; give a table or a RecordBatchReader"
        )
    return first.schema, itertools.chain([first], batches)
