"""Writes of column groups in tasks: every task stores files, the driver commits them all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from indextables.columns import (
    PARQUET,
    ColumnGroup,
    Policy,
    Writer,
    commit_groups,
    delete_files,
    plan_groups,
)
from indextables.config import Settings
from indextables.table import WriteMode

TaskGroups = tuple[ColumnGroup, ...]
"""The column groups that one task has stored."""


@dataclass(frozen=True)
class DatasetWrite:
    """What the tasks of one write share. `writer` are keyword arguments of `Writer`."""

    uri: str
    settings: dict[str, str] = field(repr=False)  # credentials may be among them
    mode: WriteMode
    schema: pa.Schema
    policy: Policy
    writer: dict[str, Any]

    def run(self, batches: Iterator[pa.RecordBatch]) -> TaskGroups:
        with Writer(
            self.uri, self.schema, policy=self.policy, settings=self.settings, **self.writer
        ) as writer:
            for batch in batches:
                writer.write(_in_utc(batch))
            return writer.close()

    def commit(self, results: Sequence[TaskGroups]) -> None:
        groups = self._merge(results)
        commit_groups(self.uri, groups, self.schema, mode=self.mode, settings=Settings(self.settings))

    def abort(self, results: Sequence[TaskGroups]) -> None:
        delete_files(self.uri, self._merge(results), Settings(self.settings))

    def _merge(self, results: Iterable[TaskGroups]) -> list[ColumnGroup]:
        """Return each group with the files of all tasks. Every task has planned the same groups."""
        planned = plan_groups(self.policy, self.schema, self.writer.get("format", PARQUET), None)
        tasks = list(results)
        return [
            ColumnGroup(
                group.columns, group.format, tuple(file for task in tasks for file in task[number].files)
            )
            for number, group in enumerate(planned)
        ]


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with timestamps in UTC. Spark sends them in the time zone of the session."""
    fields = [
        field.with_type(pa.timestamp("us", "UTC"))
        if pa.types.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in batch.schema
    ]
    return batch.cast(pa.schema(fields))
