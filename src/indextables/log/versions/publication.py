"""Publishing a version: the writer seals its text with a checksum and creates the file if it is absent."""

from __future__ import annotations

import dataclasses

from indextables.errors import InputError
from indextables.log.actions import (
    MAX_STORED,
    CommitInfo,
    decode_version,
    encode_text,
    max_text_bytes,
    seal_version,
    version_key,
)
from indextables.log.versions.reader import VersionActions
from indextables.storage import Backoff, Claim, Store, claim


def seal(version: VersionActions, uri: str) -> tuple[VersionActions, bytes]:
    """Return the version with its checksum in the commitInfo in front, and its text.

    Raises InputError if the text is larger than what readers accept.
    """
    text, checksum = seal_version(encode_text(version.actions))
    limit = max_text_bytes()
    if len(text) > limit:
        raise InputError(
            f"a commit to {uri} would write {len(text) >> 20} MB of actions ({len(version.actions)} of them) in one "
            f"version; readers accept up to {limit >> 20} MB. Write fewer and larger splits, or commit in several steps"
        )
    info, *others = version.actions
    assert isinstance(info, CommitInfo)
    return dataclasses.replace(version, actions=[dataclasses.replace(info, sha256=checksum), *others]), text


def publish(store: Store, version: int, data: bytes, txn_id: str, backoff: Backoff) -> bool:
    """Create the version file. Return True if it is this writer's, False if another writer created it first.

    The transaction id in the file tells them apart when the store does not answer. Raises CommitUnknownError if the
    file's owner cannot be determined; after any other error nothing was written.
    """
    key = version_key(version)

    def is_ours(raw: bytes) -> bool:
        actions = decode_version(raw, f"{store.uri}/{key}")
        owner = next((a.txn_id for a in actions if isinstance(a, CommitInfo) and a.txn_id is not None), "")
        return owner == txn_id

    advice = f"look in the history for a version with transaction id {txn_id}"
    target = Claim(key, data, is_ours=is_ours, what=f"version {version}", advice=advice, limit=MAX_STORED)
    return claim(store, target, backoff)
