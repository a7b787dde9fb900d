"""What is true of every table at every moment, whatever happened to it. Tests of all kinds end with these."""

from __future__ import annotations

from indextables.errors import ObjectNotFoundError
from indextables.log import (
    LOG_DIRECTORY,
    AddFile,
    CommitInfo,
    RemoveFile,
    cache,
    load_snapshot,
    read_version,
    split_key,
    version_key,
)
from indextables.storage import Store


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
    files = [name for name in names if name.endswith(".json")]
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
