"""A check that a store honours conditional creates. On one that does not, a table would lose commits silently.

Some servers accept the precondition and ignore it. So before its first create below a root, a process creates one new
key twice: the second create must fail.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final, TypeVar

from indextables.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageDeniedError,
    StorageError,
    UnsafeStoreError,
)
from indextables.runtime import CacheSpec, current, new_id
from indextables.storage.store import LOG_DIRECTORY

Create = Callable[[str, bytes], None]

T = TypeVar("T")

_PROBE_PREFIX: Final = f"{LOG_DIRECTORY}/_probe-"
_TRIES: Final = 5
_TRUSTED: Final = CacheSpec[str, bool]("stores with conditional creates", entries=1000)


def check_conditional_create(uri: str, create: Create, delete: Callable[[str], None], *, place: str) -> None:
    """Raise UnsafeStoreError if a create can replace an object of the store. Checked once per process and `place`."""

    def probe() -> bool:
        key = _create_key(create)
        try:
            refused = _is_refused(create, key)
        finally:
            # A writer may lack the permission to delete, and an object that stays is harmless.
            with contextlib.suppress(StorageError):
                delete(key)
        if not refused:
            raise UnsafeStoreError(
                f"the store of {uri} ignores conditional creates (If-None-Match), so two writers could overwrite "
                f"each other's commits; put the table on a store that honours them"
            )
        return True

    current().cache(_TRUSTED).make_once(place, probe)


def _create_key(create: Create) -> str:
    """Create an object under a new key and return the key. After any answer but success, try another key."""

    def first() -> str:
        key = f"{_PROBE_PREFIX}{new_id().hex}"
        create(key, b"first")
        return key

    return _retry(first)


def _is_refused(create: Create, key: str) -> bool:
    """Return True if a create of an existing key fails as it should. After a failure of another kind, try again."""

    def second() -> bool:
        try:
            create(key, b"second")
        except ObjectExistsError:
            return True
        return False

    return _retry(second)


def _retry(ask: Callable[[], T]) -> T:
    for _ in range(_TRIES - 1):
        try:
            return ask()
        except (StorageDeniedError, ObjectNotFoundError):  # another attempt would not help
            raise
        except StorageError:
            continue
    return ask()
