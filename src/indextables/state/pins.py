"""Pins: what a writer of a state relies on until the state is there, for collections that run at the same time.

A collection deletes manifests that no state names. A state that is being written shares manifests with its base, which
may expire, and has new ones that no state names yet. So the writer creates a pin first:

writer of a state                                   collection
1. creates a pin with the manifests of its base     1. deletes the states that have expired
2. checks that the base exists                      2. lists the log: pins, and states
3. stores new manifests, under names of their own   3. deletes manifests that neither a state nor a pin names, and
4. creates the state                                   that are older than the oldest pin
5. deletes the pin

If the listing (2) shows the pin, the manifests stay. If it shows it no more, it shows the state: pins are listed before
states. If the listing came before the pin, it does not have the new manifests. Either the collection keeps the base,
and the manifests of it, or it deleted the base before the pin was there. The writer notices that (2), and stores all
entries in new manifests.

A pin of a writer that was killed expires. A writer that took too long does not publish its state.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError
from indextables.runtime import new_id, now_ms
from indextables.storage import LOG_DIRECTORY, ObjectInfo, Store

_DIRECTORY: Final = f"{LOG_DIRECTORY}/_pins/"
_MAX_PIN: Final = 64 << 20
_LIFETIME_MS: Final = 24 * 3_600_000
_CLOCK_STEP_MS: Final = 60_000
"""By how much a store may round times, or have them from several clocks."""


@dataclass(frozen=True)
class Pinned:
    """What pins keep: the manifests that they name, and all from `since_ms` on; None if there is no pin.

    `expired` are the keys of pins that keep nothing any more.
    """

    names: frozenset[str] = frozenset()
    since_ms: int | None = None
    expired: tuple[str, ...] = ()

    def keeps(self, manifest: ObjectInfo) -> bool:
        """Return True if the writer of a state may rely on the manifest."""
        is_new = self.since_ms is not None and manifest.modified_ms >= self.since_ms
        return is_new or manifest.key in self.names


@contextlib.contextmanager
def pin(store: Store, manifests: Iterable[str]) -> Iterator[Pin]:
    """Keep manifests, by key, and all that are stored in the block, from collections until the block ends."""
    key = f"{_DIRECTORY}{new_id()}.json"
    started = now_ms()
    store.put(key, orjson.dumps({"manifests": list(manifests)}))
    try:
        yield Pin(store.uri, started)
    finally:
        # If it cannot be deleted, it expires.
        with contextlib.suppress(StorageError):
            store.delete(key)


@dataclass(frozen=True)
class Pin:
    """A pin of this process."""

    uri: str
    started_ms: int

    def check(self) -> None:
        """Raise StorageError if so much time has passed that collections may soon ignore the pin."""
        elapsed = now_ms() - self.started_ms
        if elapsed > _LIFETIME_MS // 2:
            raise StorageError(
                f"a state of {self.uri} took {elapsed // 1000} seconds to write and is not published: clean-up may "
                f"have deleted parts of it; the next checkpoint writes one"
            )


def read_pins(store: Store, infos: Sequence[ObjectInfo]) -> Pinned | None:
    """Read the pins in a listing of the log, by the store's clock. Return None if one has been deleted since."""
    now = max((info.modified_ms for info in infos), default=0)
    pins = [info for info in infos if info.key.startswith(_DIRECTORY) and info.key.endswith(".json")]
    valid = [info for info in pins if now - info.modified_ms < _LIFETIME_MS]
    names: set[str] = set()
    for info in valid:
        try:
            names.update(_decode(store.get(info.key, _MAX_PIN), f"{store.uri}/{info.key}"))
        except ObjectNotFoundError:
            return None
    oldest = min((info.modified_ms for info in valid), default=None)
    return Pinned(
        names=frozenset(names),
        since_ms=None if oldest is None else oldest - _CLOCK_STEP_MS,
        expired=tuple(info.key for info in pins if info not in valid),
    )


def _decode(data: bytes, name: str) -> list[str]:
    try:
        manifests = orjson.loads(data)["manifests"]
        if not isinstance(manifests, list) or not all(isinstance(key, str) for key in manifests):
            raise ValueError("it does not list manifests")
    except (ValueError, KeyError, TypeError) as reason:
        raise CorruptTableError(
            f"{name} is not a record of a state that is being written ({reason}), and no manifest was deleted; delete "
            f"the file if no process writes to the table"
        ) from None
    return manifests
