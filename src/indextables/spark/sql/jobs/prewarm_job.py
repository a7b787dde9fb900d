"""A prewarming of caches: the executors that would search a split bring its index into the cache of their machine.

The file of the job names the table, its version and the condition; the tasks are planned from them again, which gives
the same tasks: hosts are assigned by the names of the splits alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.errors import InputError
from indextables.predicates import TRUE
from indextables.spark.sql.cluster import TaskOutcome
from indextables.spark.sql.conditions import table_predicate
from indextables.spark.sql.jobs.waiting_job import WaitingJob
from indextables.spark.sql.json_values import (
    as_all,
    as_count,
    as_list,
    as_optional,
    as_text,
    as_texts,
    as_whole,
)
from indextables.table import Prewarmed, PrewarmTask, open_table, plan_prewarm, run_prewarm_task

PREWARM_COLUMNS: Final = pa.schema(
    {
        "host": pa.string(),
        "assigned_host": pa.string(),
        "locality_hits": pa.int32(),
        "locality_misses": pa.int32(),
        "splits_prewarmed": pa.int32(),
        "segments": pa.string(),
        "fields": pa.string(),
        "duration_ms": pa.int64(),
        "status": pa.string(),
        "skipped_fields": pa.string(),
        "retries": pa.int32(),
        "failed_splits_by_host": pa.string(),
        "job_id": pa.string(),
        "async_mode": pa.bool_(),
    }
)
SEGMENTS: Final = "FAST_FIELD,FIELD_NORM,POSITIONS,POSTINGS,TERM_DICT"
"""The parts of an index, by their names in IndexTables for Scala. An index comes into the cache as a whole."""

_TOO_MANY: Final = 1 << 31


@dataclass(frozen=True)
class HostResult:
    """What a task has done: the host that ran it, the host that its splits are assigned to, if they are known."""

    ran_on: str | None
    assigned: str | None
    done: Prewarmed


@dataclass(frozen=True)
class WaitingPrewarm(WaitingJob[PrewarmTask, HostResult]):
    """Which splits of which version are to be in the caches of which hosts."""

    kind = "prewarm"
    task_type = PrewarmTask

    uri: str
    version: int
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    where: str | None
    zone: str
    fields: tuple[str, ...]
    threads: int
    hosts: tuple[str, ...]
    parallelism: int

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Any) -> WaitingPrewarm:
        return cls(
            uri=as_text(document["uri"]),
            version=as_whole(document["version"]),
            options=as_texts(document["options"]),
            where=as_optional(as_text, document["where"]),
            zone=as_text(document["zone"]),
            fields=as_all(as_text, document["fields"]),
            threads=as_whole(document["threads"]),
            hosts=as_all(as_text, document["hosts"]),
            parallelism=as_whole(document["parallelism"]),
        )

    def tasks(self) -> tuple[PrewarmTask, ...]:
        table = open_table(self.uri, version=self.version, settings=self.options)
        return plan_prewarm(
            table.snapshot,
            table.settings,
            TRUE if self.where is None else table_predicate(self.where, table, self.zone),
            hosts=self.hosts,
            parallelism=self.parallelism,
            threads=self.threads,
        )

    @staticmethod
    def run(task: PrewarmTask) -> str:
        done = run_prewarm_task(task)
        return orjson.dumps([task.host, done.splits, done.duration_ms, done.failures]).decode()

    def decode(self, outcomes: Sequence[TaskOutcome]) -> list[HostResult]:
        return [_decoded(outcome) for outcome in outcomes]

    def finish(self, results: Sequence[HostResult]) -> pa.Table:
        """Return a row for each pair of a host and the host that its splits are assigned to."""
        pairs = sorted({(result.ran_on or "", result.assigned or "") for result in results})
        rows = []
        for pair in pairs:
            done = [result.done for result in results if (result.ran_on or "", result.assigned or "") == pair]
            rows.append(self._row(*pair, done))
        if not rows:
            rows = [{**self._row("", "", []), "status": "no_splits"}]
        return pa.Table.from_pylist(rows, schema=PREWARM_COLUMNS)

    def _row(self, ran_on: str, assigned: str, done: Sequence[Prewarmed]) -> dict[str, Any]:
        splits = sum(result.splits for result in done)
        failures = [list(failure) for result in done for failure in result.failures]
        is_local = ran_on == assigned or not assigned
        return {
            "host": ran_on or None,
            "assigned_host": assigned or None,
            "locality_hits": splits if is_local else 0,
            "locality_misses": 0 if is_local else splits,
            "splits_prewarmed": splits,
            "segments": SEGMENTS,
            "fields": ",".join(self.fields) or "all",
            "duration_ms": max((result.duration_ms for result in done), default=0),
            "status": "success" if not failures else "partial_success" if splits else "failed",
            "skipped_fields": None,
            "retries": 0,
            "failed_splits_by_host": orjson.dumps({ran_on: failures}).decode() if failures else None,
            "job_id": None,
            "async_mode": False,
        }


def _decoded(outcome: TaskOutcome) -> HostResult:
    try:
        assigned, splits, duration_ms, failures = as_list(orjson.loads(outcome.result))
        done = Prewarmed(
            as_count(splits, _TOO_MANY),
            as_count(duration_ms, _TOO_MANY),
            tuple((as_text(key), as_text(reason)) for key, reason in map(as_list, as_list(failures))),
        )
        ran_on = None if outcome.place is None else outcome.place.executor.host
        return HostResult(ran_on, as_optional(as_text, assigned), done)
    except (ValueError, TypeError):
        raise InputError("the result of a task is not the result of a prewarming") from None
