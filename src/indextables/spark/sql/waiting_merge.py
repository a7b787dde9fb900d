"""A merge on the driver's disk while Spark runs its tasks, and the results of the tasks: JSON of plain values.

Both come back in a request, so both are checked (see `job_files`): a task reads nothing but splits of the table, and a
result is accepted only for a group of the job, with a new split of its partition and the number of its rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from indextables.errors import InputError
from indextables.log import AddFile, Metadata
from indextables.log.actions import FieldError, from_document, to_document
from indextables.log.cleanup import is_split_key
from indextables.maintenance import Merged, MergedGroup, MergeTask, SourceSplit
from indextables.schema import partition_path
from indextables.spark.sql.json_values import as_text, as_texts, as_whole
from indextables.split import DeltaLogRef
from indextables.storage import check_key


@dataclass(frozen=True)
class WaitingMerge:
    """The groups that are not merged yet, of `total`, and the result so far. The first `batch` groups are one job."""

    uri: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    metadata: Metadata
    tasks: tuple[MergeTask, ...]
    batch: int
    total: int
    result: Merged


def merge_document(waiting: WaitingMerge) -> dict[str, Any]:
    return {
        "kind": "merge",
        "uri": waiting.uri,
        "options": dict(waiting.options),
        "metadata": to_document(waiting.metadata),
        "batch": waiting.batch,
        "total": waiting.total,
        "result": dataclasses.asdict(waiting.result),
        "tasks": [
            [
                dict(task.partition_values),
                dict(task.options),
                [dataclasses.astuple(source) for source in task.sources],
            ]
            for task in waiting.tasks
        ],
    }


def waiting_merge(document: Any) -> WaitingMerge:
    """Return the merge of a document. ValueError, KeyError or TypeError for what `merge_document` did not make."""
    uri = as_text(document["uri"])
    metadata = _action(document["metadata"], Metadata)
    result = Merged(**{**document["result"], "messages": tuple(map(as_text, document["result"]["messages"]))})
    tasks = tuple(
        MergeTask(
            uri,
            as_texts(options),
            metadata,
            as_texts(values),
            tuple(_source(uri, *entry) for entry in sources),
        )
        for values, options, sources in document["tasks"]
    )
    if not tasks or as_whole(document["batch"]) < 1:
        raise ValueError("it has no task")
    return WaitingMerge(
        uri=uri,
        options=as_texts(document["options"]),
        metadata=metadata,
        tasks=tasks,
        batch=document["batch"],
        total=as_whole(document["total"]),
        result=result,
    )


def encode_group(number: int, group: MergedGroup) -> str:
    """Return the result of the task with that number as text."""
    return orjson.dumps(
        {
            "number": number,
            "sources": group.sources,
            "size": group.size,
            "add": None if group.add is None else to_document(group.add),
            "method": group.method,
            "reason": group.reason,
            "unreadable": group.unreadable,
            "failure": group.failure,
        }
    ).decode()


def decode_groups(waiting: WaitingMerge, results: Sequence[str]) -> list[MergedGroup]:
    """Return the results of the tasks of a job. InputError if one is of another job, or two are of one task."""
    decoded = set[int]()
    return [_decode_group(result, waiting.tasks[: waiting.batch], decoded) for result in results]


def _decode_group(text: str, tasks: tuple[MergeTask, ...], decoded: set[int]) -> MergedGroup:
    """Return the result of a task, and add its number to `decoded`: one group must not be committed twice."""
    try:
        document = orjson.loads(text)
        number = as_whole(document["number"])
        if not 0 <= number < len(tasks):
            raise ValueError("it is of another job")
        if number in decoded:
            raise ValueError("its group has a result already")
        decoded.add(number)
        return _group(document, tasks[number])
    except (ValueError, KeyError, TypeError, AttributeError) as reason:
        raise InputError(f"the result of a task is not the result of a merge: {reason}") from None


def _group(document: Any, task: MergeTask) -> MergedGroup:
    sizes = {source.key: source.size for source in task.sources}
    named = set(map(as_text, document["sources"]))
    sources = tuple(
        key for key in sizes if key in named
    )  # in the order of the task, which is that of their rows
    unreadable = tuple((as_text(key), as_text(reason)) for key, reason in document["unreadable"])
    if not {*named, *(key for key, _ in unreadable)} <= sizes.keys():
        raise ValueError("it names a split of another group")
    add = None if document["add"] is None else _action(document["add"], AddFile)
    if add is not None:
        folder = partition_path(task.partition_values, task.metadata.partition_columns)
        begin = f"{folder}/splits/split-".lstrip("/")
        merged = [source for source in task.sources if source.key in sources]
        rows = [source.num_live for source in merged]
        has_deletes = any(source.delta_log is not None for source in merged)
        if not is_split_key(check_key(task.uri, add.path)) or not add.path.startswith(begin):
            raise ValueError("its split is not in the partition of its group")
        if add.partition_values != task.partition_values or len(merged) < (1 if has_deletes else 2):
            raise ValueError("its split is not of its group")
        if None not in rows and sum(count or 0 for count in rows) != add.num_records:
            raise ValueError("its split has another number of rows")
    return MergedGroup(
        sources=sources,
        size=sum(sizes[key] for key in sources),
        add=add,
        method=None if document["method"] is None else as_text(document["method"]),
        reason=None if document["reason"] is None else as_text(document["reason"]),
        unreadable=unreadable,
        failure=None if document["failure"] is None else as_text(document["failure"]),
        delta_logs={
            source.key: source.delta_log.key
            for source in task.sources
            if source.delta_log is not None and source.key in sources
        },
    )


def _source(
    uri: str, key: Any, size: Any, num_records: Any, num_merge_ops: Any, delta_log: Any
) -> SourceSplit:
    if not is_split_key(check_key(uri, as_text(key))):
        raise ValueError("it names a file that is not a split")
    rows = None if num_records is None else as_whole(num_records)
    log = None if delta_log is None else DeltaLogRef(as_text(delta_log[0]), as_whole(delta_log[1]))
    return SourceSplit(key, as_whole(size), rows, as_whole(num_merge_ops), log)


def _action(document: Any, kind: Any) -> Any:
    try:
        (action,) = from_document(document)
    except FieldError as reason:
        raise ValueError(str(reason)) from None
    if not isinstance(action, kind):
        raise TypeError("it holds another action")
    return action
