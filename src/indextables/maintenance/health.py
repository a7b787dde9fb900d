"""The health of a table: what is wrong or costs time, and the command that helps. Nothing is changed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Literal

from indextables.config import Settings
from indextables.errors import IndexTablesError
from indextables.log import Snapshot
from indextables.log.cleanup import missing_files
from indextables.maintenance.merge_plan import MergeOptions, plan_merge
from indextables.maintenance.purges import purge
from indextables.maintenance.state_description import describe_state
from indextables.runtime import current, now_ms
from indextables.split import open_bundle
from indextables.state import KEY
from indextables.storage import Store

Severity = Literal["ok", "warning", "error"]

_SMALL_TARGET: Final = 256 << 20
_MANY_SMALL: Final = 10
_SKEW: Final = 10
_FEWEST_PARTITIONS: Final = 4
_VERSIONS_AFTER_STATE: Final = 50
_PURGEABLE_SHARE: Final = 0.1
_MEGABYTE: Final = 1 << 20
_READERS: Final = 8
_CHUNK: Final = 8 << 20
_NAMED: Final = 3


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `number` is its figure, `command` the arguments of `indextables` that help."""

    check: str
    severity: Severity
    message: str
    number: int = 0
    command: str = ""


def check_health(
    store: Store, snapshot: Snapshot, settings: Settings, *, deep: bool = False
) -> list[Finding]:
    """Return what was found, in a fixed order of checks. `deep` also reads every split and verifies its checksums.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-health", pa.table({"n": [1]}))
    >>> table = it.open("memory://doc-health")
    >>> from indextables.storage import open_store
    >>> {finding.severity for finding in check_health(open_store(table.uri), table.snapshot, table.settings)}
    {'ok'}
    """
    files = snapshot.files.entries().select([KEY, "size", "partitionValues"]).to_pylist()
    findings = [
        _log(snapshot),
        *_missing(store, files),
        _small_splits(snapshot, settings),
        _skew(files),
        _state(store, snapshot, settings),
        _purgeable(store, settings, files),
        _unreadable(snapshot),
    ]
    if deep:
        findings.append(_checksums(store, files))
    return findings


def _log(snapshot: Snapshot) -> Finding:
    if snapshot.gap is None:
        return Finding("log", "ok", f"complete up to version {snapshot.version}", snapshot.version)
    message = (
        f"version {snapshot.gap.first} is missing although version {snapshot.gap.next} exists; the table can be read "
        f"up to version {snapshot.version} and not be written"
    )
    return Finding("log", "error", message, snapshot.gap.first, "repair {log} --to NEW_LOG")


def _missing(store: Store, files: list[dict[str, Any]]) -> Iterator[Finding]:
    gone = missing_files(store, [file[KEY] for file in files])
    if not gone:
        yield Finding(
            "files", "ok", f"{_count_text(len(files), 'split')} in the store, none missing", len(files)
        )
        return
    message = f"{len(gone)} of {len(files)} splits are missing: {_some(gone)}"
    yield Finding("files", "error", message, len(gone), "repair {log} --to NEW_LOG")


def _small_splits(snapshot: Snapshot, settings: Settings) -> Finding:
    try:
        options = MergeOptions(target_size=_SMALL_TARGET)
        groups = plan_merge(snapshot, options, settings, now=now_ms())
    except IndexTablesError as reason:
        return Finding("small splits", "warning", str(reason))
    small = sum(len(group.sources) for group in groups)
    if small < _MANY_SMALL * max(len(groups), 1):
        few = f"{_count_text(small, 'small split')}, too few to be worth merging"
        return Finding("small splits", "ok", few if small else "no splits that would be merged", small)
    message = f"{small} small splits can become {len(groups)}: searches open fewer files"
    return Finding("small splits", "warning", message, small, "merge {table} --target 256M")


