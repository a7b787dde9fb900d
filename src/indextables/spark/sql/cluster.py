"""The Spark cluster as commands see it: its executors, a job to run on them, and what came back from which executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from indextables.errors import InputError
from indextables.runtime import current
from indextables.spark.sql.json_values import as_text, as_whole

DRIVER: Final = "driver"
"""The id that Spark gives its driver. In local mode the driver is the only executor."""

_LOCATION: Final = "executor_"


@dataclass(frozen=True)
class Executor:
    """One executor: its id and the host that it runs on."""

    executor_id: str
    host: str

    @classmethod
    def at(cls, location: str) -> Executor:
        """Return the executor at a location of Spark's scheduler.

        >>> Executor.at("executor_10.0.0.7_12")
        Executor(executor_id='12', host='10.0.0.7')
        """
        host, _, executor_id = location.removeprefix(_LOCATION).partition("_")
        if not location.startswith(_LOCATION) or not host or not executor_id:
            raise InputError(f"{location[:200]!r} is not the location of an executor")
        return cls(executor_id, host)

    @property
    def location(self) -> str:
        """Where the scheduler of Spark is to run a task."""
        return f"{_LOCATION}{self.host}_{self.executor_id}"


@dataclass(frozen=True)
class Place:
    """An executor, or the driver, and what Python has counted for it since it started."""

    executor: Executor
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Place:
        """Return the place in the JSON that the jar sends. InputError for anything else."""
        try:
            document = orjson.loads(text)
            counts = {as_text(name): as_whole(count) for name, count in document["counts"].items()}
            return cls(Executor(as_text(document["executor_id"]), as_text(document["host"])), counts)
        except (ValueError, KeyError, TypeError, AttributeError) as reason:
            raise InputError(f"not the place of a task: {reason}") from None


@dataclass(frozen=True)
class Cluster:
    """The executors that can run jobs: none outside Spark, where the process that asks does all the work."""

    executors: tuple[Executor, ...] = ()
    parallelism: int = 1
    driver: Place | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the executors, each once."""
        return tuple(sorted({executor.host for executor in self.executors}))

    @property
    def here(self) -> Place:
        """The place of this process: the driver. Outside Spark, what the process itself has counted."""
        return self.driver or Place(Executor(DRIVER, "localhost"), current().counters.values())


@dataclass(frozen=True)
class Job:
    """A command whose tasks the JVM is to run. `file` holds it until it is finished.

    `locations` are those of the tasks, in order: of an executor, a host, or None for any. Spark's UI shows the
    `description`.
    """

    file: str
    description: str
    locations: tuple[str | None, ...] = ()

    def answer(self) -> dict[str, Any]:
        """Return the job as the JVM takes it."""
        return {"job": self.file, "description": self.description, "locations": self.locations}


@dataclass(frozen=True)
class TaskOutcome:
    """The result of a task as text, and the place where it ran; None where the caller does not know it."""

    result: str
    place: Place | None = None


def outcomes(results: Sequence[str], places: Sequence[str] = ()) -> list[TaskOutcome]:
    """Return the results of tasks, each with its place. InputError if there is not a place for each."""
    if not places:
        return [TaskOutcome(result) for result in results]
    if len(places) != len(results):
        raise InputError(f"there are {len(results)} results of tasks from {len(places)} places")
    return [TaskOutcome(result, Place.parse(place)) for result, place in zip(results, places, strict=True)]
