"""The state in figures: of an Avro state, of a JSON checkpoint of older tables, and where there is none."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from bench.states.growth import grow

from indextables.config import Settings, keys
from indextables.errors import TableNotFoundError
from indextables.log import Append, Protocol, checkpoint, commit, load_snapshot
from indextables.log.actions import checkpoint_key, to_document
from indextables.log.snapshots import cache
from indextables.maintenance import describe_state
from indextables.state import LAST_CHECKPOINT, read_state
from support.faults import MemoryStore
from support.logs import add, metadata, put_version


def test_without_a_table_there_is_nothing_to_describe(store: MemoryStore):
    with pytest.raises(TableNotFoundError):
        describe_state(store, Settings())


def test_without_a_state_the_figures_are_zero_and_the_status_says_why(store: MemoryStore):
    commit(store, Append((add("a"),), metadata()), base=None)
    found = describe_state(store, Settings())
    assert (found.format, found.version, found.num_files, found.total_bytes) == ("none", 0, 0, 0)
    assert found.status == "no state yet; version 0 is read from its version files"


def test_a_state_that_the_table_has_left_behind_says_so(store: MemoryStore):
    base = commit(store, Append((add("a"), add("b")), metadata()), base=None).snapshot
    checkpoint(store, Settings())
    commit(store, Append((add("c"),), metadata()), base=base)
    found = describe_state(store, Settings())
    assert (found.format, found.version, found.num_files, found.total_bytes) == ("avro-state", 0, 2, 20)
    assert found.status == "OK; the table is at version 1"


def test_small_manifests_above_the_limit_are_to_be_compacted(store: MemoryStore):
    every = Settings({"spark.indextables.checkpoint.interval": "1"})
    snapshot = None
    for n in range(4):
        snapshot = commit(store, Append((add(str(n)),), metadata()), base=snapshot, settings=every).snapshot
    assert not describe_state(store, Settings()).needs_compaction
    strict = Settings({"spark.indextables.state.compaction.maxManifests": "1"})
    found = describe_state(store, strict)
    assert found.num_manifests > 1
    assert found.needs_compaction
    assert "to be compacted" in found.status


def test_a_state_says_when_it_was_written_and_what_reading_it_takes(store: MemoryStore):
    commit(store, Append((add("a"),), metadata()), base=None)
    found = describe_state(store, Settings())
    assert (found.created_at, found.protocol_version) == (None, 4)
    checkpoint(store, Settings(), clock=lambda: 1_704_067_200_000)
    found = describe_state(store, Settings())
    assert (found.created_at, found.protocol_version) == (datetime(2024, 1, 1, tzinfo=UTC), 4)


def test_a_json_checkpoint_says_so_too(store: MemoryStore):
    commit(store, Append((add("a"),), metadata(), protocol=Protocol(3, 3)), base=None)
    settings = Settings({keys.STATE_FORMAT.key: "json"})
    checkpoint(store, settings, clock=lambda: 1_704_067_200_000)
    found = describe_state(store, settings)
    assert (found.created_at, found.protocol_version) == (datetime(2024, 1, 1, tzinfo=UTC), 3)
    store.delete(LAST_CHECKPOINT)  # then as the store says
    written = datetime.fromtimestamp(store.head(checkpoint_key(0)).modified_ms / 1000, tz=UTC)
    assert describe_state(store, settings).created_at == written


def test_a_json_checkpoint_has_figures_too(store: MemoryStore):
    actions = [Protocol(2, 2), metadata(), add("a"), add("b")]
    lines = "".join(json.dumps(to_document(action)) + "\n" for action in actions)
    store.put(checkpoint_key(1), lines.encode())
    put_version(store, 2, [add("c")])
    found = describe_state(store, Settings())
    assert (found.format, found.version, found.num_files, found.total_bytes) == ("json", 1, 2, 20)
    assert (found.num_manifests, found.status) == (0, "OK; the table is at version 2")


@pytest.mark.spec("testDescribeStateCommand")
@pytest.mark.parametrize("seed", range(2))
def test_every_figure_is_what_counting_finds(store: MemoryStore, seed: int):
    settings = Settings({"spark.indextables.state.compaction.tombstoneThreshold": "0.05"})
    for step in grow(store, 32, seed=seed, settings=Settings({"spark.indextables.checkpoint.interval": "4"})):
        cache.forget()
        version = step.snapshot.version
        if version < 4 or version % 3:
            continue
        found = describe_state(store, settings)
        state = read_state(store, found.version)
        live = load_snapshot(store, found.version).files
        assert (found.table_path, found.format, found.version) == (store.uri, "avro-state", version // 4 * 4)
        assert found.num_files == len(live)
        assert found.total_bytes == sum(file.size for file in live.values())
        assert found.num_manifests == len(state.manifests)
        assert found.num_tombstones == len(state.tombstones)
        # A file that came and went between two states has a tombstone and no entry.
        assert sum(info.num_entries for info in state.manifests) <= len(live) + found.num_tombstones
        assert found.tombstone_ratio == pytest.approx(found.num_tombstones / len(live))
        assert found.needs_compaction == (found.tombstone_ratio > 0.05)
        behind = "" if version == found.version else f"; the table is at version {version}"
        assert found.status.startswith(f"OK{behind}")
        assert ("to be compacted" in found.status) == found.needs_compaction
