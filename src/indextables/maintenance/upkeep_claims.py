"""The claim of an automatic merge: of several processes that write to a table, one merges at a time.

_transaction_log/_upkeep/merge.claim     {"job": "...", "since": 1700000000000, "until": 1700000060000, ...}

A claim saves work, and correctness does not depend on it: if two processes merge the same splits after all, the commit
of the second drops its groups. So a claim that is too old, or whose process is gone, is simply replaced. Two processes
that replace it at the same moment may both go on.
"""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError, ObjectExistsError, ObjectNotFoundError, StorageError
from indextables.storage import LOG_DIRECTORY, Store

CLAIM_KEY: Final = f"{LOG_DIRECTORY}/_upkeep/merge.claim"
PURGE_KEY: Final = f"{LOG_DIRECTORY}/_upkeep/last_purge"

_LEASE_MS: Final = 60_000
_BYTES_PER_MS: Final = 1000
"""A merge is slower than this only where something is wrong."""
_CLOCK_SKEW_MS: Final = 300_000
"""How far the clocks of two machines may be apart."""
_MAX_BYTES: Final = 4096


@dataclass(frozen=True)
class MergeClaim:
    """Which job merges, since when, and until when it may. `host` and `pid` are those of its process, if known."""

    job: str
    since: int
    until: int
    host: str | None = None
    pid: int | None = None

    def is_over(self, now: int) -> bool:
        """Return True if the job has had its time, or was of a process of this machine that has ended.

        A claim that begins in the future is over as well: the clock of its owner is ahead, and its end says nothing. If
        the owner is still merging, another job may do the same work, of which one commit is discarded.
        """
        return (
            now >= self.until
            or self.since > now + _CLOCK_SKEW_MS
            or (self.pid is not None and self.host == socket.gethostname() and not _is_alive(self.pid))
        )


def take_claim(store: Store, job: str, *, size: int, now: int, is_of_process: bool = True) -> bool:
    """Claim the table for a job that merges `size` bytes. Return False if another job has it.

    `is_of_process` is False for a job that goes on when this process ends.
    """
    owner = (socket.gethostname(), os.getpid()) if is_of_process else (None, None)
    claim = MergeClaim(job, now, now + _lease(size), *owner)
    if _create(store, claim):
        return True
    other = read_claim(store)
    if other is not None and not other.is_over(now):
        return other.job == job
    store.delete(CLAIM_KEY)
    return _create(store, claim)


def extend_claim(store: Store, job: str, *, size: int, now: int) -> None:
    """Give a job the time to merge `size` more bytes, if it still has the claim."""
    claim = read_claim(store)
    if claim is not None and claim.job == job:
        store.put(CLAIM_KEY, _encode(MergeClaim(job, claim.since, now + _lease(size), claim.host, claim.pid)))


def release_claim(store: Store, job: str) -> None:
    """Delete the claim of a job. If that fails, the claim ends by itself."""
    with contextlib.suppress(StorageError):
        claim = read_claim(store)
        if claim is not None and claim.job == job:
            store.delete(CLAIM_KEY)


def read_claim(store: Store) -> MergeClaim | None:
    """Return the claim on the table, or None if there is none, or none that can be read."""
    fields = _read(store, CLAIM_KEY)
    job, since, until = (fields.get(name) for name in ("job", "since", "until"))
    if not isinstance(job, str) or not isinstance(since, int) or not isinstance(until, int):
        return None
    host, pid = fields.get("host"), fields.get("pid")
    has_process = isinstance(host, str) and isinstance(pid, int) and pid > 0
    return MergeClaim(job, since, until, *((host, pid) if has_process else (None, None)))


def claim_purge(store: Store, now: int, interval_ms: int) -> bool:
    """Return True if the last automatic purge that followed a merge was this long ago, and record a new one.

    A purge reads all of the log. What it deletes is days old, so it need not follow every merge.
    """
    last = _read(store, PURGE_KEY).get("at")
    if isinstance(last, int) and last <= now < last + interval_ms:
        return False
    store.put(PURGE_KEY, orjson.dumps({"at": now}))
    return True


def _lease(size: int) -> int:
    return _LEASE_MS + size // _BYTES_PER_MS


def _create(store: Store, claim: MergeClaim) -> bool:
    try:
        store.create(CLAIM_KEY, _encode(claim))
    except ObjectExistsError:
        return False
    return True


def _encode(claim: MergeClaim) -> bytes:
    return orjson.dumps(claim)


def _read(store: Store, key: str) -> dict[str, Any]:
    try:
        fields = orjson.loads(store.get(key, _MAX_BYTES))
    except (ObjectNotFoundError, CorruptTableError, orjson.JSONDecodeError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        return True
    return True
