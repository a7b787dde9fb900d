"""Claiming a name: one create-if-absent decides who has it, and its answer is never believed blindly.

A store's answer to a create proves nothing but success. A lost answer, an error after the fact, and a conflict with
one's own repeated request all look alike, so after anything else the object is read back: own mark in it, ours;
another's, lost the race; absent, the same bytes are sent again.
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


@dataclass(frozen=True)
class Claim:
    """An object to be created by one of many. `is_ours` finds the mark of this writer in what is there.

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
    """Create the object if it is absent: True if this call did it, False if there is one.

    For objects that several writers may create and of which any is as good. StorageError if the store fails.
    """
    failure: Exception | None = None
    for _ in range(_CREATE_TRIES):
        try:
            store.create(key, data)
        except StorageError as reason:  # there, or it was created and the answer is lost, or it was not
            failure = reason
        else:
            return True
        try:
            store.head(key)
        except ObjectNotFoundError:
            continue
        return False
    assert failure is not None
    raise failure


def claim(store: Store, wanted: Claim, backoff: Backoff) -> bool:
    """Create the object: True if it is ours, False if another writer's.

    CommitUnknownError when that cannot be found out; any other error when nothing can have been written.
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
        except Exception as reason:  # noqa: BLE001 - whatever happened, the object says how it ended
            doubt = reason
        else:
            return True
        ours = _is_ours(store, wanted, backoff)
        if ours is not None:
            return ours
        backoff.pause(attempt)
    if doubt is None:
        raise CommitConflictError(
            f"{store.uri} says that {wanted.what} is there and shows none; try again later"
        )
    # A request that was given up may still be under way in the network and land any time.
    raise CommitUnknownError(
        f"the store at {store.uri} failed every time it was sent {wanted.what}, which may still arrive; "
        f"{wanted.advice} before you write again"
    ) from doubt


def _is_ours(store: Store, wanted: Claim, backoff: Backoff) -> bool | None:
    """Whose the object is, or None where there is none."""
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
        f"the store at {store.uri} failed after it was sent {wanted.what}, which cannot be read back; "
        f"{wanted.advice} before you write again"
    ) from failure
