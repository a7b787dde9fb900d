"""A delete whose rows Spark's executors look up: their tasks store delta logs, and the end commits these.

A task reads nothing but splits of its plan, and a result is accepted only for a split of the job, with a delta log next
to that split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError, VersionNotFoundError
from indextables.log import DeletedRows, load_snapshot
from indextables.log.cleanup import is_data_key, is_split_key
from indextables.predicates import Predicate, conjunction, from_spark, to_sql
from indextables.schema import TableSchema
from indextables.spark.formats import DecodedScan
from indextables.spark.sql.cluster import TaskOutcome
from indextables.spark.sql.jobs.waiting_job import WaitingJob
from indextables.spark.sql.json_values import (
    as_all,
    as_count,
    as_list,
    as_object,
    as_optional,
    as_text,
    as_texts,
    as_whole,
)
from indextables.storage import check_key, open_store
from indextables.table import (
    ScanRequest,
    ScanTask,
    SplitRef,
    TaskDeletes,
    commit_deletes,
    discard_deletes,
    run_delete_task,
    whole_files,
)


@dataclass(frozen=True)
class WaitingDelete(WaitingJob[ScanTask, TaskDeletes]):
    """The tasks of a delete by the filters of Spark, of version `version` of a table, as `encode_scan` wrote them."""

    kind = "delete"
    task_type = ScanTask

    uri: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    version: int
    filters: Sequence[Mapping[str, Any]]
    zone: str
    plan: str

    def document(self) -> dict[str, Any]:
        return {
            "uri": self.uri,
            "options": dict(self.options),
            "version": self.version,
            "filters": list(self.filters),
            "zone": self.zone,
            "plan": self.plan,
        }

    @classmethod
    def of(cls, document: Any) -> WaitingDelete:
        return cls(
            uri=as_text(document["uri"]),
            options=as_texts(document["options"]),
            version=as_whole(document["version"]),
            filters=as_all(as_object, document["filters"]),
            zone=as_text(document["zone"]),
            plan=as_text(document["plan"]),
        )

    def tasks(self) -> tuple[ScanTask, ...]:
        decoded = DecodedScan(self.plan)
        request = ScanRequest((), deleted_where(self.filters, decoded.schema, self.zone))
        tasks = decoded.tasks(self.uri, Settings(self.options), request)
        for ref in (ref for task in tasks for ref in task.splits):
            if not is_split_key(check_key(self.uri, ref.path)):
                raise InputError(f"a job names {ref.path[:200]!r}, which is not a split")
        return tasks

    @staticmethod
    def run(task: ScanTask) -> str:
        """Look up the rows of one task. A delta log that is not committed is an orphan."""
        whole, rest = whole_files(task)
        others = TaskDeletes() if rest is None else run_delete_task(rest)
        deletes = [[row.key, row.delta_log, row.new_log, row.num_deleted] for row in whole.rows + others.rows]
        return orjson.dumps({"rows": deletes, "count": whole.count + others.count}).decode()

    def decode(self, outcomes: Sequence[TaskOutcome]) -> list[TaskDeletes]:
        splits = {ref.path: ref for task in self.tasks() for ref in task.splits}
        try:
            return [_decoded(orjson.loads(outcome.result), splits) for outcome in outcomes]
        except (ValueError, KeyError, TypeError) as reason:
            raise InputError(f"the result of a task is not the result of a delete: {reason}") from None

    def finish(self, results: Sequence[TaskDeletes]) -> pa.Table:
        """Commit the delete and return the number of rows."""
        settings = Settings(self.options)
        store = open_store(self.uri, settings)
        try:
            snapshot = load_snapshot(store, self.version, settings=settings)
        except VersionNotFoundError:
            discard_deletes(store, results)
            raise
        parameters = {"predicate": to_sql(deleted_where(self.filters, snapshot.schema, self.zone))}
        change = commit_deletes(store, snapshot, results, settings, parameters=parameters)
        return pa.table({"deleted": [change.rows_deleted]})


def deleted_where(filters: Sequence[Mapping[str, Any]], schema: TableSchema, zone: str) -> Predicate:
    """Return the condition of the rows to delete: the conjunction of filters that `pushdown` has accepted."""
    predicates = [from_spark(dict(node), schema, zone) for node in filters]
    decided = [predicate for predicate in predicates if predicate is not None]
    if len(decided) < len(predicates):
        raise InputError("a delete has a condition that the table cannot decide")
    return conjunction(decided)


def _decoded(document: Any, splits: Mapping[str, SplitRef]) -> TaskDeletes:
    rows = tuple(_deleted_rows(splits, *as_list(entry)) for entry in as_list(document["rows"]))
    return TaskDeletes(rows, as_whole(document["count"]))


def _deleted_rows(
    splits: Mapping[str, SplitRef], key: Any, delta_log: Any, new_log: Any, num_deleted: Any
) -> DeletedRows:
    ref = splits[as_text(key)]
    if as_optional(as_text, delta_log) != (None if ref.delta_log is None else ref.delta_log.key):
        raise ValueError(f"it names another delta log of {ref.path!r:.200} than the job")
    folder = ref.path[: ref.path.rfind("/") + 1]
    if new_log is not None and not (as_text(new_log).startswith(f"{folder}delta-") and is_data_key(new_log)):
        raise ValueError(f"its delta log {new_log!r:.200} is not next to the split {ref.path!r:.200}")
    return DeletedRows(ref.path, delta_log, new_log, as_count(num_deleted))
