"""A purge whose splits Spark's executors delete. Deleting twice does no harm: files may be gone already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.log.cleanup import (
    Deleted,
    DeleteTask,
    StateRetention,
    delete_tasks,
    is_data_key,
    run_delete_task,
    total_deleted,
)
from indextables.maintenance import PreparedPurge, Purged, finish_purge
from indextables.spark.sql.cluster import TaskOutcome
from indextables.spark.sql.jobs.waiting_job import WaitingJob
from indextables.spark.sql.json_values import as_all, as_list, as_text, as_texts, as_whole
from indextables.storage import ObjectInfo, check_key, open_store

METRICS: Final = pa.struct(
    {
        "status": pa.string(),
        "orphaned_files_found": pa.int64(),
        "orphaned_files_deleted": pa.int64(),
        "size_mb_deleted": pa.float64(),
        "retention_hours": pa.int64(),
        "tx_log_files_deleted": pa.int64(),
        "expired_states_found": pa.int64(),
        "expired_states_deleted": pa.int64(),
        "dry_run": pa.bool_(),
        "duration_ms": pa.int64(),
        "message": pa.string(),
    }
)
PURGE_COLUMNS: Final = pa.schema({"table_path": pa.string(), "metrics": METRICS})


@dataclass(frozen=True)
class WaitingPurge(WaitingJob[DeleteTask, Deleted]):
    """A purge that is prepared: all that is needed to run its tasks and to finish it."""

    kind = "purge"
    task_type = DeleteTask

    uri: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    prepared: PreparedPurge

    def document(self) -> dict[str, Any]:
        prepared, retention = self.prepared, self.prepared.retention
        return {
            "uri": self.uri,
            "options": dict(self.options),
            "started_ms": prepared.started_ms,
            "hours": prepared.hours,
            "retention": [retention.versions, retention.age_ms, retention.manifest_age_ms],
            "versions": prepared.versions,
            "versions_deleted": prepared.versions_deleted,
            "states": prepared.states,
            "states_deleted": prepared.states_deleted,
            "named": sorted(prepared.named),
            "splits": [(info.key, info.size, info.modified_ms) for info in prepared.splits],
            "spared": prepared.spared,
            "failures": prepared.failures,
        }

    @classmethod
    def of(cls, document: Any) -> WaitingPurge:
        uri = as_text(document["uri"])
        prepared = PreparedPurge(
            started_ms=as_whole(document["started_ms"]),
            hours=as_whole(document["hours"]),
            dry_run=False,
            retention=StateRetention(*as_all(as_whole, document["retention"])),
            versions=as_all(as_whole, document["versions"]),
            versions_deleted=as_whole(document["versions_deleted"]),
            states=as_all(as_whole, document["states"]),
            states_deleted=as_whole(document["states_deleted"]),
            named=frozenset(as_all(as_text, document["named"])),
            unnamed=(),
            splits=tuple(_file(uri, *as_list(entry)) for entry in as_list(document["splits"])),
            spared=as_whole(document["spared"]),
            failures=as_all(as_text, document["failures"]),
        )
        return cls(uri, as_texts(document["options"]), prepared)

    def tasks(self) -> tuple[DeleteTask, ...]:
        options = dict(self.options)
        at_most = Settings(options).get(keys.PURGE_PARALLELISM)
        return tuple(delete_tasks(self.uri, options, self.prepared.splits, at_most))

    @staticmethod
    def run(task: DeleteTask) -> str:
        deleted = run_delete_task(task)
        return orjson.dumps([deleted.files, deleted.bytes, deleted.failures]).decode()

    def decode(self, outcomes: Sequence[TaskOutcome]) -> list[Deleted]:
        return [_decoded(outcome.result) for outcome in outcomes]

    def finish(self, results: Sequence[Deleted]) -> pa.Table:
        store = open_store(self.uri, Settings(self.options))
        return purge_row(finish_purge(store, self.prepared, total_deleted(results)))


def purge_row(done: Purged) -> pa.Table:
    """Return the result of a purge as the row of the command."""
    metrics: dict[str, Any] = {column.name: getattr(done, column.name) for column in METRICS}
    return pa.Table.from_pylist([{"table_path": done.table_path, "metrics": metrics}], schema=PURGE_COLUMNS)


def _file(uri: str, key: Any, size: Any, modified_ms: Any) -> ObjectInfo:
    if not is_data_key(check_key(uri, as_text(key))):
        raise ValueError("it names a file that is neither a split nor a delta log")
    return ObjectInfo(key, as_whole(size), as_whole(modified_ms))


def _decoded(result: str) -> Deleted:
    try:
        files, size, failures = as_list(orjson.loads(result))
        return Deleted(as_whole(files), as_whole(size), as_all(as_text, failures))
    except (ValueError, TypeError):
        raise InputError("the result of a task is not the result of a purge") from None
