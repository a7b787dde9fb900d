"""Writes of column groups in tasks: every task stores files, the driver commits them all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from indextables.columns import PARQUET, ColumnGroup, Policy, Writer, commit_groups, delete_files, plan_groups
from indextables.config import Settings
from indextables.table import WriteMode

Written = tuple[ColumnGroup, ...]


@dataclass(frozen=True)
class ColumnsWrite:
    """What the tasks of one write share."""

    uri: str
    settings: dict[str, str] = field(repr=False)
    mode: WriteMode
    schema: pa.Schema
    policy: Policy
    writer: dict[str, Any]


def run_columns_write(plan: ColumnsWrite, batches: Iterable[pa.RecordBatch]) -> Written:
    with Writer(plan.uri, plan.schema, policy=plan.policy, settings=plan.settings, **plan.writer) as writer:
        for batch in batches:
            writer.write(_in_utc(batch))
        return writer.close()


def commit_columns_write(plan: ColumnsWrite, written: Iterable[Written]) -> int:
    return commit_groups(
        plan.uri, _joined(plan, written), plan.schema, mode=plan.mode, settings=Settings(plan.settings)
    )


def abort_columns_write(plan: ColumnsWrite, written: Iterable[Written]) -> None:
    delete_files(plan.uri, _joined(plan, written), Settings(plan.settings))


def _joined(plan: ColumnsWrite, written: Iterable[Written]) -> list[ColumnGroup]:
    """The files of all tasks, group for group: every task had the same groups."""
    planned = plan_groups(plan.policy, plan.schema, plan.writer.get("format", PARQUET), None)
    tasks = list(written)
    return [
        ColumnGroup(group.columns, group.format, tuple(file for task in tasks for file in task[number].files))
        for number, group in enumerate(planned)
    ]


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Spark hands rows over in the time zone of the session; the moments are the same."""
    fields = [
        field.with_type(pa.timestamp("us", "UTC"))
        if pa.types.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in batch.schema
    ]
    return batch.cast(pa.schema(fields))
