"""Claiming a name: writers create the same object, and exactly one of them succeeds.

Of the answers to a create only success proves anything. A writer cannot tell a lost answer from an error after the
object was created, nor from a conflict with its own request that the network repeated. So after every other answer it
reads the object back. With its own mark in the object, the claim has succeeded. With another mark, another writer was
faster. If there is no object, the writer sends the same bytes again.
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
    ObjectNotFoundError,
    StorageDeniedError,
    StorageError,
    StorageFullError,
    UnsafeStoreError,
)
from indextables.storage.store import Store

READ_BACKS: Final = 5
_SAME_NAME_TRIES: Final = 10
_CREATE_TRIES: Final = 3


@dataclass(frozen=True)
class Backoff:
    """Pauses up to a limit that doubles, of random length, so that writers that met do not meet again."""

    base_ms: int
    max_ms: int
    rng: random.Random
    sleep: Callable[[float], None]

    @classmethod
    def of(cls, settings: Settings, rng: random.Random, sleep: Callable[[float], None]) -> Backoff:
        return cls(settings.get(keys.RETRY_BASE_DELAY_MS), settings.get(keys.RETRY_MAX_DELAY_MS), rng, sleep)

    def pause(self, attempt: int) -> None:
        self.sleep(self.rng.uniform(0, min(self.max_ms, self.base_ms << attempt)) / 1000)


@dataclass(frozen=True)
class Claim:
    """An object that one of many writers creates. `is_ours` finds the mark of this writer in the bytes of an object.

    `what` names it in errors, and `advice` says what to do when its writer is unknown. No object of more than
    `limit` bytes is read back.
    """

    key: str
    data: bytes
    is_ours: Callable[[bytes], bool]
    what: str
    advice: str
    limit: int | None = None


def create_once(store: Store, key: str, data: bytes) -> bool:
    """Create the object if it does not exist. Return True if this call did, False if it exists.

    For objects of which it does not matter who created them. StorageError if the store fails.
    """
    failure: Exception | None = None
    for _ in range(_CREATE_TRIES):
        try:
            store.create(key, data)
        except (
            StorageError
        ) as reason:  # it existed, or it was created and the answer was lost, or it was not created
            failure = reason
        else:
            return True
        if store.exists(key):
            return False
    assert failure is not None
    raise failure


def claim(store: Store, wanted: Claim, backoff: Backoff) -> bool:
    """Create the object. Return True if it is this writer's, False if it is another's.

    CommitUnknownError if that cannot be determined. Any other error means that nothing was written.
    """
    doubt: Exception | None = None
    for attempt in range(_SAME_NAME_TRIES):
        try:
            store.create(wanted.key, wanted.data)
        except (StorageDeniedError, StorageFullError, UnsafeStoreError):
            if doubt is None:
                raise
        except ObjectExistsError:
            pass
        except Exception as reason:  # noqa: BLE001 - the object itself shows how it ended
            doubt = reason
        else:
            return True
        ours = _is_ours(store, wanted, backoff)
        if ours is not None:
            return ours
        backoff.pause(attempt)
    if doubt is None:
        raise CommitConflictError(
            f"{store.uri} reports that {wanted.what} exists, and does not find it; try again later"
        )
    # A request that failed may still be on its way, and create the object later.
    raise CommitUnknownError(
        f"the store at {store.uri} failed each of the {_SAME_NAME_TRIES} times it was sent {wanted.what}, which may "
        f"still be created; "
        f"{wanted.advice} before you write again"
    ) from doubt


def _is_ours(store: Store, wanted: Claim, backoff: Backoff) -> bool | None:
    """Return True if the object has this writer's mark, False if it has another, None if there is no object."""
    failure: Exception | None = None
    for attempt in range(READ_BACKS):
        try:
            return wanted.is_ours(store.get(wanted.key, wanted.limit))
        except ObjectNotFoundError:
            return None
        except (StorageError, CorruptTableError) as reason:
            failure = reason
            backoff.pause(attempt)
    raise CommitUnknownError(
        f"the store at {store.uri} failed after it was sent {wanted.what}, which could not be read back in "
        f"{READ_BACKS} attempts; "
        f"{wanted.advice} before you write again"
    ) from failure
