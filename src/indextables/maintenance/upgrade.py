"""Bringing a table up to the protocol of today. Only the log changes, and no field of it is lost.

A checkpoint is the occasion: readers of older protocols do not look at states.
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

    The protocol is never lowered. InputError for a version below 1, ProtocolError for one that this release does not
    know.
    """
    wanted = Protocol(min_reader_version, min_writer_version)
    if min(min_reader_version, min_writer_version) < 1:
        raise InputError(
            f"protocol versions begin with 1; {min_reader_version} for readers and {min_writer_version} for writers "
            f"were asked for"
        )
    base = base or load_snapshot(store, settings=settings)
    return commit(store, UpgradeProtocol(wanted), base=base, settings=settings).version


def renormalize_schemas(store: Store, settings: Settings, base: Snapshot | None = None) -> int:
    """Gives each field mapping one name in the registry, if there are too many; the version at which it is so."""
    base = base or load_snapshot(store, settings=settings)
    change = RenormalizeSchemas(settings.get(keys.RENORMALIZE_THRESHOLD))
    while not (done := commit(store, change, base=base, settings=settings)).skipped:
        base = done.snapshot
    return done.version


def upgrade_and_checkpoint(store: Store, settings: Settings) -> Checkpointed:
    """The compacted state of the newest version, of a table of today's protocol with a tidy schema registry.

    A JSON checkpoint leaves the protocol as it is: it is for those who know no newer one. The log is read once: each
    step begins with the snapshot of the one before and reads only the versions since.
    """
    snapshot = read_snapshot(store, VersionSelector(), settings)
    if not writes_json(settings):
        upgrade_protocol(store, settings, snapshot)
        snapshot = refresh(store, snapshot)
    renormalize_schemas(store, settings, snapshot)
    return compacted_state(store, settings, refresh(store, snapshot))


def compacted_state(store: Store, settings: Settings, snapshot: Snapshot | None = None) -> Checkpointed:
    """Return a compacted state or JSON checkpoint of the newest version, which is written if there is none.

    `snapshot` is the newest one, where the caller has just read it.

    Files of the log are written once. Where the newest version has a state that cannot be read, or that is to be
    compacted, another version follows that changes nothing, and gets the state.
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
    """Return whether the newest version has a state, or a JSON checkpoint if those are written."""
    listing = list_log(store)
    found = {file.version for file in listing.checkpoints} if writes_json(settings) else listing.states
    return listing.newest in found
