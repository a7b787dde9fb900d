"""Writing from Spark tasks: every task stores splits, the driver commits them all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from indextables.table import TaskResult, WritePlan, abort_write, commit_write, run_write_task


@dataclass
class SplitsWritten(WriterCommitMessage):
    """What one task tells the driver. No result: there was nothing to do."""

    result: TaskResult | None


class TableWriter(DataSourceArrowWriter):
    """One write. It has no plan when the table exists and the mode says to leave it alone."""

    def __init__(self, plan: WritePlan | None) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SplitsWritten:
        if self._plan is None:
            return SplitsWritten(None)
        return SplitsWritten(run_write_task(self._plan, iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        if self._plan is not None:
            commit_write(self._plan, _results(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        # Spark calls this after a failed task and after a failed commit alike. Only a missing message proves
        # that no commit was tried; after one, whose outcome may be unknown, the commit itself has cleaned up.
        if self._plan is not None and any(message is None for message in messages):
            abort_write(self._plan, _results(messages))


def _results(messages: Sequence[WriterCommitMessage | None]) -> list[TaskResult | None]:
    return [message.result if isinstance(message, SplitsWritten) else None for message in messages]
