"""Files on the driver's disk that hold a command while its tasks run: JSON of plain values, for this user only.

The JVM sends the name of the file back in a request, and anyone who can write SQL can write a request (see
`spark.request`). So only a file of this kind and of this user is read, its contents are checked, and its tasks delete
and read nothing but splits.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import orjson

from indextables.errors import IndexTablesError, InputError
from indextables.log.cleanup import StateRetention, is_data_key
from indextables.maintenance import PreparedPurge
from indextables.spark.sql.json_values import as_text, as_whole
from indextables.spark.sql.waiting_delete import WaitingDelete, delete_document, waiting_delete
from indextables.spark.sql.waiting_gather import WaitingGather, gather_document, waiting_gather
from indextables.spark.sql.waiting_merge import WaitingMerge, merge_document, waiting_merge
from indextables.spark.sql.waiting_prewarm import WaitingPrewarm, prewarm_document, waiting_prewarm
from indextables.storage import ObjectInfo, check_key, disk_errors

MAX_BYTES: Final = 1 << 30
"""About eight million splits."""

T = TypeVar("T")

_NAME: Final = re.compile(r"indextables-[a-z0-9_]+\.job")


@dataclass(frozen=True)
class WaitingPurge:
    """A purge that is prepared: all that is needed to run its tasks and to finish it."""

    uri: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    prepared: PreparedPurge


Waiting: TypeAlias = WaitingPurge | WaitingMerge | WaitingDelete | WaitingPrewarm | WaitingGather


def save(waiting: Waiting) -> str | None:
    """Write the file and return its name, or None if it would be too large."""
    match waiting:
        case WaitingMerge():
            values = merge_document(waiting)
        case WaitingDelete():
            values = delete_document(waiting)
        case WaitingPrewarm():
            values = prewarm_document(waiting)
        case WaitingGather():
            values = gather_document(waiting)
        case WaitingPurge():
            values = _document(waiting)
    document = orjson.dumps(values)
    if len(document) > MAX_BYTES:
        return None
    with disk_errors("save a job in", tempfile.gettempdir()):
        handle, path = tempfile.mkstemp(prefix="indextables-", suffix=".job")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(document)
        except BaseException:
            Path(path).unlink()
            raise
    return path


def read(file: str) -> Waiting:
    """Return the command that waits in a file. InputError for any file that `save` did not write."""
    try:
        document = orjson.loads(_bytes(file))
        return _READERS[document.get("kind", "purge")](document)
    except FileNotFoundError:
        raise InputError(f"there is no job in {file[:200]!r}; it may have been finished already") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexTablesError) as reason:
        raise InputError(f"{file[:200]!r} is not a job of this session: {reason}") from None


def remove(file: str) -> None:
    """Delete the file. Only for one that `read` has accepted."""
    Path(file).unlink(missing_ok=True)


def _bytes(file: str) -> bytes:
    directory, name = os.path.split(file)
    if directory != os.path.abspath(tempfile.gettempdir()) or not _NAME.fullmatch(name):  # noqa: PTH100
        raise ValueError("a job is a file indextables-*.job in the temporary directory")
    # Do not follow a link to another file, and do not wait for a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(file, flags), "rb") as source:
        info = os.fstat(source.fileno())
        is_private = stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077 and info.st_nlink == 1
        if not is_private or info.st_uid != os.geteuid():
            raise ValueError("it is not a file that only this user can read and write")
        if info.st_size > MAX_BYTES:
            raise ValueError(f"it has {info.st_size} bytes; the maximum is {MAX_BYTES}")
        return source.read(MAX_BYTES)


def _document(waiting: WaitingPurge) -> dict[str, Any]:
    prepared = waiting.prepared
    retention = prepared.retention
    return {
        "uri": waiting.uri,
        "options": dict(waiting.options),
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


def _waiting_purge(document: Any) -> WaitingPurge:
    uri = as_text(document["uri"])
    prepared = PreparedPurge(
        started_ms=as_whole(document["started_ms"]),
        hours=as_whole(document["hours"]),
        dry_run=False,
        retention=StateRetention(*_all(as_whole, document["retention"])),
        versions=_all(as_whole, document["versions"]),
        versions_deleted=as_whole(document["versions_deleted"]),
        states=_all(as_whole, document["states"]),
        states_deleted=as_whole(document["states_deleted"]),
        named=frozenset(_all(as_text, document["named"])),
        unnamed=(),
        splits=tuple(_split(uri, *entry) for entry in document["splits"]),
        spared=as_whole(document["spared"]),
        failures=_all(as_text, document["failures"]),
    )
    options = {as_text(key): as_text(value) for key, value in document["options"].items()}
    return WaitingPurge(uri, options, prepared)


_READERS: Final[dict[str, Callable[[Any], Waiting]]] = {
    "delete": waiting_delete,
    "gather": waiting_gather,
    "merge": waiting_merge,
    "prewarm": waiting_prewarm,
    "purge": _waiting_purge,
}


def _split(uri: str, key: Any, size: Any, modified_ms: Any) -> ObjectInfo:
    if not is_data_key(check_key(uri, as_text(key))):
        raise ValueError("it names a file that is neither a split nor a delta log")
    return ObjectInfo(key, as_whole(size), as_whole(modified_ms))


def _all(kind: Callable[[Any], T], values: Any) -> tuple[T, ...]:
    if not isinstance(values, list):
        raise TypeError("a value in it is not a list")
    return tuple(map(kind, values))
