"""Bringing a table up to the protocol of today. Only the log changes, and no field of it is lost.

A checkpoint is the occasion: readers of older protocols do not look at states.
"""

from __future__ import annotations

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.log import (
    Protocol,
    RenormalizeSchemas,
    Snapshot,
    UpgradeProtocol,
    checkpoint,
    commit,
    load_snapshot,
)
from indextables.log.checkpointing import Checkpointed, writes_json
from indextables.log.protocol import READER_VERSION, WRITER_VERSION
from indextables.storage import Store


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

    A JSON checkpoint leaves the protocol as it is: it is for those who know no newer one.
    """
    if not writes_json(settings):
        upgrade_protocol(store, settings)
    renormalize_schemas(store, settings)
    return checkpoint(store, settings)
