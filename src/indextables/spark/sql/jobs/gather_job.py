"""A command about the processes of a cluster: each executor runs a task, and their rows are gathered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError
from indextables.spark.sql.cluster import Executor, Place, TaskOutcome
from indextables.spark.sql.jobs.waiting_job import WaitingJob
from indextables.spark.sql.json_values import as_all, as_object, as_one_of, as_text, as_texts
from indextables.spark.sql.process_rows import Row, process_table, report, rows_at
from indextables.spark.sql.statements import Subject


@dataclass(frozen=True)
class GatherTask:
    """What one process is to do for a command."""

    subject: Subject
    options: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class PlacedReport:
    """What a process has reported, and where it ran."""

    place: Place
    rows: list[Row]


@dataclass(frozen=True)
class WaitingGather(WaitingJob[GatherTask, PlacedReport]):
    """The executors to ask, one for each task, and the rows of the driver itself."""

    kind = "gather"
    task_type = GatherTask

    subject: Subject
    options: Mapping[str, str] = field(repr=False)
    executors: tuple[Executor, ...]
    own: tuple[Row, ...]

    def document(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "options": dict(self.options),
            "executors": [executor.location for executor in self.executors],
            "own": [dict(row) for row in self.own],
        }

    @classmethod
    def of(cls, document: Any) -> WaitingGather:
        return cls(
            subject=as_one_of(get_args(Subject), document["subject"]),
            options=as_texts(document["options"]),
            executors=tuple(map(Executor.at, as_all(as_text, document["executors"]))),
            own=as_all(as_object, document["own"]),
        )

    def tasks(self) -> tuple[GatherTask, ...]:
        return tuple(GatherTask(self.subject, dict(self.options)) for _ in self.executors)

    @staticmethod
    def run(task: GatherTask) -> str:
        """Run one task in the process that it has reached."""
        return orjson.dumps(report(task.subject, Settings(task.options))).decode()

    def decode(self, outcomes: Sequence[TaskOutcome]) -> list[PlacedReport]:
        return [_decoded(outcome) for outcome in outcomes]

    def finish(self, results: Sequence[PlacedReport]) -> pa.Table:
        """Return the rows of all processes, and rows that say which executors were not reached."""
        rows, reached = list(self.own), set()
        for result in results:
            executor = result.place.executor
            if executor not in reached or self.subject.startswith("FLUSH"):
                rows += rows_at(result.place, self.subject, result.rows)
            reached.add(executor)
        missing = [executor for executor in dict.fromkeys(self.executors) if executor not in reached]
        try:
            return process_table(self.subject, rows, missing)
        except (pa.ArrowException, KeyError, TypeError, ValueError):
            raise _not_a_report() from None


def _decoded(outcome: TaskOutcome) -> PlacedReport:
    if outcome.place is None:
        raise InputError("the result of a task does not say where it ran")
    try:
        return PlacedReport(outcome.place, list(as_all(as_object, orjson.loads(outcome.result))))
    except (TypeError, ValueError):
        raise _not_a_report() from None


def _not_a_report() -> InputError:
    return InputError("the result of a task is not that of a command about processes")
