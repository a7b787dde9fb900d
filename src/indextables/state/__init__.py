"""The state of a table: its live files at one version as Avro manifests, written, read and pruned."""

from indextables.state.compaction import CompactionRules, compaction_reason
from indextables.state.conditions import Condition
from indextables.state.dedupe import keep_last
from indextables.state.entries import decode_entries, encode_entries
from indextables.state.entry_fields import AVRO_SCHEMA, ENTRY_SCHEMA
from indextables.state.file_keys import KEY, LIVE_SCHEMA
from indextables.state.gather import Gatherer, drop_rows
from indextables.state.layout import (
    LAST_CHECKPOINT,
    manifest_key,
    state_directory,
    state_key,
    state_of,
)
from indextables.state.loading import Selection
from indextables.state.manifest import (
    ManifestInfo,
    PartitionBounds,
    StateManifest,
    decode_state,
    encode_state,
)
from indextables.state.manifest_files import StateOptions
from indextables.state.map_columns import map_column
from indextables.state.metrics import state_was_seen
from indextables.state.pins import Pinned, read_pins
from indextables.state.pointer import (
    LastCheckpoint,
    decode_pointer,
    encode_pointer,
    read_pointer,
    write_pointer,
)
from indextables.state.pruning import STAGES, PrunedFiles, prune
from indextables.state.reading import TableState, read_state, state_exists
from indextables.state.statistics import Measured
from indextables.state.writing import (
    Delta,
    StateContext,
    WrittenState,
    is_clean,
    write_state,
)
from indextables.storage import LOG_DIRECTORY

__all__ = [
    "AVRO_SCHEMA",
    "ENTRY_SCHEMA",
    "KEY",
    "LAST_CHECKPOINT",
    "LIVE_SCHEMA",
    "LOG_DIRECTORY",
    "STAGES",
    "CompactionRules",
    "Condition",
    "Delta",
    "Gatherer",
    "LastCheckpoint",
    "ManifestInfo",
    "Measured",
    "PartitionBounds",
    "Pinned",
    "PrunedFiles",
    "Selection",
    "StateContext",
    "StateManifest",
    "StateOptions",
    "TableState",
    "WrittenState",
    "compaction_reason",
    "decode_entries",
    "decode_pointer",
    "decode_state",
    "drop_rows",
    "encode_entries",
    "encode_pointer",
    "encode_state",
    "is_clean",
    "keep_last",
    "manifest_key",
    "map_column",
    "prune",
    "read_pins",
    "read_pointer",
    "read_state",
    "state_directory",
    "state_exists",
    "state_key",
    "state_of",
    "state_was_seen",
    "write_pointer",
    "write_state",
]
