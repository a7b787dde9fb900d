"""Writing a state: first the manifests, then the state that names them, then the hint that points to it.

No reader sees the manifests before the state manifest exists, and a pin keeps them from collections until then (see
`pins`). Of two writers of one version, the store lets one create the state manifest, which the other then reads and
uses.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CorruptTableError, ObjectNotFoundError, VersionNotFoundError
from indextables.schema import Field
from indextables.state import metrics
from indextables.state.compaction import TOO_MANY, compaction_reason, to_merge
from indextables.state.dedupe import keep_last
from indextables.state.file_keys import KEY
from indextables.state.gather import drop_rows
from indextables.state.layout import manifest_key, state_directory, state_key
from indextables.state.manifest import ManifestInfo, StateManifest, encode_state
from indextables.state.manifest_files import StateOptions, write_manifests
from indextables.state.pins import pin
from indextables.state.pointer import AVRO_STATE, LastCheckpoint, write_pointer
from indextables.state.reading import TableState, read_state, state_exists
from indextables.state.statistics import Measured
from indextables.stats import MAX_LONG, total_bytes
from indextables.storage import Store, create_once

_REPLACED: Final = "replaced"
"""The entry of a state's extras with the number of entries that later ones replace."""


@dataclass(frozen=True)
class StateContext:
    """What a state says of the table apart from its files. `metadata` is the wrapped JSON of the metaData action."""

    version: int
    created_at: int
    partition_columns: Sequence[Field]
    metadata: str | None
    schema_registry: Mapping[str, str] = field(default_factory=dict)
    protocol_version: int = 4
    extras: Mapping[str, Any] = field(default_factory=dict)
    measured: Measured = field(default_factory=Measured)


@dataclass(frozen=True)
class Delta:
    """The changes since the base: entries to add (LIVE_SCHEMA), and the keys of removed files with their sizes.

    `passed` are files that were added and removed since: they get a tombstone too, in case the base has them.
    `replaces`: some of the added files may also be in the base, which only a compaction can resolve. `replaced` are
    added files that the base has too: readers know that the entry of the later manifest counts.
    """

    added: pa.Table
    removed: Mapping[str, int | None] = field(default_factory=dict)
    passed: frozenset[str] = frozenset()
    replaces: bool = False
    replaced: frozenset[str] = frozenset()

    @property
    def gone(self) -> set[str]:
        return {*self.removed, *self.passed}


@dataclass(frozen=True)
class WrittenState:
    """The state that the store has now; `compacted` is the reason if it was compacted."""

    manifest: StateManifest
    compacted: str | None


def write_state(
    store: Store,
    base: TableState | None,
    delta: Delta,
    context: StateContext,
    options: StateOptions,
    *,
    compact: str | None = None,
) -> WrittenState:
    """Write the state after `delta`: the base extended, or compacted if that is due or `compact` gives a reason.

    >>> from indextables.state import LIVE_SCHEMA, read_state
    >>> from indextables.storage import open_store
    >>> file = dict.fromkeys(LIVE_SCHEMA.names) | {"path": "a.split", "key": "a.split", "size": 9}
    >>> file |= {"partitionValues": [], "modificationTime": 0, "dataChange": True, "hasFooterOffsets": False}
    >>> file |= {"addedAtVersion": 7, "addedAtTimestamp": 0}
    >>> store = open_store("memory:doc-state")
    >>> context = StateContext(7, created_at=0, partition_columns=[], metadata=None)
    >>> entries = pa.Table.from_pylist([file], LIVE_SCHEMA)
    >>> write_state(store, None, Delta(entries), context, StateOptions()).compacted
    'there is no state to add to'
    >>> TableState(store, read_state(store, 7), key_of=str).entries()["path"].to_pylist()
    ['a.split']
    """
    started = time.perf_counter()
    reason = compact or _reason(base, delta, options)
    with pin(store, () if base is None else _manifest_keys(base)) as pinned:
        state: StateManifest | None = None
        # A collection that has deleted the base may delete its manifests next.
        if base is not None and reason in (None, TOO_MANY) and state_exists(store, base.version):
            with contextlib.suppress(
                CorruptTableError
            ):  # a manifest cannot be read: a compaction may do without it
                state = _extend(store, base, delta, context, options, merge=reason == TOO_MANY)
        if state is None:
            state = _compact(store, base, delta, context, options)
        pinned.check()
        state = _publish(store, state, options)
    write_pointer(store, _pointer(state))
    elapsed = time.perf_counter() - started
    metrics.state_was_written(store.uri, seconds=elapsed, compacted=reason is not None)
    metrics.state_was_seen(store.uri, tombstones=len(state.tombstones), files=state.num_files)
    return WrittenState(state, reason)


def _manifest_keys(base: TableState) -> list[str]:
    return [manifest_key(info.path, base.version) for info in base.manifest.manifests]


