"""What CHECKPOINT reads of a log that has no state: each version file once."""

from __future__ import annotations

from collections import Counter

import pytest

from indextables.config import Settings, keys
from indextables.log import AddFile, CommitInfo, Metadata, Protocol, encode_version, load_snapshot
from indextables.log.actions import version_key
from indextables.log.snapshots import cache
from indextables.maintenance import upgrade_and_checkpoint
from indextables.schema import TableSchema
from support.faults import FaultyStore, MemoryStore

VERSIONS = 5
SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'


@pytest.mark.parametrize("form", ["avro", "json"])
@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("has_ids", [True, False])
def test_each_version_file_is_read_once(form: str, protocol: int, has_ids: bool) -> None:
    memory = MemoryStore()
    for version in range(VERSIONS):
        info = CommitInfo(f"txn-{version}" if has_ids else None, "WRITE", timestamp=version)
        start = [Protocol(protocol, protocol), Metadata("id", TableSchema.from_json(SCHEMA).to_json())]
        add = AddFile(f"splits/split-{version}.split", {}, size=1)
        memory.put(version_key(version), encode_version([info, *(start if version == 0 else []), add]))
    cache.forget(memory.uri)
    store = FaultyStore(memory)
    written = upgrade_and_checkpoint(store, Settings({keys.STATE_FORMAT.key: form}))
    assert written.num_files == VERSIONS
    reads = Counter(key for operation, key in store.calls if operation == "get")
    assert {version: reads[version_key(version)] for version in range(VERSIONS)} == dict.fromkeys(
        range(VERSIONS), 1
    )
    cache.forget(memory.uri)
    assert len(load_snapshot(memory).files) == VERSIONS
