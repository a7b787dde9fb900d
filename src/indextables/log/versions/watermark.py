"""The retention watermark: up to which version files may have been deleted, recorded before any deletion.

A writer commits by creating the file of the next version if it is absent. Once files are deleted, a successful create
no longer proves that the number is new: a writer that was paused while clean-up passed its number finds the number
free and creates a version that no reader looks at. So clean-up records what it is going to delete first, and a
writer reads the watermark after it has created its version (see `superseded`).

_transaction_log/_cleanup/<20 digits>.json      {"first": 8, "last": 15, "transactions": [...]}

A record is named by the first version that it covers, which is the one after the last of the record before it. So:

- the records form a chain, and one request for a known name tells whether there is a next one;
- of two concurrent clean-ups, one creates the next record, because the name can be created once; the other continues
  from the end of that record;
- when a record is created, all version files that it covers still exist, so it can name the transaction of each. A
  writer of one of these numbers can tell whether its own commit was covered, or whether it came too late.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError, ObjectExistsError, ObjectNotFoundError
from indextables.runtime import CacheSpec, current
from indextables.storage import LOG_DIRECTORY, Store

CLEANUP_DIRECTORY: Final = f"{LOG_DIRECTORY}/_cleanup"
NO_WATERMARK: Final = -1
"""The watermark of a table of which no version has been cleaned up."""

_RECORD: Final = re.compile(rf"{CLEANUP_DIRECTORY}/([0-9]{{20}})\.json")
_MAX_RECORD: Final = 64 << 20
_MAX_NAMES: Final = 16 << 20
"""How many bytes of transaction ids one record holds; the others go into the next record."""

_WATERMARKS: Final = CacheSpec[tuple[str, str], int]("clean-up watermarks", entries=1000)
"""As last read, by the address and id of the table. A watermark only rises, so an old one is a place to start from."""


@dataclass(frozen=True)
class CleanupRecord:
    """One clean-up: versions `first` to `last` may be gone.

    `transactions` are the ids of the transactions that wrote them, None where the id is unknown.
    """

    first: int
    last: int
    transactions: tuple[str | None, ...]


def record_key(first: int) -> str:
    """Return the key of the record whose first version is `first`.

    >>> record_key(8)
    '_transaction_log/_cleanup/00000000000000000008.json'
    """
    return f"{CLEANUP_DIRECTORY}/{first:020d}.json"


def encode_record(record: CleanupRecord) -> bytes:
    return orjson.dumps({"first": record.first, "last": record.last, "transactions": record.transactions})


def decode_record(data: bytes, name: str) -> CleanupRecord:
    """Decode a record.

    Raises CorruptTableError if it cannot be read: an unreadable watermark must never be ignored.
    """
    try:
        document: Any = orjson.loads(data)
        record = CleanupRecord(document["first"], document["last"], tuple(document["transactions"]))
        whole = all(isinstance(number, int) for number in (record.first, record.last))
        if not whole or len(record.transactions) != record.last - record.first + 1:
            raise ValueError("its versions do not add up")
    except (ValueError, KeyError, TypeError) as reason:
        raise CorruptTableError(f"{name} is not a record of a clean-up ({reason}); restore it") from None
    return record


def read_watermark(store: Store, table_id: str | None = None, listed: Sequence[int] | None = None) -> int:
    """Return the last version that may be gone, or NO_WATERMARK.

    If `table_id` is given, start from the watermark cached for that table. `listed` are the first versions of the
    records that a listing has shown, in order. Either may be out of date, because a clean-up may have advanced the
    watermark since. No clean-up deletes records, so the chain from there leads to the newest one.
    """
    end = None if table_id is None else current().cache(_WATERMARKS).get((store.uri, table_id))
    if end is None:
        firsts = _list_records(store) if listed is None else listed
        end = NO_WATERMARK if not firsts else firsts[-1] - 1
    while (record := read_record(store, end + 1)) is not None:
        end = record.last
    if table_id is not None:
        current().cache(_WATERMARKS).put((store.uri, table_id), end)
    return end


def recorded_transaction(store: Store, version: int) -> str | None:
    """Return the id of the transaction that wrote a version at or below the watermark, or None if it is unknown.

    Raises CorruptTableError if no record covers the version.
    """
    first = max((first for first in _list_records(store) if first <= version), default=None)
    record = None if first is None else read_record(store, first)
    if record is None or not record.first <= version <= record.last:
        raise CorruptTableError(
            f"{store.uri} has no record of the clean-up that passed version {version}; restore the files in "
            f"{CLEANUP_DIRECTORY}"
        )
    return record.transactions[version - record.first]


def advance_watermark(store: Store, last: int, transaction: Callable[[int], str | None]) -> int:
    """Advance the watermark to at least `last`.

    Returns the new watermark, which is higher than `last` if another clean-up ran concurrently.

    `transaction` returns the id of the transaction that wrote a version. It is called only for versions above the
    old watermark. Their files all exist, because a clean-up deletes only versions that the watermark covers.
    """
    while (end := read_watermark(store)) < last:
        record = _next_record(end + 1, last, transaction)
        try:
            store.create(record_key(record.first), encode_record(record))
        except ObjectExistsError:
            continue  # another clean-up created the next record: continue from its end
    return end


def _next_record(first: int, last: int, transaction: Callable[[int], str | None]) -> CleanupRecord:
    """Return the record of versions `first` to `last`, or of fewer if it would exceed the size that readers accept."""
    txn_ids: list[str | None] = []
    size = 0
    for version in range(first, last + 1):
        txn_ids.append(transaction(version))
        size += len(orjson.dumps(txn_ids[-1])) + 1
        if size > _MAX_NAMES:
            break
    return CleanupRecord(first, first + len(txn_ids) - 1, tuple(txn_ids))


def read_record(store: Store, first: int) -> CleanupRecord | None:
    """Read the record whose first version is `first`. Return None if it does not exist."""
    key = record_key(first)
    try:
        data = store.get(key, _MAX_RECORD)
    except ObjectNotFoundError:
        return None
    record = decode_record(data, f"{store.uri}/{key}")
    if record.first != first:
        raise CorruptTableError(
            f"{store.uri}/{key} says that it begins with version {record.first}, not {first}; restore it"
        )
    return record


def record_of(key: str) -> int | None:
    """Return the first version of the record with this key, or None for another key."""
    match = _RECORD.fullmatch(key)
    return int(match[1]) if match else None


def _list_records(store: Store) -> list[int]:
    firsts = (record_of(info.key) for info in store.list_from(CLEANUP_DIRECTORY))
    return sorted(first for first in firsts if first is not None)
