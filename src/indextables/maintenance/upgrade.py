"""Upgrading a table to the current protocol. Only the log changes, and no field of it is lost.

A checkpoint upgrades the protocol first, because readers of older protocols do not look for states.
"""

from __future__ import annotations

from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, InputError
from indextables.log import (
    Protocol,
    RenormalizeSchemas,
    Snapshot,
    UpgradeProtocol,
    checkpoint,
    commit,
    load_snapshot,
)
from indextables.log.actions import READER_VERSION, WRITER_VERSION
from indextables.log.changes import NextVersion
from indextables.log.commits import Checkpointed, writes_json
from indextables.log.snapshots import VersionSelector, read_snapshot, refresh
from indextables.log.versions import list_log
from indextables.storage import Store

_TRIES: Final = 3


def upgrade_protocol(
    store: Store,
    settings: Settings,
    base: Snapshot | None = None,
    *,
    min_reader_version: int = READER_VERSION,
    min_writer_version: int = WRITER_VERSION,
) -> int:
    """Raise the protocol of a table to at least these versions; return the version of the table that has it.

    The protocol is never lowered. Raises InputError for a version below 1, and ProtocolError for one that this release
    does not support.
    """
    protocol = Protocol(min_reader_version, min_writer_version)
    if min(min_reader_version, min_writer_version) < 1:
        raise InputError(
            f"protocol versions start at 1; {min_reader_version} for readers and {min_writer_version} for writers "
            f"were requested"
        )
    base = base or load_snapshot(store, settings=settings)
    return commit(store, UpgradeProtocol(protocol), base=base, settings=settings).version


def renormalize_schemas(store: Store, settings: Settings, base: Snapshot | None = None) -> int:
    """Give each field mapping one name in the registry, if there are too many names; return the resulting version."""
    base = base or load_snapshot(store, settings=settings)
    change = RenormalizeSchemas(settings.get(keys.RENORMALIZE_THRESHOLD))
    while not (done := commit(store, change, base=base, settings=settings)).skipped:
        base = done.snapshot
    return done.version


def upgrade_and_checkpoint(store: Store, settings: Settings) -> Checkpointed:
    """Upgrade the protocol, tidy the schema registry, and write the compacted state of the newest version.

    A JSON checkpoint leaves the protocol as it is, because it is for readers that support no newer one. The log is read
    once: each step starts from the snapshot of the step before and reads only the versions since.
    """
    snapshot = read_snapshot(store, VersionSelector(), settings)
    if not writes_json(settings):
        upgrade_protocol(store, settings, snapshot)
        snapshot = refresh(store, snapshot)
    renormalize_schemas(store, settings, snapshot)
    return compacted_state(store, settings, refresh(store, snapshot))


def compacted_state(store: Store, settings: Settings, snapshot: Snapshot | None = None) -> Checkpointed:
    """Return a compacted state or JSON checkpoint of the newest version; write it if there is none.

    `snapshot` is the newest one, if the caller has just read it.

    Files of the log are written once. So if the newest version has a state that cannot be read, or that should be
    compacted, a version that changes nothing is committed, and its state is written.
    """
    quiet = Settings(dict(settings) | {keys.CHECKPOINT_ENABLED.key: "false"})
    for _ in range(_TRIES):
        try:
            done = checkpoint(store, settings, snapshot=snapshot)
        except CorruptTableError:
            if not _has_state(store, settings):
                raise
        else:
            if done.is_clean:
                return done
        commit(store, NextVersion(), base=load_snapshot(store, settings=settings), settings=quiet)
        snapshot = None
    return checkpoint(store, settings)


def _has_state(store: Store, settings: Settings) -> bool:
    """Return True if the newest version has a state, or a JSON checkpoint if those are written."""
    listing = list_log(store)
    bases = {file.version for file in listing.checkpoints} if writes_json(settings) else listing.states
    return listing.newest in bases
