"""Claiming a name: writers create the same object, and exactly one of them succeeds.

Any number of writers may create the object at the same time. The store lets one create succeed and never replaces the
object afterwards, so every writer that reads the object sees the same owner.

Success proves that the writer owns the object. A refusal (permission, quota, no conditional creates) proves that this
request wrote nothing. Any other answer proves nothing: the answer may have been lost after the object was created,
and "it exists" may be a conflict with the writer's own request, which the network repeated. Then the writer reads the
object back. With its own mark in the object, the claim has succeeded. With another mark, another writer was faster. If
there is no object, the writer sends the same bytes again. If an earlier request of the same writer still arrives, one
of the two creates fails, and the object has this writer's mark either way.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

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
from indextables.runtime import sleep
from indextables.storage.store import Store

_READ_BACKS: Final = 5
_SAME_NAME_TRIES: Final = 10
_CREATE_TRIES: Final = 3
_PAUSE_SECONDS: Final = 0.01
_MAX_PAUSE_SECONDS: Final = 1.0

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Backoff:
    """Pauses of random length, up to a limit that doubles, so that writers which collided do not collide again."""

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

    For objects that are the same whichever writer creates them. Raises StorageError if the store fails.
    """
    failure: Exception | None = None
    failures = 0
    for attempt in range(_SAME_NAME_TRIES):
        try:
            store.create(key, data)
        except ObjectExistsError as reason:
            # A store answers so too while another request for the same name is in progress, which may fail.
            failure = reason
        except StorageError as reason:
            # It was created and the answer was lost, or it was not created: `exists` tells.
            failure = reason
            failures += 1
        else:
            return True
        if store.exists(key):
            return False
        if failures == _CREATE_TRIES:
            break
        sleep(min(_MAX_PAUSE_SECONDS, _PAUSE_SECONDS * 2**attempt))
    assert failure is not None
    if isinstance(failure, ObjectExistsError):
        raise StorageError(
            f"the store at {store.uri} refused to create {key} because it exists, and then had no such object; try "
            "again later"
        )
    raise failure


def claim(store: Store, target: Claim, backoff: Backoff) -> bool:
    """Create the object. Return True if it is this writer's, False if it is another's.

    Raises CommitUnknownError if that cannot be determined. Any other error means that nothing was written.
    """
    unanswered = (
        f"the store at {store.uri} failed after it was sent {target.what}, which could not be read back in "
        f"{_READ_BACKS} attempts; {target.advice} before you write again"
    )
    doubt: Exception | None = None
    for attempt in range(_SAME_NAME_TRIES):
        try:
            store.create(target.key, target.data)
        except (StorageDeniedError, StorageFullError, UnsafeStoreError):
            # A refusal says that this request wrote nothing. An earlier one whose answer is in doubt may have.
            if doubt is None:
                raise
        except ObjectExistsError:
            pass
        except Exception as reason:  # noqa: BLE001 - the object itself shows how it ended
            doubt = reason
        else:
            return True
        ours = read_back(lambda: _is_ours(store, target), backoff, unanswered)
        if ours is not None:
            return ours
        backoff.pause(attempt)
    if doubt is None:
        raise CommitConflictError(
            f"the store at {store.uri} refused to create {target.what} because it exists, and then had no such object, "
            f"{_SAME_NAME_TRIES} times in a row; try again later"
        )
    # A request that failed may still be on its way, and create the object later.
    raise CommitUnknownError(
        f"the store at {store.uri} failed each of the {_SAME_NAME_TRIES} times it was sent {target.what}, which may "
        f"still be created; {target.advice} before you write again"
    ) from doubt


def read_back(question: Callable[[], Answer], backoff: Backoff, unanswered: str) -> Answer:
    """Return the answer to a question about an object that this writer has sent, by what the store has of it now.

    Raises CommitUnknownError with the message `unanswered` if the store fails each time, or what it has is damaged.
    """
    failure: Exception | None = None
    for attempt in range(_READ_BACKS):
        try:
            return question()
        except (StorageError, CorruptTableError) as reason:
            failure = reason
            backoff.pause(attempt)
    raise CommitUnknownError(unanswered) from failure


def _is_ours(store: Store, target: Claim) -> bool | None:
    """Return True if the object has this writer's mark, False if it has another, None if there is no object."""
    try:
        return target.is_ours(store.get(target.key, target.limit))
    except ObjectNotFoundError:
        return None
