"""Work of a command in Spark tasks: each partition is one task, and its row what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from indextables.log.cleanup.orphans import DeleteTask
from indextables.spark.sql import run_job_task


class JobReader(DataSourceReader):
    """Runs the tasks it is given. One that is run twice deletes what is gone already."""

    def __init__(self, tasks: Sequence[DeleteTask]) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield run_job_task(partition.value)

    def __getstate__(self) -> dict[str, object]:
        return {"_tasks": ()}  # a reader travels with every task, which is all that its worker needs
