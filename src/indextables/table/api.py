"""The functions with which a program starts: open a table, and write one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.log import load_snapshot
from indextables.schema import TableSchema
from indextables.storage import open_store
from indextables.table.arguments import to_millis, to_names, to_settings, to_uri, to_version
from indextables.table.handle import Table
from indextables.table.write import parse_mode, plan_write, publish_write, run_write_task


def open_table(
    path: str | PathLike[str],
    *,
    version: int | None = None,
    as_of: str | datetime | None = None,
    settings: Mapping[str, str] | Settings | None = None,
) -> Table:
    """Open a table at its newest version, at `version`, or as it was at the time `as_of`.

    `as_of` is a datetime or ISO text, in UTC unless it has an offset. Raises TableNotFoundError if there is no table at
    `path`, and VersionNotFoundError for a version that the table does not have.

    >>> import indextables as it, pyarrow as pa
    >>> for n in (1, 2):
    ...     _ = it.write("memory://doc-open", pa.table({"n": [n]}))
    >>> it.open("memory://doc-open").count(), it.open("memory://doc-open", version=0).count()
    (2, 1)
    """
    if version is not None and as_of is not None:
        raise InputError("version and as_of exclude each other; give one of them")
    uri, checked = to_uri(path), to_settings(settings)
    snapshot = load_snapshot(
        open_store(uri, checked),
        None if version is None else to_version(version, "version"),
        as_of_ms=None if as_of is None else to_millis(as_of, "as_of"),
        settings=checked,
    )
    return Table(uri, snapshot, checked)


def write_table(
    path: str | PathLike[str],
    data: Any,
    *,
    mode: str = "append",
    partition_by: Sequence[str] | None = None,
    text: Sequence[str] = (),
    settings: Mapping[str, str] | Settings | None = None,
    txn: tuple[str, int] | None = None,
) -> int:
    """Write Arrow data and return the version that holds it. The table is created if there is none.

    - `data`: a pyarrow Table, RecordBatch or RecordBatchReader, or an object with Arrow's C stream interface, such as a
      Polars, DuckDB or pandas frame.
    - `mode`: `append`, `overwrite`, `error` (fail if the table exists) or `ignore` (do nothing if it exists).
    - `partition_by`: the columns whose values name the partitions, when the table is created or overwritten.
    - `text`: the string columns to split into words for full-text search.
    - `txn`: the name of an application and the number of this write in it. A write that the table already has, or a
      later one of the same application, is not made again.

    If a partition then has many small splits, they are merged in the background (see `Table.merge_jobs`).

    >>> import indextables as it, pyarrow as pa
    >>> rows = pa.table({"day": ["mon", "tue"], "message": ["disk full", "login ok"]})
    >>> it.write("memory://doc-write", rows, partition_by=["day"], text=["message"])
    0
    >>> it.write("memory://doc-write", rows, txn=("loader", 7)), it.write("memory://doc-write", rows, txn=("loader", 7))
    (1, 1)
    """
    from indextables.maintenance import UpkeepPolicy, running_write, start_upkeep

    uri, write_mode = to_uri(path), parse_mode(mode)
    typemap = {f"{keys.TYPEMAP.prefix}{name}": "text" for name in to_names(text, "text")}
    checked = Settings(dict(to_settings(settings)) | typemap)
    schema, batches = _stream(data)
    partitions = None if partition_by is None else to_names(partition_by, "partition_by")
    upkeep = UpkeepPolicy.of(checked)
    with running_write(uri):
        plan = plan_write(uri, schema, mode=write_mode, partition_by=partitions, settings=checked, txn=txn)
        if plan is None:
            return open_table(uri, settings=settings).version
        done = publish_write(plan, [run_write_task(plan, batches)])
    if done is None:
        assert plan.base_version is not None
        return plan.base_version
    start_upkeep(done.snapshot, plan.base_version, Settings(plan.options), upkeep)
    return done.version


def _stream(data: Any) -> tuple[TableSchema, Iterable[pa.RecordBatch]]:
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return TableSchema.from_arrow(data.schema), data.to_batches(max_chunksize=65536)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return TableSchema.from_arrow(reader.schema), reader
    raise InputError(
        f"cannot write a {type(data).__name__}; give a pyarrow Table, RecordBatch or RecordBatchReader, "
        "or an object with __arrow_c_stream__ such as a Polars or pandas DataFrame"
    )