def _skew(files: list[dict[str, Any]]) -> Finding:
    sizes: dict[tuple[Any, ...], int] = {}
    for file in files:
        partition = tuple(sorted(map(tuple, file["partitionValues"] or ())))
        sizes[partition] = sizes.get(partition, 0) + (file["size"] or 0)
    if len(sizes) < _FEWEST_PARTITIONS:
        return Finding("skew", "ok", _count_text(len(sizes), "partition"), len(sizes))
    largest, middle = max(sizes.values()), median(sizes.values())
    if largest <= _SKEW * max(middle, 1):
        return Finding("skew", "ok", f"{len(sizes)} partitions of similar size", len(sizes))
    times = int(largest / max(middle, 1))
    name = "/".join(f"{key}={value}" for key, value in max(sizes, key=sizes.__getitem__))
    message = (
        f"partition {name} has {times} times the bytes of the median; partition by a column with even values"
    )
    return Finding("skew", "warning", message, times)


def _state(store: Store, snapshot: Snapshot, settings: Settings) -> Finding:
    state = describe_state(store, settings)
    behind = snapshot.version - state.version if state.format != "none" else snapshot.version + 1
    if state.needs_compaction:
        message = (
            f"{state.num_tombstones} tombstones over {state.num_files} files: the state should be compacted"
        )
        return Finding("state", "warning", message, state.num_tombstones, "checkpoint {table}")
    if behind > _VERSIONS_AFTER_STATE:
        message = f"{behind} versions are newer than the newest state: opening the table reads each of them"
        return Finding("state", "warning", message, behind, "checkpoint {table}")
    return Finding("state", "ok", state.status, state.num_tombstones)


def _purgeable(store: Store, settings: Settings, files: list[dict[str, Any]]) -> Finding:
    try:
        purged = purge(store, settings, dry_run=True)
    except IndexTablesError as reason:
        return Finding("purge", "warning", f"what can be purged is unknown: {reason}")
    size = int(purged.size_mb_deleted * _MEGABYTE)
    live = sum(file["size"] or 0 for file in files)
    if size <= _PURGEABLE_SHARE * live:
        return Finding("purge", "ok", purged.message, size)
    message = f"{purged.message}: {purged.size_mb_deleted:.1f} MiB, against {live / _MEGABYTE:.1f} MiB of live splits"
    return Finding("purge", "warning", message, size, "purge {table}")


def _unreadable(snapshot: Snapshot) -> Finding:
    skips = snapshot.extras.skips
    if not skips:
        return Finding("unreadable splits", "ok", "no merge has met a split that it could not read")
    message = f"merges could not read {_count_text(len(skips), 'split')}: {_some(list(skips))}"
    return Finding("unreadable splits", "error", message, len(skips), "doctor {table} --deep")


def _checksums(store: Store, files: list[dict[str, Any]]) -> Finding:
    damaged = [
        problem for problem in current().threads.map(lambda f: _verify(store, f), files, _READERS) if problem
    ]
    if not damaged:
        return Finding(
            "checksums", "ok", f"{_count_text(len(files), 'split')} read, every checksum is right", len(files)
        )
    message = f"{len(damaged)} of {len(files)} splits are damaged: {_some(damaged)}"
    return Finding("checksums", "error", message, len(damaged), "history {table}")


def _verify(store: Store, file: Mapping[str, Any]) -> str | None:
    """Read a split; return what is wrong with it, or None. Memory does not grow with the split."""
    try:
        bundle = open_bundle(store, file[KEY], file["size"])
        for member in bundle.members.values():
            crc, end = 0, member.offset + member.length
            for start in range(member.offset, end, _CHUNK):
                crc = zlib.crc32(bundle.range(start, min(_CHUNK, end - start)), crc)
            if member.crc32 is not None and crc != member.crc32:
                raise bundle.damaged(f"the checksum of {member.name!r} is wrong")
    except IndexTablesError as reason:
        return str(reason)
    return None


def _count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
