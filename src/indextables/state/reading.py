"""Opening a state: its manifest is read at once, its entries on first use, and only those that are selected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.runtime import ForkSafeLock, LimitedThreads, current, lazy_property
from indextables.state import metrics
from indextables.state.file_keys import KEY, LIVE_SCHEMA, KeyOf
from indextables.state.gather import drop_rows
from indextables.state.layout import state_key
from indextables.state.loading import Selection, load_manifest
from indextables.state.manifest import MAX_STATE, ManifestInfo, StateManifest, decode_state
from indextables.storage import Store

_NOTHING: Final = pa.Table.from_batches([], LIVE_SCHEMA)  # `empty_table` would load pandas


def read_state(store: Store, version: int) -> StateManifest:
    """Read the state manifest of a version. ObjectNotFoundError if there is none."""
    key = state_key(version)
    try:
        data = store.get(key, MAX_STATE)
    except ObjectNotFoundError:
        key = state_key(version, "json")
        data = store.get(key, MAX_STATE)
    state = decode_state(data, f"{store.uri}/{key}")
    if state.state_version != version:
        raise CorruptTableError(
            f"{store.uri}/{key} declares itself the state of version {state.state_version}, not {version}"
        )
    return state


def state_exists(store: Store, version: int) -> bool:
    """Return True if there is a state of this version."""
    return any(store.exists(state_key(version, extension)) for extension in ("avro", "json"))


class TableState:
    """One state and its store. Entries are read once, on first use; many snapshots share them."""

    def __init__(
        self,
        store: Store,
        manifest: StateManifest,
        key_of: KeyOf,
        *,
        parallelism: int = 8,
        rescue: Callable[[CorruptTableError], pa.Table] | None = None,
    ) -> None:
        """Open a state. `rescue` returns the same entries from another source if a manifest is damaged or missing."""
        self.manifest = manifest
        self._rescue = rescue
        self._store = store
        self._key_of = key_of
        self._parallelism = parallelism
        self._lock = ForkSafeLock()
        self._entries: pa.Table | None = None

    @property
    def version(self) -> int:
        return self.manifest.state_version

    @property
    def is_loaded(self) -> bool:
        return self._entries is not None

    @lazy_property
    def dead(self) -> frozenset[str]:
        """The keys of files that are in a manifest and have been removed since."""
        return frozenset(self._key_of(path) for path in self.manifest.tombstones)

    def entries(self) -> pa.Table:
        """Return all live entries, in LIVE_SCHEMA, manifest by manifest."""
        with self._lock:
            if self._entries is None:
                try:
                    self._entries = self.live(self.manifest.manifests)
                except CorruptTableError as reason:
                    if self._rescue is None:
                        raise
                    self._entries = self._rescue(reason)
            return self._entries

    def live(self, infos: Iterable[ManifestInfo]) -> pa.Table:
        """Return the live entries of some of the manifests."""
        return _concat(self._read(infos, None))

    @lazy_property
    def rows(self) -> dict[str, int]:
        """The row of each key in `entries`; the last one of a key that occurs twice."""
        return {key: row for row, key in enumerate(self.entries().column(KEY).to_pylist())}

    def select(self, selection: Selection) -> pa.Table:
        """Return the live entries without those that the selection leaves out, which are not read if possible."""
        if self._entries is not None:
            return selection.entries(self._entries)
        try:
            return _concat(self._read(selection.manifests(self.manifest.manifests), selection))
        except CorruptTableError:
            if self._rescue is None:
                raise
        selection.restart()
        return selection.entries(self.entries())

    def added_after(self, version: int) -> pa.Table:
        """Return the live entries added after a version. Manifests that hold only older ones are not read."""
        if self._entries is None:
            infos = [info for info in self.manifest.manifests if info.max_added_at_version > version]
            try:
                entries = self.live(infos)
            except CorruptTableError:
                if self._rescue is None:
                    raise
                entries = self.entries()
        else:
            entries = self._entries
        return entries.filter(pc.greater(entries.column("addedAtVersion"), version))

    def _read(self, infos: Iterable[ManifestInfo], selection: Selection | None) -> list[pa.Table]:
        infos = list(infos)
        if not infos:
            return []
        started = time.perf_counter()
        # Fetching waits for the store, so many threads may do it. Decoding keeps a core busy: more threads than cores
        # would only evict each other's data from the CPU caches.
        threads = current().threads
        decoders = threads.limited(min(self._parallelism, pa.cpu_count()))
        tables = list(
            threads.map(lambda info: self._live(info, selection, decoders), infos, self._parallelism)
        )
        metrics.entries_were_read(
            self._store.uri,
            seconds=time.perf_counter() - started,
            manifests=len(infos),
            files=sum(table.num_rows for table in tables),
        )
        return tables

    def _live(self, info: ManifestInfo, selection: Selection | None, decoders: LimitedThreads) -> pa.Table:
        table = load_manifest(self._store, self.version, info, selection, self._key_of, decoders)
        if self.dead:
            dead = pc.is_in(table.column(KEY), value_set=pa.array(self.dead, pa.string()))
            table = drop_rows(table, np.asarray(dead))
        return table if selection is None else selection.entries(table)


def _concat(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables) if tables else _NOTHING
