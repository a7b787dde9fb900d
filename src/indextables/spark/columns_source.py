"""Column groups as Spark's Python API sees them: the far end of the jar's scans and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from indextables.spark.columns import planned_tasks, planned_write
from indextables.spark.columns_scan import ColumnsTask, run_columns_task
from indextables.spark.columns_write import (
    ColumnsWrite,
    Written,
    abort_columns_write,
    commit_columns_write,
    run_columns_write,
)
from indextables.spark.request import Request


class ColumnsReader(DataSourceReader):
    def __init__(self, tasks: Sequence[ColumnsTask]) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return run_columns_task(partition.value)

    def __getstate__(self) -> dict[str, object]:
        return {"_tasks": ()}  # a reader travels with every task, which carries its own part of the plan


@dataclass
class FilesWritten(WriterCommitMessage):
    """What one task tells the driver. None: there was nothing to do."""

    groups: Written | None


class ColumnsWriter(DataSourceArrowWriter):
    """One write. It has no plan when the dataset exists and the mode says to leave it alone."""

    def __init__(self, plan: ColumnsWrite | None) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FilesWritten:
        return FilesWritten(None if self._plan is None else run_columns_write(self._plan, iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        if self._plan is not None:
            commit_columns_write(self._plan, _written(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        # Only a missing message proves that no commit was tried; after one, the commit itself has cleaned up.
        if self._plan is not None and any(message is None for message in messages):
            abort_columns_write(self._plan, _written(messages))


def columns_reader(request: Request) -> ColumnsReader:
    return ColumnsReader(planned_tasks(request))


def columns_writer(request: Request) -> ColumnsWriter:
    return ColumnsWriter(None if request.arguments.get("skip") else planned_write(request))


def _written(messages: Sequence[WriterCommitMessage | None]) -> list[Written]:
    return [m.groups for m in messages if isinstance(m, FilesWritten) and m.groups is not None]
