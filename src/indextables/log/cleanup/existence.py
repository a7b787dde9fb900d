"""Which files that a log names are there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from indextables.errors import IrregularFileError, ObjectNotFoundError
from indextables.runtime import current
from indextables.storage import Store

_LOOKS_AT_A_TIME: Final = 16


def missing_files(store: Store, keys: Iterable[str]) -> list[str]:
    """Those of the keys at which there is no object, in their order. A link or a pipe is none.

    >>> from indextables.storage import open_store
    >>> store = open_store("memory:doc-presence")
    >>> store.put("a", b"")
    >>> missing_files(store, ["a", "b"])
    ['b']
    """
    wanted = list(keys)
    there = current().threads.map(lambda key: _is_there(store, key), wanted, _LOOKS_AT_A_TIME)
    return [key for key, found in zip(wanted, there, strict=True) if not found]


def _is_there(store: Store, key: str) -> bool:
    try:
        store.head(key)
    except (ObjectNotFoundError, IrregularFileError):
        return False
    return True
