"""A merge whose groups Spark's executors merge, in batches: each is committed before the next one begins.

A task reads nothing but splits of the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import CommandError, IndexTablesError, InputError
from indextables.log import Metadata, Snapshot, load_snapshot
from indextables.log.actions import to_document
from indextables.log.cleanup import is_split_key
from indextables.maintenance import (
    Merged,
    MergedGroup,
    MergeTask,
    SourceSplit,
    add_committed,
    commit_merge,
    empty_result,
    failure_of,
    run_merge_task,
)
from indextables.spark.sql.cluster import Job, TaskOutcome
from indextables.spark.sql.jobs.merge_results import as_action, decode_groups, encode_group
from indextables.spark.sql.jobs.waiting_job import WaitingJob
from indextables.spark.sql.json_values import (
    as_all,
    as_list,
    as_object,
    as_optional,
    as_text,
    as_texts,
    as_whole,
)
from indextables.split import DeltaLogRef
from indextables.storage import check_key, open_store, options_for_tasks, scratch_parent

METRICS: Final = pa.struct(
    {
        "status": pa.string(),
        "merged_files": pa.int64(),
        "merge_groups": pa.int64(),
        "original_size_bytes": pa.int64(),
        "merged_size_bytes": pa.int64(),
        "message": pa.string(),
    }
)
MERGE_COLUMNS: Final = pa.schema(
    {
        "table_path": pa.string(),
        "metrics": METRICS,
        "temp_directory_path": pa.string(),
        "heap_size_bytes": pa.int64(),
    }
)

_TEXTS: Final = ("table_path", "status", "message")
_NUMBERS: Final = tuple(
    item.name for item in dataclasses.fields(Merged) if item.name not in (*_TEXTS, "messages")
)


@dataclass(frozen=True)
class NumberedMerge:
    """A group to merge, and its number in the job."""

    number: int
    task: MergeTask


@dataclass(frozen=True)
class WaitingMerge(WaitingJob[NumberedMerge, MergedGroup]):
    """The groups that are not merged yet, of `total`, and the result so far. The first `batch` groups are one job."""

    kind = "merge"
    task_type = NumberedMerge

    uri: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    metadata: Metadata
    groups: tuple[MergeTask, ...]
    batch: int
    total: int
    result: Merged

    def document(self) -> dict[str, Any]:
        return {
            "uri": self.uri,
            "options": dict(self.options),
            "metadata": to_document(self.metadata),
            "batch": self.batch,
            "total": self.total,
            "result": dataclasses.asdict(self.result),
            "groups": [
                [
                    dict(group.partition_values),
                    dict(group.options),
                    [dataclasses.astuple(source) for source in group.sources],
                ]
                for group in self.groups
            ],
        }

    @classmethod
    def of(cls, document: Any) -> WaitingMerge:
        uri = as_text(document["uri"])
        metadata = as_action(Metadata, document["metadata"])
        groups = tuple(_group(uri, metadata, *as_list(entry)) for entry in as_list(document["groups"]))
        if not groups or as_whole(document["batch"]) < 1:
            raise ValueError("it has no task")
        return cls(
            uri=uri,
            options=as_texts(document["options"]),
            metadata=metadata,
            groups=groups,
            batch=document["batch"],
            total=as_whole(document["total"]),
            result=_result(as_object(document["result"])),
        )

    def tasks(self) -> tuple[NumberedMerge, ...]:
        return tuple(NumberedMerge(number, group) for number, group in enumerate(self.groups[: self.batch]))

    @staticmethod
    def run(task: NumberedMerge) -> str:
        """Merge a group. An error is a result: a task that fails would end the job, and the other groups with it."""
        try:
            merged = run_merge_task(task.task)
        except (IndexTablesError, OSError, MemoryError) as reason:
            merged = MergedGroup(failure=failure_of(reason))
        return encode_group(task.number, merged)

    def decode(self, outcomes: Sequence[TaskOutcome]) -> list[MergedGroup]:
        return decode_groups([outcome.result for outcome in outcomes], self.groups[: self.batch])

    def finish(self, results: Sequence[MergedGroup]) -> pa.Table | Job:
        """Commit the batch. Return the row of the merge, or the job of the next batch."""
        remaining = self.groups[self.batch :]
        settings = Settings(self.options)
        store = open_store(self.uri, settings)
        base = load_snapshot(store, settings=settings)
        if any(group.add is not None and group.add.path in base.files for group in results):
            raise InputError("the result of a task names a split that is in the table already")
        committed = commit_merge(store, results, metadata=self.metadata, base=base, settings=settings)
        failures = [group.failure for group in results if group.failure is not None]
        result = add_committed(self.result, committed, failures)
        if not remaining:
            if result.failed_groups and not result.merge_groups:
                raise CommandError(f"nothing was merged: {result.message}")
            return merge_row(result, settings)
        return dataclasses.replace(self, groups=remaining, result=result).job()

    def job(self) -> Job:
        """Return the job of the next batch. Its description is the progress that Spark's UI shows."""
        file = self.save()
        if file is None:
            raise CommandError("this merge has too many splits for one command; use WHERE or MAX DEST SPLITS")
        merged = self.total - len(self.groups)
        last = min(merged + self.batch, self.total)
        return Job(file, f"MERGE SPLITS {self.uri}: new splits {merged + 1} to {last} of {self.total}")


def begin_merge(snapshot: Snapshot, groups: tuple[MergeTask, ...], settings: Settings, batch: int) -> Job:
    """Save a merge and return the job of its first batch."""
    return WaitingMerge(
        uri=snapshot.uri,
        options=options_for_tasks(snapshot.uri, settings),
        metadata=groups[0].metadata,
        groups=groups,
        batch=batch,
        total=len(groups),
        result=empty_result(snapshot),
    ).job()


def merge_row(done: Merged, settings: Settings) -> pa.Table:
    """Return the result of a merge as the row of the command."""
    row = {
        "table_path": done.table_path,
        "metrics": {column.name: getattr(done, column.name) for column in METRICS},
        "temp_directory_path": str(scratch_parent(settings)),
        "heap_size_bytes": settings.get(keys.HEAP_SIZE),
    }
    return pa.Table.from_pylist([row], schema=MERGE_COLUMNS)


def _group(uri: str, metadata: Metadata, values: Any, options: Any, sources: Any) -> MergeTask:
    splits = tuple(_source(uri, *as_list(entry)) for entry in as_list(sources))
    return MergeTask(uri, as_texts(options), metadata, as_texts(values), splits)


def _source(
    uri: str, key: Any, size: Any, num_records: Any, num_merge_ops: Any, delta_log: Any
) -> SourceSplit:
    if not is_split_key(check_key(uri, as_text(key))):
        raise ValueError(f"it names the file {key!r:.200}, which is not a split")
    rows = as_optional(as_whole, num_records)
    return SourceSplit(key, as_whole(size), rows, as_whole(num_merge_ops), as_optional(_delta_log, delta_log))


def _delta_log(value: Any) -> DeltaLogRef:
    key, num_deleted = as_list(value)
    return DeltaLogRef(as_text(key), as_whole(num_deleted))


def _result(document: dict[str, Any]) -> Merged:
    values: dict[str, Any] = {name: as_text(document[name]) for name in _TEXTS}
    values |= {name: as_whole(document[name]) for name in _NUMBERS}
    return Merged(**values, messages=as_all(as_text, document["messages"]))
