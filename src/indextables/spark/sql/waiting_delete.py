"""A delete on the driver's disk while Spark's tasks look up its rows, and their results: JSON of plain values.

Both come back in a request, so both are checked (see `job_files`): a task reads nothing but splits of its plan, and a
result is accepted only for a split of the job, with a delta log next to that split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from indextables.config import Settings
from indextables.errors import InputError
from indextables.log import DeletedRows
from indextables.log.cleanup import is_data_key, is_split_key
from indextables.predicates import Predicate, conjunction, from_spark
from indextables.schema import TableSchema
from indextables.spark.formats import DecodedScan
from indextables.storage import check_key
from indextables.table import ScanRequest, ScanTask, SplitRef, TaskDeletes


@dataclass(frozen=True)
class WaitingDelete:
    """The tasks of a delete by the filters of Spark, of version `version` of a table, as `encode_scan` wrote them."""

    uri: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    version: int
    filters: Sequence[Mapping[str, Any]]
    zone: str
    plan: str

    def predicate(self, schema: TableSchema) -> Predicate:
        """Return the condition of the rows to delete."""
        return predicate_of(self.filters, schema, self.zone)

    def tasks(self) -> tuple[ScanTask, ...]:
        """Return the tasks. InputError if the plan is not one."""
        decoded = DecodedScan(self.plan)
        request = ScanRequest((), self.predicate(decoded.schema))
        tasks = decoded.tasks(self.uri, Settings(self.options), request)
        for ref in (ref for task in tasks for ref in task.splits):
            if not is_split_key(check_key(self.uri, ref.path)):
                raise InputError(f"a job names {ref.path[:200]!r}, which is not a split")
        return tasks


def predicate_of(filters: Sequence[Mapping[str, Any]], schema: TableSchema, zone: str) -> Predicate:
    """Return the conjunction of filters that `pushdown` has accepted."""
    predicates = [from_spark(dict(node), schema, zone) for node in filters]
    decided = [predicate for predicate in predicates if predicate is not None]
    if len(decided) < len(predicates):
        raise InputError("a delete has a condition that the table cannot decide")
    return conjunction(decided)


def delete_document(waiting: WaitingDelete) -> dict[str, Any]:
    return {
        "kind": "delete",
        "uri": waiting.uri,
        "options": dict(waiting.options),
        "version": waiting.version,
        "filters": list(waiting.filters),
        "zone": waiting.zone,
        "plan": waiting.plan,
    }


def waiting_delete(document: Any) -> WaitingDelete:
    """Return the delete of a document. ValueError, KeyError or TypeError for what `delete_document` did not make."""
    texts = [document["uri"], document["zone"], document["plan"], *document["options"].values()]
    if not all(isinstance(text, str) for text in texts) or type(document["version"]) is not int:
        raise TypeError("a value in it is not what a delete has")
    if not all(isinstance(node, dict) for node in document["filters"]):
        raise TypeError("a filter in it is not an object")
    return WaitingDelete(
        uri=document["uri"],
        options=document["options"],
        version=document["version"],
        filters=document["filters"],
        zone=document["zone"],
        plan=document["plan"],
    )


def encode_deletes(deletes: TaskDeletes) -> str:
    """Return the result of a task as text."""
    rows = [[each.key, each.delta_log, each.new_log, each.num_deleted] for each in deletes.rows]
    return orjson.dumps({"rows": rows, "count": deletes.count}).decode()


def decode_deletes(waiting: WaitingDelete, results: Sequence[str]) -> list[TaskDeletes]:
    """Return the results of the tasks of a job. InputError if one is not a result of the job."""
    splits = {ref.path: ref for task in waiting.tasks() for ref in task.splits}
    try:
        return [_deletes(orjson.loads(result), splits) for result in results]
    except (ValueError, KeyError, TypeError) as reason:
        raise InputError(f"the result of a task is not the result of a delete: {reason}") from None


def _deletes(document: Any, splits: Mapping[str, SplitRef]) -> TaskDeletes:
    rows = []
    for key, delta_log, new_log, num_deleted in document["rows"]:
        ref = splits[key]
        if delta_log != (None if ref.delta_log is None else ref.delta_log.key):
            raise ValueError("it names another delta log of a split")
        folder = key[: key.rfind("/") + 1]
        if new_log is not None and not (new_log.startswith(f"{folder}delta-") and is_data_key(new_log)):
            raise ValueError("its delta log is not next to the split")
        if type(num_deleted) is not int or num_deleted < 0:
            raise ValueError("it has no number of rows")
        rows.append(DeletedRows(key, delta_log, new_log, num_deleted))
    if type(document["count"]) is not int:
        raise ValueError("it has no number of rows")
    return TaskDeletes(tuple(rows), document["count"])
