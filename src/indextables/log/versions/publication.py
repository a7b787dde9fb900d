"""Publishing a version: its file is claimed, and the transaction id in it says whose it is."""

from __future__ import annotations

from indextables.log.actions.codec import MAX_STORED, decode_version
from indextables.log.actions.model import CommitInfo
from indextables.log.actions.paths import version_key
from indextables.storage import Backoff, Claim, Store, claim


def publish(store: Store, version: int, data: bytes, txn_id: str, backoff: Backoff) -> bool:
    """Create the version file: True if it is ours, False if another writer's.

    CommitUnknownError when that cannot be found out; any other error when nothing can have been written.
    """
    key = version_key(version)

    def is_ours(raw: bytes) -> bool:
        actions = decode_version(raw, f"{store.uri}/{key}")
        owner = next((a.txn_id for a in actions if isinstance(a, CommitInfo) and a.txn_id is not None), "")
        return owner == txn_id

    advice = f"look in the history for a version with transaction id {txn_id}"
    return claim(store, Claim(key, data, is_ours, f"version {version}", advice, MAX_STORED), backoff)
