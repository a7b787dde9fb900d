"""What a command is while Spark runs its tasks: a document on the driver's disk, tasks, and their results.

The document and the results come back in a request, and anyone who can write SQL can write a request (see
`spark.request`). So a job checks both (see `json_values`): a task reads and deletes nothing but splits and delta logs
of the table, and a result is accepted only for a task of the job.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import pyarrow as pa

from indextables.spark.sql.cluster import Job, TaskOutcome
from indextables.spark.sql.jobs import job_files

Task = TypeVar("Task")
Result = TypeVar("Result")


class WaitingJob(ABC, Generic[Task, Result]):
    """One kind of job. `kind` is its name in documents; `task_type` is the type of its tasks, and of no other's."""

    kind: ClassVar[str]
    task_type: ClassVar[type[Any]]

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the job as plain values of JSON."""

    @classmethod
    @abstractmethod
    def of(cls, document: Any) -> Self:
        """Return the job of a document. ValueError, KeyError or TypeError for what `document` did not return."""

    @abstractmethod
    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks: the same at every call."""

    @staticmethod
    @abstractmethod
    def run(task: Task) -> str:
        """Run one task, on any executor, and return its result as text. A task may run twice."""

    @abstractmethod
    def decode(self, outcomes: Sequence[TaskOutcome]) -> list[Result]:
        """Return the results of the tasks. InputError if one is not a result of this job."""

    @abstractmethod
    def finish(self, results: Sequence[Result]) -> pa.Table | Job:
        """Finish the command with the results: return its rows, or the job of its next batch."""

    def save(self) -> str | None:
        """Write the job to a file and return its name, or None if the file would be too large."""
        return job_files.save({"kind": self.kind, **self.document()})
