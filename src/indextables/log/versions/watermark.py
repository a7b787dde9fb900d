"""The clean-up boundary: up to which version history may be gone, said before any of it is deleted.

A version is made by creating a file that is not there, which proves nothing once files are deleted: a writer that
was held up while clean-up passed its number finds the number free, and makes a version that no reader looks at.
So clean-up first leaves a record, and a writer looks for one after it has created its version.

_transaction_log/_cleanup/<20 digits>.json      {"first": 8, "last": 15, "transactions": [...]}

A record is named by the first version that it covers, which is the one after the last of the record before it.
So the records are a chain: its next link has a known name, which one look finds, and of two clean-ups at once one
makes it. All files that a link covers are there when it is made, and it names the transaction of each: so whoever
created one of them can tell whether it was that version, since passed on in a state, or a stray.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError, ObjectExistsError, ObjectNotFoundError
from indextables.runtime import CacheSpec, current
from indextables.state import LOG_DIRECTORY
from indextables.storage import Store

CLEANUP_DIRECTORY: Final = f"{LOG_DIRECTORY}/_cleanup"
NO_WATERMARK: Final = -1
"""The boundary of a table whose history is whole."""

_LINK: Final = re.compile(rf"{CLEANUP_DIRECTORY}/([0-9]{{20}})\.json")
_MAX_LINK: Final = 64 << 20
_MAX_NAMES: Final = 16 << 20
"""So many bytes of transactions go into one link; what is left goes into the next."""

_WATERMARKS: Final = CacheSpec[tuple[str, str], int]("clean-up watermarks", entries=1000)
"""As last read, by the address and id of the table. A watermark only rises, so an old one is a place to start from."""


@dataclass(frozen=True)
class CleanupRecord:
    """One clean-up: versions `first` to `last` may be gone. `transactions` made them, None where nobody knows."""

    first: int
    last: int
    transactions: tuple[str | None, ...]


def record_key(first: int) -> str:
    """Where the link is kept that begins with a version.

    >>> record_key(8)
    '_transaction_log/_cleanup/00000000000000000008.json'
    """
    return f"{CLEANUP_DIRECTORY}/{first:020d}.json"


def encode_record(link: CleanupRecord) -> bytes:
    return orjson.dumps({"first": link.first, "last": link.last, "transactions": link.transactions})


def decode_record(data: bytes, name: str) -> CleanupRecord:
    """The link, or CorruptTableError: a boundary that cannot be read is not one that may be passed over."""
    try:
        document: Any = orjson.loads(data)
        link = CleanupRecord(document["first"], document["last"], tuple(document["transactions"]))
        whole = all(isinstance(number, int) for number in (link.first, link.last))
        if not whole or len(link.transactions) != link.last - link.first + 1:
            raise ValueError("its versions do not add up")
    except (ValueError, KeyError, TypeError) as reason:
        raise CorruptTableError(f"{name} is not a record of a clean-up ({reason}); restore it") from None
    return link


def read_watermark(store: Store, table_id: str | None = None, listed: Sequence[int] | None = None) -> int:
    """The last version that may be gone, or NONE. With the table's id, what was read before is built upon.

    `listed` are the links that a listing has found, in order; it may be an old one.
    """
    end = None if table_id is None else current().cache(_WATERMARKS).get((store.uri, table_id))
    if end is None:
        firsts = _listed(store) if listed is None else listed
        end = NO_WATERMARK if not firsts else firsts[-1] - 1
    while (link := read_record(store, end + 1)) is not None:
        end = link.last
    if table_id is not None:
        current().cache(_WATERMARKS).put((store.uri, table_id), end)
    return end


def recorded_transaction(store: Store, version: int) -> str | None:
    """The transaction that made a version at or below the boundary, if it is known."""
    first = max((first for first in _listed(store) if first <= version), default=None)
    link = None if first is None else read_record(store, first)
    if link is None or not link.first <= version <= link.last:
        raise CorruptTableError(f"{store.uri} has no record of the clean-up that passed version {version}")
    return link.transactions[version - link.first]


def advance_watermark(store: Store, last: int, transaction: Callable[[int], str | None]) -> int:
    """Let the boundary cover versions up to `last`; where it is then, which is there or beyond.

    `transaction` says who made a version. It is asked while nothing above the old boundary has been deleted.
    """
    while (end := read_watermark(store)) < last:
        link = _next_record(end + 1, last, transaction)
        try:
            store.create(record_key(link.first), encode_record(link))
        except ObjectExistsError:
            continue  # another clean-up made the next link: go on from its end
    return end


def _next_record(first: int, last: int, transaction: Callable[[int], str | None]) -> CleanupRecord:
    """Return a link from `first` on that readers take: up to `last`, or as far as its size permits."""
    names: list[str | None] = []
    size = 0
    for version in range(first, last + 1):
        names.append(transaction(version))
        size += len(orjson.dumps(names[-1])) + 1
        if size > _MAX_NAMES:
            break
    return CleanupRecord(first, first + len(names) - 1, tuple(names))


def read_record(store: Store, first: int) -> CleanupRecord | None:
    """The link that begins with a version, or None where there is none."""
    key = record_key(first)
    try:
        data = store.get(key, _MAX_LINK)
    except ObjectNotFoundError:
        return None
    link = decode_record(data, f"{store.uri}/{key}")
    if link.first != first:
        raise CorruptTableError(f"{store.uri}/{key} says that it begins with version {link.first}")
    return link


def record_of(key: str) -> int | None:
    """The version that the link of this key begins with, or None for another key."""
    match = _LINK.fullmatch(key)
    return int(match[1]) if match else None


def _listed(store: Store) -> list[int]:
    firsts = (record_of(info.key) for info in store.list_from(CLEANUP_DIRECTORY))
    return sorted(first for first in firsts if first is not None)
