"""Does a store keep its word on conditional creates? A table on one that does not loses commits silently.

Some servers accept the precondition and ignore it. So the first create of a process below a root is preceded
by two creates of one new key: the second must be refused.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Final

from indextables.errors import ObjectExistsError, UnsafeStoreError

_PROBE_PREFIX: Final = "_transaction_log/_probe-"
_trusted: set[str] = set()
_lock: Final = threading.Lock()


def check_conditional_create(
    uri: str, create: Callable[[str, bytes], None], delete: Callable[[str], None], *, place: str
) -> None:
    """UnsafeStoreError if the store at `uri` lets a create replace an object. Asks once per process and `place`."""
    if place in _trusted:
        return
    with _lock:
        if place in _trusted:
            return
        key = f"{_PROBE_PREFIX}{uuid.uuid4().hex}"
        create(key, b"first")
        try:
            create(key, b"second")
        except ObjectExistsError:
            _trusted.add(place)
            return
        finally:
            delete(key)
        raise UnsafeStoreError(
            f"the store of {uri} ignores conditional creates (If-None-Match), so two writers could overwrite each "
            f"other's commits; put the table on a store that honours them"
        )