def is_clean(state: StateManifest, options: StateOptions) -> bool:
    """Return True if a compaction would not improve the state."""
    fewest = -(-state.num_files // options.entries_per_manifest)
    return not state.tombstones and len(state.manifests) <= fewest


def _reason(base: TableState | None, delta: Delta, options: StateOptions) -> str | None:
    if base is None:
        return "there is no state to add to"
    added = set(delta.added.column(KEY).to_pylist())
    if delta.replaces or not added.isdisjoint({*base.dead, *delta.gone}):
        return "files came back that had been removed"  # their tombstones would hide them
    old = base.manifest
    replaced = _num_replaced(old) + len(delta.replaced)
    reason = compaction_reason(
        options.rules,
        live_files=old.num_files + delta.added.num_rows - len(delta.removed) - len(delta.replaced),
        tombstones=len(old.tombstones) + len(delta.gone) + replaced,
        manifests=sum(_is_small(info, options) for info in old.manifests) + bool(delta.added.num_rows),
        new_removes=len(delta.removed),
    )
    # Merging some manifests would put an entry behind a later one of the same file.
    return "entries of files were replaced" if replaced and reason == TOO_MANY else reason


def _num_replaced(state: StateManifest) -> int:
    """Return how many entries of the state's manifests are replaced by entries of later ones."""
    count = state.extras.get(_REPLACED, 0)
    return count if type(count) is int and count >= 0 else 0


def _extend(
    store: Store, base: TableState, delta: Delta, context: StateContext, options: StateOptions, *, merge: bool
) -> StateManifest:
    """Extend the base by a manifest of the new entries; `merge` adds the entries of some small manifests to it.

    So an entry is rewritten until its manifest is full, and the cost of a commit does not grow with the table.
    """
    old = base.manifest
    small = [info for info in old.manifests if _is_small(info, options)]
    sizes = [info.num_entries for info in small]
    positions = to_merge(options.rules, sizes, delta.added.num_rows) if merge else set()
    merged = [small[position] for position in sorted(positions)]
    fresh = pa.concat_tables([_live_entries(base.live(merged), delta), delta.added])
    unmerged = [_from_log_root(info, old.state_version) for info in old.manifests if info not in merged]
    removed_bytes = sum(size or 0 for size in delta.removed.values())
    if delta.replaced:
        back = pc.is_in(delta.added.column(KEY), value_set=pa.array(delta.replaced, pa.string()))
        removed_bytes += _total(delta.added.filter(back))  # a file never changes its size
    return _manifest(
        context,
        num_files=old.num_files + delta.added.num_rows - len(delta.removed) - len(delta.replaced),
        total_bytes=min(max(0, old.total_bytes + _total(delta.added) - removed_bytes), MAX_LONG),
        replaced=_num_replaced(old) + len(delta.replaced),
        manifests=(
            *unmerged,
            *write_manifests(store, fresh, context.partition_columns, options, context.measured),
        ),
        tombstones=tuple(sorted({*old.tombstones, *delta.gone})) if unmerged else (),
    )


def _is_small(info: ManifestInfo, options: StateOptions) -> bool:
    return info.num_entries < options.entries_per_manifest


def _compact(
    store: Store, base: TableState | None, delta: Delta, context: StateContext, options: StateOptions
) -> StateManifest:
    live = (
        delta.added if base is None else pa.concat_tables([_live_entries(base.entries(), delta), delta.added])
    )
    manifests = tuple(write_manifests(store, live, context.partition_columns, options, context.measured))
    return _manifest(
        context, num_files=live.num_rows, total_bytes=_total(live), manifests=manifests, tombstones=()
    )


def _live_entries(entries: pa.Table, delta: Delta) -> pa.Table:
    """Return the entries of the base that are still live; of a key that occurs twice, the later one."""
    if not entries.num_rows:
        return entries
    gone = pa.array({*delta.gone, *delta.added.column(KEY).to_pylist()}, pa.string())
    entries = drop_rows(entries, np.asarray(pc.is_in(entries.column(KEY), value_set=gone)))
    return keep_last(entries, KEY)


def _publish(store: Store, state: StateManifest, options: StateOptions) -> StateManifest:
    """Create the state, and return the one that the store has then.

    The store creates an object once. If another writer created the state of this version first, its state has the same
    files, perhaps in more manifests, and is the one to use. CorruptTableError if it cannot be read,
    VersionNotFoundError if a collection has deleted it since: then there are newer ones.
    """
    data = encode_state(state, codec=options.codec, level=options.level)
    if create_once(store, state_key(state.state_version), data):
        return state
    try:
        return read_state(store, state.state_version)
    except ObjectNotFoundError as reason:
        raise VersionNotFoundError(
            f"the state of version {state.state_version} of {store.uri} was deleted by clean-up while it was written: "
            f"newer versions have states; repeat what you did"
        ) from reason


def _pointer(state: StateManifest) -> LastCheckpoint:
    return LastCheckpoint(
        state.state_version,
        size=state.num_files,
        size_in_bytes=state.total_bytes,
        num_files=state.num_files,
        created_time=state.created_at,
        format=AVRO_STATE,
        state_dir=state_directory(state.state_version),
        protocol_version=state.protocol_version,
    )


def _manifest(context: StateContext, *, replaced: int = 0, **figures: Any) -> StateManifest:
    return StateManifest(
        context.version,
        context.created_at,
        schema_registry=context.schema_registry,
        protocol_version=context.protocol_version,
        metadata=context.metadata,
        extras={**context.extras, **({_REPLACED: replaced} if replaced else {})},
        **figures,
    )


def _from_log_root(info: ManifestInfo, version: int) -> ManifestInfo:
    """Return the manifest with a path that works in any state: a bare name is relative to the state's directory."""
    return (
        info
        if "/" in info.path
        else dataclasses.replace(info, path=f"{state_directory(version)}/{info.path}")
    )


def _total(entries: pa.Table) -> int:
    sizes = entries.column("size")
    # Arrow's sum would overflow 64 bits silently.
    is_small = pc.sum(sizes.cast("double", safe=False)).as_py() or 0.0
    return pc.sum(sizes).as_py() or 0 if 0 <= is_small < MAX_LONG // 2 else total_bytes(sizes.to_pylist())
