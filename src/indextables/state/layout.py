"""Names of states and manifests in the log directory.

_transaction_log/state-v00000000000000000007/_manifest.avro   the state at version 7 (older: `_manifest.json`)
_transaction_log/manifests/manifest-<hash>.avro               file entries, shared by states, never changed
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from indextables.errors import CorruptTableError
from indextables.storage import LOG_DIRECTORY

LAST_CHECKPOINT: Final = f"{LOG_DIRECTORY}/_last_checkpoint"
SHARED_MANIFESTS: Final = "manifests"

_HASH_DIGITS: Final = 32
_STATE: Final = re.compile(rf"{LOG_DIRECTORY}/state-v([0-9]{{20}})/_manifest\.(avro|json)")
_CONTENT_NAMED: Final = re.compile(rf"{SHARED_MANIFESTS}/manifest-([0-9a-f]{{{_HASH_DIGITS}}})\.avro")


def state_directory(version: int) -> str:
    """Return the directory of a state, relative to the log directory.

    >>> state_directory(7)
    'state-v00000000000000000007'
    """
    return f"state-v{version:020d}"


def state_key(version: int, extension: str = "avro") -> str:
    return f"{LOG_DIRECTORY}/{state_directory(version)}/_manifest.{extension}"


def state_of(key: str) -> int | None:
    """Return the version whose state this object is, or None for any other object of the log directory."""
    match = _STATE.fullmatch(key)
    return int(match[1]) if match else None


def manifest_path(data: bytes) -> str:
    """Return the path of a manifest with these bytes: its name is their hash."""
    return f"{SHARED_MANIFESTS}/manifest-{hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]}.avro"


def is_content_named(path: str) -> bool:
    """Return True if the name is the hash of the content. Other writers use shorter, random names."""
    return _CONTENT_NAMED.fullmatch(path) is not None


def manifest_key(path: str, version: int) -> str:
    """Return the key of a manifest that the state at `version` names `path`; a bare name is in the state's directory.

    >>> manifest_key("manifests/manifest-ab.avro", 7)
    '_transaction_log/manifests/manifest-ab.avro'
    >>> manifest_key("manifest-ab.avro", 7)
    '_transaction_log/state-v00000000000000000007/manifest-ab.avro'
    """
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise CorruptTableError(
            f"the state at version {version} names a manifest {path!r}, which is not a path"
        )
    return f"{LOG_DIRECTORY}/{path}" if "/" in path else f"{LOG_DIRECTORY}/{state_directory(version)}/{path}"
