"""What is true of every table at every moment, whatever happened to it. Tests of all kinds end with these.

The first part looks at a table alone. The second needs to know more than the table does: every version that ever
was (`replayed`), from a store that forgets nothing, and where it says so a ledger of what writers meant and were told.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from indextables.errors import CorruptTableError, ObjectNotFoundError, VersionNotFoundError
from indextables.log import (
    LOG_DIRECTORY,
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    RemoveFile,
    Snapshot,
    Txn,
    load_snapshot,
    read_version,
    split_key,
    version_key,
)
from indextables.log.actions import checkpoint_of, version_of
from indextables.log.snapshots import (
    VersionSelector,
    cache,
    read_snapshot,
    snapshot_of_checkpoint,
    snapshot_of_state,
)
from indextables.log.versions import CLEANUP_DIRECTORY, NO_WATERMARK, LogListing, decode_record
from indextables.state import LAST_CHECKPOINT, state_of
from indextables.storage import Store
from support.simulation.ledger import Attempt, Ledger, Observation, Refusal, rows_of


def check_table(store: Store) -> int:
    """All of them, from the store and not from memory; the newest version."""
    cache.forget(store.uri)
    newest = check_versions(store)
    check_removes(store, newest)
    check_live_files(store)
    return newest


def check_versions(store: Store) -> int:
    """Versions are dense from 0, each by a transaction of its own, and their times never go backwards."""
    names = [info.key for info in store.list_from(LOG_DIRECTORY)]
    files = [name for name in names if name.endswith(".json") and name.count("/") == 1]
    assert files == [version_key(version) for version in range(len(files))], "versions are not dense"
    seen: dict[str, int] = {}
    before = -1
    for version in range(len(files)):
        info = _commit_info(store, version)
        assert info.txn_id not in seen, (
            f"versions {seen.get(info.txn_id or '')} and {version} are one transaction"
        )
        seen[info.txn_id or ""] = version
        assert info.timestamp is not None
        assert info.timestamp > before, f"version {version} is not younger than the one before"
        before = info.timestamp
    return len(files) - 1


def check_removes(store: Store, newest: int) -> None:
    """Every version removes only what lived before it, and adds only what did not."""
    live: set[str] = set()
    for version in range(newest + 1):
        for action in read_version(store, version) or []:
            if isinstance(action, RemoveFile):
                key = split_key(action.path, store.uri)
                assert key in live, f"version {version} removes {key}, which did not live"
                live.remove(key)
            elif isinstance(action, AddFile):
                key = split_key(action.path, store.uri)
                assert key not in live, f"version {version} adds {key}, which lived already"
                live.add(key)
    assert live == set(load_snapshot(store).files)


def check_live_files(store: Store) -> None:
    """Every live file is there, at its full size."""
    for key, file in load_snapshot(store).files.items():
        try:
            assert store.head(key).size == file.size, f"{key} has another size than the log says"
        except ObjectNotFoundError:
            raise AssertionError(f"{key} lives and does not exist") from None


def _commit_info(store: Store, version: int) -> CommitInfo:
    actions = read_version(store, version)
    assert actions, f"version {version} cannot be read"
    infos = [action for action in actions if isinstance(action, CommitInfo)]
    assert len(infos) == 1, f"version {version} has {len(infos)} commitInfo actions"
    return infos[0]


# With every version that ever was


class Replayed(NamedTuple):
    """The table at one version, by the plainest replay there is."""

    txn_id: str | None
    operation: str | None
    timestamp: int
    metadata: Metadata
    files: Mapping[str, AddFile]
    batches: Mapping[str, int]


def replayed(versions: Iterable[Sequence[Action]]) -> list[Replayed]:
    """The table at each of its versions."""
    found: list[Replayed] = []
    files: dict[str, AddFile] = {}
    batches: dict[str, int] = {}
    metadata: Metadata | None = None
    for actions in versions:
        info = next(action for action in actions if isinstance(action, CommitInfo))
        for action in actions:
            if isinstance(action, AddFile):
                files[action.path] = _as_first_added(action)
            elif isinstance(action, RemoveFile):
                files.pop(action.path, None)
            elif isinstance(action, Txn):
                batches[action.app_id] = action.version
            elif isinstance(action, Metadata):
                metadata = action
        assert metadata is not None, "a table without metadata"
        found.append(
            Replayed(info.txn_id, info.operation, info.timestamp or 0, metadata, dict(files), dict(batches))
        )
    return found


def _as_first_added(action: AddFile) -> AddFile:
    """A file that is added again with another delta log is as it was added first, but for its deleted rows."""
    if action.added_at_version is None:
        return action
    return replace(
        action,
        data_change=bool(action.added_data_change),
        added_at_version=None,
        added_at_timestamp=None,
        added_data_change=None,
    )


def check_transactions(versions: Sequence[Replayed]) -> None:
    """No transaction made two versions, and none is older than the one before."""
    seen: dict[str | None, int] = {}
    for number, version in enumerate(versions):
        assert version.txn_id not in seen, f"versions {seen[version.txn_id]} and {number} are one transaction"
        seen[version.txn_id] = number
        assert number == 0 or version.timestamp > versions[number - 1].timestamp, (
            f"version {number} is too old"
        )


def check_snapshot(snapshot: Snapshot, versions: Sequence[Replayed]) -> None:
    """What was read is one version, wholly: no mixture, nothing of another."""
    expected = versions[snapshot.version]
    what = f"what was read as version {snapshot.version}"
    assert snapshot.txn_id == expected.txn_id, f"{what} is of another transaction"
    assert dict(snapshot.files.items()) == expected.files, f"{what} has other files"
    assert dict(snapshot.txns) == expected.batches, f"{what} has other streaming batches"
    assert snapshot.metadata == expected.metadata, f"{what} has other metadata"
    assert snapshot.timestamp_ms == expected.timestamp, f"{what} has another time"


def check_states(store: Store, versions: Sequence[Replayed], *, misled: bool = False) -> None:
    """Every state and every checkpoint, by itself, says what the versions up to it say.

    Where listings do not show what exists (`misled`), a collection may have deleted a part of an older state.
    """
    names = [info.key for info in store.list_from(LOG_DIRECTORY)]
    for version in sorted({found for name in names if (found := state_of(name)) is not None}):
        with contextlib.suppress(*[CorruptTableError] if misled else []):
            check_snapshot(snapshot_of_state(store, version, LogListing((), (), ()), parallelism=1), versions)
    for version in sorted({found for name in names if (found := checkpoint_of(name)) is not None}):
        check_snapshot(snapshot_of_checkpoint(store, version), versions)


def check_readable_versions(
    store: Store, versions: Sequence[Replayed], chosen: Iterable[int] | None = None
) -> None:
    """Every version of which enough is left reads as it was; of the others there is an error, never an answer.

    All of them are asked for, or those that are `chosen`, and always the newest.
    """
    names = {info.key for info in store.list_from(LOG_DIRECTORY)}
    for number, version in enumerate(versions):
        if version_key(number) in names and _commit_info(store, number).txn_id != version.txn_id:
            names.remove(
                version_key(number)
            )  # a stray, which came after clean-up and is no part of the table
    for number in range(len(versions)) if chosen is None else chosen:
        found: Snapshot | None = None
        with contextlib.suppress(VersionNotFoundError, CorruptTableError):
            found = read_snapshot(store, VersionSelector(number))
        if found is not None:
            check_snapshot(found, versions)
        assert found is not None or not is_derivable(number, names), f"version {number} cannot be read"
    newest = read_snapshot(store)
    assert newest.version == len(versions) - 1, f"the table is read as of version {newest.version}"
    assert newest.gap is None, "the table has a gap"
    check_snapshot(newest, versions)


def check_deletion(key: str, names: Collection[str], newest: int) -> None:
    """Clean-up has deleted `key`, and the newest version can still be made from what is left."""
    assert version_of(key) != newest, f"version {newest} is the current one and was deleted"
    assert is_derivable(newest, names), f"without {key}, version {newest} cannot be read any more"


def check_written_once(key: str, before: tuple[bytes, int] | None, after: tuple[bytes, int] | None) -> None:
    """A file of the log never changes, but for the hint; a manifest may be put again, with the same content."""
    if before is None or after is None or not key.startswith(f"{LOG_DIRECTORY}/"):
        return
    assert before[0] == after[0] or key == LAST_CHECKPOINT, f"{key} was replaced"


def check_added(
    actions: Sequence[Action], before: Sequence[frozenset[str]], names: Collection[str]
) -> frozenset[str]:
    """A version was made, and every file that it brings into the table is there; the files that live from it on."""
    added = {key for action in actions if isinstance(action, AddFile) for key in _keys(action)}
    removed = {key for action in actions if isinstance(action, RemoveFile) for key in _keys(action)}
    missing = sorted(added - set(names))
    assert not missing, f"version {len(before)} names {missing}, which purge has deleted"
    return frozenset(((before[-1] if before else frozenset()) - removed) | added)


def _keys(action: AddFile | RemoveFile) -> list[str]:
    """The split of an action, and its delta log if it has one."""
    return [action.path] if action.delta_log is None else [action.path, action.delta_log]


def check_split_deletion(key: str, names: Collection[str], versions: Mapping[int, frozenset[str]]) -> None:
    """A split was deleted, and no version that can be read has it; `versions` are their files by number."""
    for number, files in versions.items():
        needed = key in files and (number == max(versions) or is_derivable(number, names))
        assert not needed, f"{key} was deleted, and version {number} needs it"


def is_derivable(version: int, names: Collection[str]) -> bool:
    """Whether there is a state, a checkpoint or the beginning, and every version file from there on."""
    starts = {-1, *(found for found in _starts(names) if found <= version)}
    return all(version_key(number) in names for number in range(max(starts) + 1, version + 1))


def is_late(key: str, objects: Mapping[str, tuple[bytes, int]]) -> bool:
    """Whether this is the state or the file of a version that clean-up has passed.

    No rule says that such a state can be read, and such a file is a stray that its writer takes back.
    """
    number = version_of(key)
    (version,) = _starts([key]) or {NO_WATERMARK if number is None else number}
    names = [name for name in objects if re.fullmatch(rf"{CLEANUP_DIRECTORY}/\d{{20}}\.json", name)]
    links = [decode_record(objects[name][0], name) for name in names]
    return NO_WATERMARK < version <= max((link.last for link in links), default=NO_WATERMARK)


def _starts(names: Iterable[str]) -> set[int]:
    found = {read(name) for name in names for read in (state_of, checkpoint_of)}
    return {version for version in found if version is not None}


# With what writers meant and were told


def check_ledger(versions: Sequence[Replayed], ledger: Ledger) -> None:
    """All that follows from the ledger."""
    meant = ledger.by_transaction()
    places = {version.txn_id: number for number, version in enumerate(versions)}
    is_altered = any(attempt.kind == "alter" for attempt in ledger.attempts)
    for attempt in ledger.attempts:
        assert is_altered or attempt.error != "SchemaError", f"no column was changed: {attempt.reason}"
        check_answer(attempt, places, versions)
    check_rows(versions, meant, ledger.contents)
    check_deletes(versions, ledger)
    check_batches(versions, meant)
    for seen in ledger.observations:
        check_observation(seen, versions)
    for refusal in ledger.refusals:
        check_refusal(refusal)
    for history in ledger.histories:
        for number, txn_id in history.items():
            assert txn_id == versions[number].txn_id, f"the history names another maker of version {number}"


REASONS = {"", "CommitConflictError", "TableNotFoundError", "VersionNotFoundError", "SchemaError"}
"""Why a commit may be refused although the store works; the first is that there was nothing to do."""


def check_answer(attempt: Attempt, places: Mapping[str | None, int], versions: Sequence[Replayed]) -> None:
    """Who was told that a commit is there can find it, who was told that it is not cannot; doubt has a reason."""
    made = [places[txn_id] for txn_id in attempt.txn_ids if txn_id in places]
    told = f"{attempt.kind} of {attempt.actor} ({attempt.outcome} {attempt.error} {attempt.reason})"
    if attempt.outcome == "acknowledged" and attempt.kind == "restore" and not made:
        assert attempt.target is not None
        assert attempt.version is not None
        restored = _lasting(versions[attempt.target].files)
        assert _lasting(versions[attempt.version].files) == restored, (
            f"{told}: nothing was done, and it was needed"
        )
    elif attempt.kind == "purge":
        assert len(made) <= 1, f"{told}: it made versions {made}"
        refused = attempt.outcome == "refused" and attempt.error not in REASONS
        assert attempt.unanswered or not refused, f"{told}: the store had answered every question"
    elif attempt.kind == "upkeep":  # its versions change nothing, and it may fail after one of them
        refused = attempt.outcome == "refused" and attempt.error not in REASONS
        assert attempt.unanswered or not refused, f"{told}: the store had answered every question"
    elif attempt.kind == "merge":  # a version for each batch; those before an error stay
        refused = attempt.outcome == "refused" and attempt.error not in REASONS
        assert attempt.unanswered or not (refused or attempt.outcome == "unknown"), (
            f"{told}: the store had answered every question"
        )
        groups = sum(_merged_groups(versions, number) for number in made)
        assert attempt.outcome != "acknowledged" or groups == attempt.groups, (
            f"{told}: it says that {attempt.groups} groups were merged, and versions {made} have {groups}"
        )
    elif attempt.outcome == "acknowledged" and attempt.kind == "delete" and not made:
        pass  # there was nothing to delete: see `check_deletes`
    elif attempt.outcome == "acknowledged":
        assert made == [attempt.version], f"{told}: it is not in version {attempt.version}"
    elif attempt.outcome in ("refused", "skipped"):
        assert not made, f"{told}: and version {made} has it"
        purged = (
            attempt.kind == "restore" and attempt.error == "CorruptTableError"
        )  # of what it would bring back
        assert attempt.unanswered or purged or attempt.error in REASONS, (
            f"{told}: the store had answered every question"
        )
    elif attempt.outcome == "unknown":
        assert attempt.unanswered, f"{told}: the store had answered every question"


def _merged_groups(versions: Sequence[Replayed], number: int) -> int:
    """How many groups a version of a merge has merged; those that it has undone count against it."""
    before, after = versions[number - 1].files.keys(), versions[number].files.keys()
    return -len(before - after) if versions[number].operation == "UNDO MERGE" else len(after - before)


def _lasting(files: Mapping[str, AddFile]) -> dict[str, AddFile]:
    """What the files are, whatever the commit that listed them last was for."""
    return {key: replace(file, data_change=True) for key, file in files.items()}


def check_rows(
    versions: Sequence[Replayed], meant: Mapping[str, Attempt], contents: Mapping[str, bytes]
) -> None:
    """No row lost and none twice: each version is what its maker meant, applied to the one before."""
    rows: list[dict[str, str]] = []
    for number, version in enumerate(versions):
        attempt = meant[version.txn_id or ""]
        before = rows[-1] if rows else {}
        added = rows_of(attempt.adds, contents)
        match attempt.kind:
            case "append":
                expected = before | added
            case "delete":
                expected = {row: day for row, day in before.items() if row not in attempt.victims}
            case "upsert" | "update" | "replace where":
                assert attempt.victims <= before.keys(), f"version {number} changes rows that are gone"
                expected = {row: day for row, day in before.items() if row not in attempt.victims} | added
            case "replace":
                days = set(added.values())
                expected = {row: day for row, day in before.items() if day not in days} | added
            case "overwrite":
                expected = added
            case "drop":
                expected = {row: day for row, day in before.items() if day != attempt.day}
            case "restore":
                expected = rows[attempt.target or 0]
            case _:
                expected = before
        rows.append(rows_of(version.files.values(), contents))
        assert rows[-1] == expected, f"version {number} is not what a {attempt.kind} makes of the one before"


def check_deletes(versions: Sequence[Replayed], ledger: Ledger) -> None:
    """The version that a delete was told has none of the rows that it deleted."""
    for attempt in ledger.attempts:
        if attempt.kind == "delete" and attempt.version is not None:
            rows = rows_of(versions[attempt.version].files.values(), ledger.contents)
            assert not attempt.victims & rows.keys(), f"a delete of {attempt.actor} left rows behind"


def check_batches(versions: Sequence[Replayed], meant: Mapping[str, Attempt]) -> None:
    """A batch of an idempotent writer is there once at most, and batches are there in order."""
    newest: dict[str, int] = {}
    for version in versions:
        attempt = meant[version.txn_id or ""]
        if attempt.batch is not None:
            app, number = attempt.batch
            assert number == newest.get(app, -1) + 1, f"batch {number} of {app} came after {newest.get(app)}"
            newest[app] = number


def check_observation(seen: Observation, versions: Sequence[Replayed]) -> None:
    """A reader saw one version, and none that was older than what had been there, unless it was misled."""
    expected = versions[seen.version]
    assert seen.files == expected.files, f"{seen.reader} saw other files in version {seen.version}"
    assert seen.batches == expected.batches, f"{seen.reader} saw other batches in version {seen.version}"
    assert seen.misled or seen.version >= seen.floor, f"{seen.reader} saw {seen.version}, not {seen.floor}"


def check_refusal(refusal: Refusal) -> None:
    """A reader gets an error for what is not there, or when the store failed it; else it gets an answer."""
    absent = refusal.error == "VersionNotFoundError" or (
        refusal.error == "TableNotFoundError" and refusal.floor < 0
    )
    assert refusal.misled or absent, f"{refusal.reader} got a {refusal.error} from a store that works"
