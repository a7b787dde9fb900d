"""Snapshots: the table at one version.

Read the modules in this order:

- `snapshot`: the value, and the replay of versions on top of it;
- `live_files`: the live files of a snapshot, decoded when they are needed;
- `extras`: what else a table remembers, and how states and checkpoints carry it;
- `registry`: the field mappings that files refer to by hash;
- `state_form`: a snapshot as an Avro state, and back;
- `json_checkpoint`, `json_form`: a snapshot as a JSON checkpoint of older tables, and back;
- `loader`: loading a snapshot from the store alone;
- `incremental`, `cache`: loading it from one that this process has read before.
"""

from indextables.log.snapshots.cache import CacheLimits, invalidate_cache
from indextables.log.snapshots.extras import (
    CheckpointExtras,
    Extras,
    ExtrasEdit,
    decode_extras,
    encode_extras,
)
from indextables.log.snapshots.incremental import load_snapshot, refresh
from indextables.log.snapshots.json_checkpoint import is_in_parts, read_checkpoint
from indextables.log.snapshots.json_form import (
    snapshot_of_actions,
    snapshot_of_checkpoint,
    write_snapshot_checkpoint,
)
from indextables.log.snapshots.live_files import LiveFiles, LiveFilesEdit
from indextables.log.snapshots.loader import (
    NEWEST,
    StateWarning,
    VersionGapWarning,
    VersionSelector,
    read_snapshot,
)
from indextables.log.snapshots.registry import (
    canonical_names,
    doc_mapping,
    registry_names,
    renormalize_registry,
)
from indextables.log.snapshots.snapshot import EXTRAS_PROPERTY, Gap, Snapshot, mapping_of, replay
from indextables.log.snapshots.state_form import is_expired, snapshot_of_state, write_snapshot_state

__all__ = [
    "EXTRAS_PROPERTY",
    "NEWEST",
    "CacheLimits",
    "CheckpointExtras",
    "Extras",
    "ExtrasEdit",
    "Gap",
    "LiveFiles",
    "LiveFilesEdit",
    "Snapshot",
    "StateWarning",
    "VersionGapWarning",
    "VersionSelector",
    "canonical_names",
    "decode_extras",
    "doc_mapping",
    "encode_extras",
    "invalidate_cache",
    "is_expired",
    "is_in_parts",
    "load_snapshot",
    "mapping_of",
    "read_checkpoint",
    "read_snapshot",
    "refresh",
    "registry_names",
    "renormalize_registry",
    "replay",
    "snapshot_of_actions",
    "snapshot_of_checkpoint",
    "snapshot_of_state",
    "write_snapshot_checkpoint",
    "write_snapshot_state",
]
