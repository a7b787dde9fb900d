"""Writing rows as column groups: files in the dataset's directory, and the entries that a manifest will have of them.

Nothing is part of the dataset until a transaction commits the groups that `close` returns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import NoneType, TracebackType
from typing import Final, Self, get_args

import pyarrow as pa

from indextables.columns.arguments import expect
from indextables.columns.conformance import conform_table
from indextables.columns.file_formats import FORMATS, WriteOptions, unknown_format
from indextables.columns.group_writer import GroupWriter, Target
from indextables.columns.manifest import ColumnGroup
from indextables.columns.policies import SINGLE, Policy, SizeBased, plan_groups
from indextables.columns.stored_files import as_settings
from indextables.config import Settings
from indextables.errors import InputError, SchemaError
from indextables.storage import SCRATCH_ADVICE, ScratchDirectory, disk_errors, open_store, table_uri

_COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")


class Writer:
    """Stores rows below `path`; `close` returns the groups of files that hold them.

    >>> rows = pa.table({"id": [1, 2], "text": ["a", "b"]})
    >>> with Writer("memory:doc-columns-writer", rows.schema) as writer:
    ...     writer.write(rows)
    ...     groups = writer.close()
    >>> groups[0].columns, groups[0].num_rows
    (('id', 'text'), 2)

    A row group takes about `row_group_bytes` in memory: by default 1 MiB, and more where a group has so many columns
    that each would have less than 64 KiB of it. Files are closed at `rolling_bytes`, and no row group is larger.

    `dictionary` says whether values are stored once in each row group and numbered: True for all columns, False for
    none, None for those whose values repeat often enough in the first row group of a file.

    A column is compressed where that saves a quarter of its bytes, and numbers are stored as deltas where those are as
    small. The first rows of a file decide. With `dictionary=True` no column is stored as deltas.

    Memory holds about a row group for each column group, however many rows are written. If a call fails, or an error
    leaves the `with` block, the writer deletes what it stored and cannot be used again.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        policy: Policy = SINGLE,
        format: str = "parquet",  # noqa: A002 - the manifest's word
        compression: str = "zstd",
        compression_level: int | None = 3,
        dictionary: bool | None = None,
        row_group_bytes: int | None = None,
        rolling_bytes: int = 2 << 30,
        settings: Settings | Mapping[str, str] | None = None,
    ) -> None:
        expect(schema, pa.Schema, "schema", "a pyarrow.Schema")
        expect(
            policy, get_args(Policy), "policy", "Single(), SchemaBased(...), SizeBased(...) or AsStored(...)"
        )
        if not schema.names or len(set(schema.names)) != len(schema.names):
            raise SchemaError("schema must have at least one column, and column names must be unique")
        if format not in FORMATS:
            raise unknown_format(format)
        self._base = table_uri(path)
        self._schema = schema
        self._policy = policy
        self._format = format
        self._options = _check(
            WriteOptions(
                compression=compression,
                compression_level=compression_level,
                dictionary=dictionary,
                row_group_bytes=row_group_bytes,
                rolling_bytes=rolling_bytes,
            )
        )
        write_settings = as_settings(settings)
        self._store = open_store(self._base, write_settings)
        self._directory = ScratchDirectory(write_settings)
        self._groups: list[GroupWriter] | None = None
        self._finished: tuple[ColumnGroup, ...] | None = None
        self._failed = False
        if not isinstance(policy, SizeBased):
            try:
                self._plan(None)  # so that a mistake shows before the first row does
            except BaseException:
                self._directory.cleanup()
                raise

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Take in rows. Columns may come in any order, in any type that fits the schema's without loss."""
        self._check_open()
        try:
            with self._disk_errors():
                for batch in conform_table(rows, self._schema, "the rows").to_batches():
                    if batch.num_rows:
                        for group in self._plan(batch):
                            group.add(batch.select(list(group.plan.columns)))
        except BaseException:
            self.abort()
            raise

    def flush(self) -> None:
        """Write the rows in memory as row groups. The store gets them when their file is full, or at the end."""
        self._check_open()
        try:
            with self._disk_errors():
                for group in self._groups or []:
                    group.flush()
        except BaseException:
            self.abort()
            raise

    def close(self) -> tuple[ColumnGroup, ...]:
        """Store the remaining rows; return the groups for `Transaction.append_files`. Their paths are below `path`.

        Groups of no rows have no files.
        """
        if self._finished is None:
            self._check_open()
            try:
                with self._disk_errors():
                    self._finished = tuple(group.finish() for group in self._plan(None))
            except BaseException:
                self.abort()
                raise
            self._directory.cleanup()
        return self._finished

    def abort(self) -> None:
        """Delete what was stored. Do not call it once the groups are committed."""
        self._failed, self._finished = True, None
        for group in self._groups or []:
            group.abort()
        self._directory.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._finished is None and not self._failed:
            if kind is None:
                self.close()
            else:
                self.abort()

    def _plan(self, first_rows: pa.RecordBatch | None) -> list[GroupWriter]:
        if self._groups is None:
            plans = plan_groups(self._policy, self._schema, self._format, first_rows)
            target = Target(self._base, self._store, self._directory.path, self._schema, self._options)
            self._groups = [GroupWriter(number, plan, target) for number, plan in enumerate(plans)]
        return self._groups

    def _disk_errors(self) -> AbstractContextManager[None]:
        return disk_errors("write column groups in", str(self._directory.path), SCRATCH_ADVICE)

    def _check_open(self) -> None:
        if self._failed:
            raise InputError("this writer has failed or was aborted; write the rows with a new one")
        if self._finished is not None:
            raise InputError("this writer is closed; write further rows with a new one")


def _check(options: WriteOptions) -> WriteOptions:
    expect(options.compression, str, "compression", ", ".join(_COMPRESSIONS))
    expect(options.compression_level, (int, NoneType), "compression_level", "an int or None")
    expect(options.dictionary, (bool, NoneType), "dictionary", "True, False or None")
    expect(options.row_group_bytes, (int, NoneType), "row_group_bytes", "a number of bytes or None")
    expect(options.rolling_bytes, int, "rolling_bytes", "a number of bytes")
    if (options.row_group_bytes is not None and options.row_group_bytes < 1) or options.rolling_bytes < 1:
        raise InputError(
            f"row_group_bytes is {options.row_group_bytes} and rolling_bytes is {options.rolling_bytes}; "
            f"both take 1 or more"
        )
    if options.compression not in _COMPRESSIONS:
        raise InputError(f"compression is {options.compression!r}; it takes {', '.join(_COMPRESSIONS)}")
    return options
