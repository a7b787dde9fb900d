"""Does a store keep its word on conditional creates? A table on one that does not loses commits silently.

Some servers accept the precondition and ignore it. So the first create of a process below a root is preceded
by two creates of one new key: the second must be refused.
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

Create = Callable[[str, bytes], None]

T = TypeVar("T")

_PROBE_PREFIX: Final = "_transaction_log/_probe-"
_TRIES: Final = 5
_TRUSTED: Final = CacheSpec[str, bool]("stores with conditional creates", entries=1000)


def check_conditional_create(uri: str, create: Create, delete: Callable[[str], None], *, place: str) -> None:
    """UnsafeStoreError if the store at `uri` lets a create replace an object. Asks once per process and `place`."""

    def probe() -> bool:
        key = _created(create)
        try:
            refused = _refused(create, key)
        finally:
            # What stays is harmless, and a writer may lack the permission to delete.
            with contextlib.suppress(StorageError):
                delete(key)
        if not refused:
            raise UnsafeStoreError(
                f"the store of {uri} ignores conditional creates (If-None-Match), so two writers could overwrite "
                f"each other's commits; put the table on a store that honours them"
            )
        return True

    current().cache(_TRUSTED).make_once(place, probe)


def _created(create: Create) -> str:
    """A key that is there for certain: after any answer but success another one is taken."""

    def first() -> str:
        key = f"{_PROBE_PREFIX}{new_id().hex}"
        create(key, b"first")
        return key

    return _persistently(first)


def _refused(create: Create, key: str) -> bool:
    """Whether a create of what is there fails as it should. A failure of another kind says nothing: asked again."""

    def second() -> bool:
        try:
            create(key, b"second")
        except ObjectExistsError:
            return True
        return False

    return _persistently(second)


def _persistently(ask: Callable[[], T]) -> T:
    for _ in range(_TRIES - 1):
        try:
            return ask()
        except (StorageDeniedError, ObjectNotFoundError):  # asking again would not help
            raise
        except StorageError:
            continue
    return ask()
