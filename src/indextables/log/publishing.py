"""Publishing a version: one create-if-absent of its file decides, and its answer is never believed blindly.

A store's answer to a create proves nothing but success. A lost answer, an error after the fact, and a
conflict with one's own repeated request all look alike, so after anything else the version is read back: own
transaction id, committed; another's, lost the race; absent, the same number is tried again with the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    ObjectExistsError,
    StorageDeniedError,
    StorageError,
    UnsafeStoreError,
)
from indextables.log.actions import CommitInfo
from indextables.log.layout import version_key
from indextables.log.versions import read_version
from indextables.storage import Store

READ_BACKS: Final = 5
_SAME_NUMBER_TRIES: Final = 10


@dataclass(frozen=True)
class Backoff:
    """Pauses that double and are cut short at random, so that writers that met do not meet again."""

    base_ms: int
    max_ms: int
    rng: random.Random
    sleep: Callable[[float], None]

    @classmethod
    def of(cls, settings: Settings, rng: random.Random, sleep: Callable[[float], None]) -> Backoff:
        return cls(settings.get(keys.RETRY_BASE_DELAY_MS), settings.get(keys.RETRY_MAX_DELAY_MS), rng, sleep)

    def pause(self, attempt: int) -> None:
        self.sleep(self.rng.uniform(0, min(self.max_ms, self.base_ms << attempt)) / 1000)


def publish(store: Store, version: int, data: bytes, txn_id: str, backoff: Backoff) -> bool:
    """Create the version file: True if it is ours, False if another writer's.

    CommitUnknownError when that cannot be found out; any other error when nothing can have been written.
    """
    doubt: Exception | None = None
    for attempt in range(_SAME_NUMBER_TRIES):
        try:
            store.create(version_key(version), data)
        except (StorageDeniedError, UnsafeStoreError):
            if doubt is None:
                raise
        except ObjectExistsError:
            pass
        except Exception as reason:  # noqa: BLE001 - whatever happened, the version file says how it ended
            doubt = reason
        else:
            return True
        owner = _owner(store, version, txn_id, backoff)
        if owner is not None:
            return owner == txn_id
        backoff.pause(attempt)
    if doubt is None:
        raise CommitConflictError(
            f"{store.uri} says that version {version} is there and shows none; try again later"
        )
    # A request that was given up may still be under way in the network and land any time.
    raise CommitUnknownError(
        f"the store at {store.uri} failed every time it was sent version {version}, which may still arrive; "
        f"look in the history for a version with transaction id {txn_id} before you write again"
    ) from doubt


def _owner(store: Store, version: int, txn_id: str, backoff: Backoff) -> str | None:
    """The transaction id in the version file ("" if it has none), or None where there is no file."""
    failure: Exception | None = None
    for attempt in range(READ_BACKS):
        try:
            actions = read_version(store, version)
        except (StorageError, CorruptTableError) as reason:
            failure = reason
            backoff.pause(attempt)
            continue
        if actions is None:
            return None
        return next((a.txn_id for a in actions if isinstance(a, CommitInfo) and a.txn_id is not None), "")
    raise CommitUnknownError(
        f"the store at {store.uri} failed after it was sent version {version}, and the version cannot be read back; "
        f"look in the history for a version with transaction id {txn_id} before you write again"
    ) from failure
