"""What Spark asks of a format, and the rules that every format follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from indextables.errors import TableExistsError
from indextables.predicates import Predicate
from indextables.spark.formats.tasks import TaskReader, TaskWriter
from indextables.spark.request import Request, refused
from indextables.table import WriteMode

Answer = dict[str, Any]
"""A JSON document for the JVM."""

FilterNode = dict[str, Any]
Accept = Callable[[FilterNode], Predicate | None]
"""Return the predicate that a scan decides exactly as Spark would, or None to leave the filter to Spark."""


class Format(Protocol):
    """One format. The methods that return an `Answer` run on the driver while Spark plans.

    A request pins a version, so that the same request always gives the same plan. Errors are raised as
    `IndexTablesError`; who calls a format turns them into answers.
    """

    def describe(self, request: Request) -> Answer:
        """Return the version, the schema and the partition columns. A mistake in the options is an error here."""

    def pushdown(self, request: Request) -> Answer:
        """Return the numbers of the filters that the scan decides, so that Spark need not check them again."""

    def plan(self, request: Request) -> Answer:
        """Return what a scan reads, in numbers, and its plan as text; or the rows themselves, if they are few."""

    def prepare_write(self, request: Request) -> Answer:
        """Return whether a write of this mode can be skipped. The commit decides it again, atomically."""

    def plan_write(self, request: Request) -> Answer:
        """Return whether a write is to be skipped, its plan as text, and how Spark distributes the rows to tasks.

        Rows that are equal in the columns `cluster_by` come together, sorted by the columns `sort_by`. A task gets
        `shuffle_bytes` of them, about; null: there is a task for each core. If `in_order`, there are no such
        columns, and the rows of neighbouring tasks come together, in their order.
        """

    def reader(self, request: Request) -> TaskReader:
        """Return the tasks of a scan, from the plan in the request where it has one."""

    def writer(self, request: Request) -> TaskWriter:
        """Return a write, from the plan in the request where it has one."""


def no_distribution() -> Answer:
    """Return the part of an answer to `plan_write` that leaves rows in the tasks that have them."""
    return {"cluster_by": (), "sort_by": (), "shuffle_bytes": None, "in_order": False}


def accepted(filters: Iterable[FilterNode], accept: Accept) -> list[int]:
    """Return the numbers of the filters that a scan decides."""
    return [number for number, node in enumerate(filters) if accept(node) is not None]


def predicates(filters: Iterable[FilterNode], accept: Accept) -> list[Predicate]:
    """Return the predicates of a scan's filters, which `pushdown` has accepted all."""
    accepted_predicates: list[Predicate] = []
    for node in filters:
        predicate = accept(node)
        if predicate is None:
            raise refused("a filter that was not accepted reached the scan")
        accepted_predicates.append(predicate)
    return accepted_predicates


def can_skip(mode: WriteMode, path: str, noun: str, exists: Callable[[], bool]) -> bool:
    """Return True if a write would leave what is at `path` as it is. TableExistsError in mode error.

    `exists` is asked only in the modes that depend on it.
    """
    if mode not in ("error", "ignore") or not exists():
        return False
    if mode == "error":
        raise TableExistsError(
            f"there is a {noun} at {path} already; choose mode append, overwrite or ignore"
        )
    return True
