"""The functions with which a program starts: open a table, and write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.log import load_snapshot
from indextables.predicates import QueryLimits, parse_where
from indextables.progress import Progress, shown_progress
from indextables.storage import open_store
from indextables.table.arguments import (
    check_condition,
    check_flag,
    to_millis,
    to_names,
    to_settings,
    to_uri,
    to_version,
)
from indextables.table.handle import Table
from indextables.table.writes import (
    Replacement,
    arrow_stream,
    find_snapshot,
    parse_mode,
    plan_write,
    publish_write,
    write_rows,
)


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
    text: Sequence[str] | Mapping[str, str] = (),
    settings: Mapping[str, str] | Settings | None = None,
    txn: tuple[str, int] | None = None,
    replace_where: str | None = None,
    replace_partitions: bool = False,
    progress: bool | Progress | None = None,
) -> int:
    """Write Arrow data and return the version that holds it. The table is created if there is none.

    - `data`: a pyarrow Table, RecordBatch or RecordBatchReader, or an object with Arrow's C stream interface, such as a
      Polars, DuckDB or pandas frame. Also a list of dictionaries, one for each row, or a dictionary of columns.
    - `mode`: `append`, `overwrite`, `error` (fail if the table exists) or `ignore` (do nothing if it exists).
    - `partition_by`: the columns whose values name the partitions, when the table is created or overwritten.
    - `text`: the string columns to split into words for full-text search; with a dictionary, by which tokenizer:
      `{"message": "en_stem", "path": "code"}`.
    - `txn`: the name of an application and the number of this write in it. A write that the table already has, or a
      later one of the same application, is not made again.
    - `replace_where`: with mode `overwrite`, replace only the rows that satisfy this condition. All rows of `data` must
      satisfy it too. Columns, partitioning and text columns stay as they are.
    - `replace_partitions`: with mode `overwrite`, replace only the partitions that `data` has rows of.
    - `progress`: True for a bar on a terminal or in a notebook, or a function that is called with the rows that are
      read and the rows in all, None for a stream.

    If a partition then has many small splits, they are merged in the background (see `Table.merge_jobs`).

    >>> import indextables as it, pyarrow as pa
    >>> rows = pa.table({"day": ["mon", "tue"], "message": ["disk full", "login ok"]})
    >>> it.write("memory://doc-write", rows, partition_by=["day"], text=["message"])
    0
    >>> it.write("memory://doc-write", rows, txn=("loader", 7)), it.write("memory://doc-write", rows, txn=("loader", 7))
    (1, 1)
    >>> monday = pa.table({"day": ["mon"], "message": ["disk replaced"]})
    >>> it.write("memory://doc-write", monday, mode="overwrite", replace_where="day = 'mon'")
    2
    >>> it.open("memory://doc-write").top_values("day").to_pylist()
    [{'value': 'tue', 'count': 2}, {'value': 'mon', 'count': 1}]
    """
    from indextables.maintenance import UpkeepPolicy, running_write, start_upkeep, start_upkeep_at

    if replace_where is not None and replace_partitions:
        raise InputError("replace_where and replace_partitions exclude each other; give one of them")
    uri, write_mode = to_uri(path), parse_mode(mode)
    typemap = {
        f"{keys.TYPEMAP.prefix}{name}": "text"
        for name in to_names(list(text) if isinstance(text, Mapping) else text, "text")
    }
    if isinstance(text, Mapping):
        typemap |= {f"{keys.TOKENIZER.prefix}{name}": str(given) for name, given in text.items()}
    checked = Settings(dict(to_settings(settings)) | typemap)
    schema, batches = arrow_stream(data)
    partitions = None if partition_by is None else to_names(partition_by, "partition_by")
    replacement = None
    if replace_where is not None:
        table = find_snapshot(open_store(uri, checked))
        columns = schema if table is None else table.schema
        condition = check_condition(replace_where)
        replacement = Replacement(parse_where(condition, columns, limits=QueryLimits.of(checked)))
    elif check_flag(replace_partitions, "replace_partitions"):
        replacement = Replacement()
    upkeep = UpkeepPolicy.of(checked)
    with running_write(uri):
        plan = plan_write(
            uri,
            schema,
            mode=write_mode,
            partition_by=partitions,
            settings=checked,
            txn=txn,
            replacement=replacement,
        )
        if plan is None:
            return open_table(uri, settings=settings).version
        total = data.num_rows if isinstance(data, pa.Table | pa.RecordBatch) else None
        with shown_progress(progress, "writing rows") as tell:
            written = write_rows(plan, batches, _told(tell, total))
            version, snapshot = publish_write(plan, [written])
    if snapshot is not None:
        start_upkeep(snapshot, plan.base_version, Settings(plan.options), upkeep)
    elif plan.replacement is not None and version != plan.base_version:
        start_upkeep_at(open_store(uri, checked), version, Settings(plan.options), upkeep)
    return version


def _told(tell: Progress | None, total: int | None) -> Callable[[int], object] | None:
    return None if tell is None else lambda rows: tell(rows, total)
