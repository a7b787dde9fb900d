"""Reading in Spark tasks: each partition is one task of a planned scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from indextables.spark.settling import settle
from indextables.table import ScanTask, run_scan_task


class ScanReader(DataSourceReader):
    """Reads the tasks it is given. They were planned on the driver, at one version of the table."""

    def __init__(self, tasks: Sequence[ScanTask]) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        settle()
        return run_scan_task(partition.value)

    def __getstate__(self) -> dict[str, object]:
        return {"_tasks": ()}  # a reader travels with every task, which carries its own part of the plan
