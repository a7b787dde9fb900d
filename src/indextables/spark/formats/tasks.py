"""Scans and writes as Spark's Python API sees them: the driver plans, tasks run, and the driver commits at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from indextables.spark.formats.figures import with_figures
from indextables.spark.gc_freeze import freeze_objects


class TaskReader(DataSourceReader):
    """Run each task with `run`, a function of a module: Spark pickles it. All tasks were planned at one version.

    With `schema`, which returns the schema of a task's batches, the rows have the figures of the task too.
    """

    def __init__(
        self,
        tasks: Sequence[Any],
        run: Callable[[Any], Iterator[pa.RecordBatch]],
        schema: Callable[[Any], pa.Schema] | None = None,
    ) -> None:
        self._tasks = tasks
        self._run = run
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        freeze_objects()
        batches = self._run(partition.value)
        return batches if self._schema is None else with_figures(batches, self._schema(partition.value))

    def __getstate__(self) -> dict[str, object]:
        # Spark sends a reader with every task, and each task by itself.
        return {**self.__dict__, "_tasks": ()}


class Write(Protocol):
    """One planned write. It is sent to every task."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Any:
        """Store the rows of one task and return what the commit needs to know of them."""

    def commit(self, results: Sequence[Any]) -> None:
        """Make the rows of all tasks part of the table, in one version."""

    def abort(self, results: Sequence[Any]) -> None:
        """Delete the files that the tasks have stored."""


@dataclass
class TaskWritten(WriterCommitMessage):
    """What one task tells the driver. No result: there was nothing to do."""

    result: Any


class TaskWriter(DataSourceArrowWriter):
    """One write. It is None when there is nothing to do: the table exists, and the mode leaves it alone."""

    def __init__(self, write: Write | None) -> None:
        self._write = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        return TaskWritten(None if self._write is None else self._write.run(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        if self._write is not None:
            self._write.commit(_results(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        # Spark calls this after a failed task and after a failed commit alike. A missing message proves that no
        # commit was tried. Without one a commit was tried and may have succeeded, so its files must stay; a commit
        # that knows it has failed deletes them itself.
        if self._write is not None and any(message is None for message in messages):
            self._write.abort(_results(messages))


def _results(messages: Sequence[WriterCommitMessage | None]) -> list[Any]:
    results = [message.result for message in messages if isinstance(message, TaskWritten)]
    return [result for result in results if result is not None]
