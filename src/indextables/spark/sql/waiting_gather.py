"""A command about the processes of a cluster, on the driver's disk while its tasks run (see `job_files`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

from indextables.spark.sql.cluster import Executor
from indextables.spark.sql.statements import Subject

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class WaitingGather:
    """The executors to ask, one for each task, and the rows of the driver itself."""

    subject: Subject
    options: Mapping[str, str] = field(repr=False)
    executors: tuple[Executor, ...]
    own: tuple[Row, ...]


def gather_document(waiting: WaitingGather) -> dict[str, Any]:
    return {
        "kind": "gather",
        "subject": waiting.subject,
        "options": dict(waiting.options),
        "executors": [executor.location for executor in waiting.executors],
        "own": [dict(row) for row in waiting.own],
    }


def waiting_gather(document: Any) -> WaitingGather:
    """Return the command of a document. ValueError, KeyError or TypeError for what `gather_document` did not make."""
    subject = document["subject"]
    if subject not in get_args(Subject) or not all(isinstance(row, dict) for row in document["own"]):
        raise ValueError("it is about no subject")
    options = {str(key): str(value) for key, value in document["options"].items()}
    executors = tuple(Executor.at(str(location)) for location in document["executors"])
    return WaitingGather(subject, options, executors, tuple(document["own"]))
