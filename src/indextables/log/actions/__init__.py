"""Actions: the entries of a version file, and their bytes.

Read the modules in this order:

- `model`: the actions as values;
- `fields`: their JSON fields, and how each is read;
- `codec`: version files as bytes, compressed or plain;
- `checksums`: the checksum of a version, and the chain of versions;
- `adds`, `bulk`, `line_block`, `templates`: many add actions as columns, without an object for each;
- `entries`: added files as entries of a state, and back;
- `paths`: the names in the log directory, and the keys of splits;
- `protocol`: which tables this release can read and write.
"""

from indextables.log.actions.adds import ActionParts, Adds, PerFile, parts_of
from indextables.log.actions.checksums import (
    CHECKPOINT_SEAL,
    UNSEALED,
    Verification,
    check_predecessor,
    replaced_versions,
    seal_checkpoint,
    seal_version,
    verify_checkpoint,
)
from indextables.log.actions.codec import (
    MAX_INFLATED,
    MAX_STORED,
    decode_parts,
    decode_version,
    encode_text,
    encode_version,
    first_action,
    group_by_text_size,
    inflate,
    max_text_bytes,
    pack,
)
from indextables.log.actions.entries import Added, from_entries, to_entries
from indextables.log.actions.fields import FieldError, from_document, to_document
from indextables.log.actions.model import (
    Action,
    AddFile,
    CommitInfo,
    Extra,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)
from indextables.log.actions.paths import (
    checkpoint_key,
    checkpoint_of,
    is_elsewhere,
    part_name,
    split_key,
    split_keys,
    version_key,
    version_of,
)
from indextables.log.actions.protocol import (
    CURRENT,
    READER_VERSION,
    WRITER_VERSION,
    check_readable,
    check_writable,
    has_delta_logs,
    required_protocol,
    with_required_features,
)

__all__ = [
    "CHECKPOINT_SEAL",
    "CURRENT",
    "MAX_INFLATED",
    "MAX_STORED",
    "READER_VERSION",
    "UNSEALED",
    "WRITER_VERSION",
    "Action",
    "ActionParts",
    "AddFile",
    "Added",
    "Adds",
    "CommitInfo",
    "Extra",
    "FieldError",
    "Metadata",
    "PerFile",
    "Protocol",
    "RemoveFile",
    "SkipFile",
    "Txn",
    "UnknownAction",
    "Verification",
    "check_predecessor",
    "check_readable",
    "check_writable",
    "checkpoint_key",
    "checkpoint_of",
    "decode_parts",
    "decode_version",
    "encode_text",
    "encode_version",
    "first_action",
    "from_document",
    "from_entries",
    "group_by_text_size",
    "has_delta_logs",
    "inflate",
    "is_elsewhere",
    "max_text_bytes",
    "pack",
    "part_name",
    "parts_of",
    "replaced_versions",
    "required_protocol",
    "seal_checkpoint",
    "seal_version",
    "split_key",
    "split_keys",
    "to_document",
    "to_entries",
    "verify_checkpoint",
    "version_key",
    "version_of",
    "with_required_features",
]
