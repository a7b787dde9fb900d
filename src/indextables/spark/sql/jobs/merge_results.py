"""The results of the tasks of a merge, as text.

A result comes back in a request, so it is accepted only for a group of the job, with a new split of its partition and
the number of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from indextables.errors import InputError
from indextables.log import AddFile
from indextables.log.actions import FieldError, from_document, to_document
from indextables.log.cleanup import is_split_key
from indextables.maintenance import MergedGroup, MergeTask, SourceSplit
from indextables.schema import partition_path
from indextables.spark.sql.json_values import (
    as_all,
    as_count,
    as_list,
    as_object,
    as_optional,
    as_text,
)
from indextables.storage import check_key


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


def decode_groups(results: Sequence[str], batch: Sequence[MergeTask]) -> list[MergedGroup]:
    """Return the results of the tasks. InputError if one is not of a group of the batch, or two are of one group."""
    decoded = set[int]()
    return [_decode_group(result, batch, decoded) for result in results]


def _decode_group(text: str, batch: Sequence[MergeTask], decoded: set[int]) -> MergedGroup:
    """Return the result of a task, and add its number to `decoded`: one group must not be committed twice."""
    try:
        document = orjson.loads(text)
        number = as_count(document["number"], len(batch))
        if number in decoded:
            raise ValueError("its group has a result already")
        decoded.add(number)
        return _merged_group(document, batch[number])
    except (ValueError, KeyError, TypeError) as reason:
        raise InputError(f"the result of a task is not the result of a merge: {reason}") from None


def _merged_group(document: Any, group: MergeTask) -> MergedGroup:
    sizes = {source.key: source.size for source in group.sources}
    named = set(as_all(as_text, document["sources"]))
    unreadable = tuple(
        (as_text(key), as_text(reason)) for key, reason in map(as_list, as_list(document["unreadable"]))
    )
    others = {*named, *(key for key, _ in unreadable)} - sizes.keys()
    if others:
        raise ValueError(f"it names {min(others)!r:.200}, which is a split of another group")
    # In the order of the task, which is that of their rows.
    merged = tuple(source for source in group.sources if source.key in named)
    add = None if document["add"] is None else as_action(AddFile, document["add"])
    if add is not None:
        _check_new_split(add, merged, group)
    return MergedGroup(
        sources=tuple(source.key for source in merged),
        size=sum(source.size for source in merged),
        add=add,
        method=as_optional(as_text, document["method"]),
        reason=as_optional(as_text, document["reason"]),
        unreadable=unreadable,
        failure=as_optional(as_text, document["failure"]),
        delta_logs={source.key: source.delta_log.key for source in merged if source.delta_log is not None},
    )


def _check_new_split(add: AddFile, merged: tuple[SourceSplit, ...], group: MergeTask) -> None:
    """Raise ValueError for a new split that cannot be the merged ones, of their partition and with their rows."""
    folder = partition_path(group.partition_values, group.metadata.partition_columns)
    begin = f"{folder}/splits/split-".lstrip("/")
    name = f"its split {add.path!r:.200}"
    if not is_split_key(check_key(group.uri, add.path)) or not add.path.startswith(begin):
        raise ValueError(f"{name} is not in the partition of its group, below {begin!r}")
    if add.partition_values != group.partition_values:
        raise ValueError(f"{name} has other partition values than its group")
    least = 1 if any(source.delta_log is not None for source in merged) else 2
    if len(merged) < least:
        raise ValueError(
            f"{name} is merged from {len(merged)} splits of its group, and {least} are the fewest"
        )
    rows = [source.num_live for source in merged]
    if None not in rows and sum(count or 0 for count in rows) != add.num_records:
        raise ValueError(
            f"{name} has {add.num_records} rows, and the splits that it replaces have another number"
        )


def as_action(kind: Any, document: Any) -> Any:
    """Return the one action in a document. ValueError or TypeError for another document."""
    try:
        (action,) = from_document(as_object(document))
    except FieldError as reason:
        raise ValueError(str(reason)) from None
    if not isinstance(action, kind):
        raise TypeError("it holds another action")
    return action
