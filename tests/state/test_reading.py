"""Reading and writing manifests at size: few and very many entries, in parallel, in bounded memory, and pruned."""

from __future__ import annotations

import io
import pickle
import random
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.avro import find_blocks, read_blocks, read_header, write_container
from indextables.errors import CorruptTableError
from indextables.predicates import parse_where
from indextables.schema import Field, TableSchema
from indextables.state import (
    AVRO_SCHEMA,
    ENTRY_SCHEMA,
    LIVE_SCHEMA,
    CompactionRules,
    Condition,
    Delta,
    ManifestInfo,
    PartitionBounds,
    StateContext,
    StateManifest,
    StateOptions,
    TableState,
    decode_entries,
    encode_entries,
    encode_state,
    loading,
    prune,
    read_state,
    state_key,
    write_state,
)
from indextables.state import entries as codec
from indextables.state.column_masks import ColumnMasks
from support.faults import FaultyStore, MemoryStore
from support.logs import add
from support.states import grown

DAY = Field("n", "integer")
SCHEMA = TableSchema((Field("id", "long"), DAY))
NO_RULES = CompactionRules(tombstone_ratio=1.0, max_manifests=1000)


def many(count: int, *, partitions: int = 1000, start: int = 0) -> pa.Table:
    """Entries made column-wise: a million of them take seconds, not minutes."""
    numbers = pa.array(range(start, start + count), pa.int64())
    names = pc.binary_join_element_wise("n=", pc.cast(numbers, pa.string()), ".split", "")
    values = pc.cast(pa.array([n % partitions for n in range(start, start + count)]), pa.string())
    keys = pa.array(["n"] * count, pa.string())
    offsets = pa.array(range(count + 1), pa.int32())
    fixed: dict[str, pa.Array] = {
        "path": names,
        "partitionValues": pa.MapArray.from_arrays(offsets, keys, values),
        "size": pc.add(numbers, 1),
        "modificationTime": numbers,
        "dataChange": pa.repeat(pa.scalar(True), count),
        "hasFooterOffsets": pa.repeat(pa.scalar(False), count),
        "numRecords": numbers,
        "addedAtVersion": pc.cast(pc.divide(numbers, 100), pa.int64()),
        "addedAtTimestamp": numbers,
        "key": names,
    }
    columns = [fixed.get(field.name, pa.nulls(count, field.type)) for field in LIVE_SCHEMA]
    return pa.Table.from_arrays(columns, schema=LIVE_SCHEMA)


def write(
    store: Any, version: int, added: pa.Table, *, base: int | None = None, **more: Any
) -> StateManifest:
    old = None if base is None else TableState(store, read_state(store, base), lambda path: path)
    delta = Delta(added, dict.fromkeys(more.pop("removed", ()), 1))
    options = StateOptions(**({"rules": NO_RULES} | more))
    context = StateContext(version, 0, [DAY], None)
    return write_state(store, old, delta, context, options).manifest


def opened(store: Any, version: int, **more: Any) -> TableState:
    return TableState(store, read_state(store, version), lambda path: path, **more)


@pytest.mark.spec(
    "testReadEmptyManifest",
    "testReadSingleEntry",
    "testReadMultipleEntries",
    "testReadLargeManifest",
    "testWriteSingleEntry",
    "testWriteMultipleEntries",
    "testWriteLargeManifest",
)
@pytest.mark.parametrize("count", [0, 1, 1000, 100_000])
def test_a_manifest_of_any_number_of_entries_reads_back(count: int):
    table = many(count).select(ENTRY_SCHEMA.names)
    data = write_container(AVRO_SCHEMA, encode_entries(table), codec="zstandard")
    header = read_header(data, "m")
    found = decode_entries(header.schema, read_blocks(data, header, "m"), "m")
    assert found.combine_chunks().equals(table.combine_chunks())


@pytest.mark.spec("testReadEmptyManifest", "testWriteEmptyManifest")
def test_a_manifest_without_entries_is_a_manifest():
    """No state that this package writes names one; those of other programs may."""
    store = MemoryStore()
    data = write_container(AVRO_SCHEMA, encode_entries(many(0).select(ENTRY_SCHEMA.names)), codec="zstandard")
    store.put("_transaction_log/manifests/manifest-ab.avro", data)
    assert list(fastavro.reader(io.BytesIO(data))) == []
    state = StateManifest(1, 0, 0, 0, (ManifestInfo("manifests/manifest-ab.avro", 0, 0, 0),))
    store.put(state_key(1), encode_state(state))
    assert opened(store, 1).entries().num_rows == 0


def test_a_manifest_decoded_in_pieces_is_whole_and_in_order(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore()
    write(store, 1, many(5_000, partitions=1))
    whole = opened(store, 1).entries()
    monkeypatch.setattr(loading, "_PIECE_BYTES", 1)
    pieces = opened(store, 1).entries()
    assert pieces.column("path").num_chunks > whole.column("path").num_chunks == 1
    assert pieces.equals(whole)


def test_damage_in_any_piece_of_a_manifest_is_an_error(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore()
    table = many(5_000).select(ENTRY_SCHEMA.names)
    data = write_container(AVRO_SCHEMA, encode_entries(table), codec="zstandard")
    monkeypatch.setattr(loading, "_PIECE_BYTES", 1)
    found = list(find_blocks(data, read_header(data, "m"), "m"))
    assert len(found) > 2
    for block in found:
        store.put(
            "_transaction_log/manifests/mine.avro", data[: block.start] + b"?" + data[block.start + 1 :]
        )
        state = StateManifest(1, 0, 5_000, 0, (ManifestInfo("manifests/mine.avro", 5_000, 0, 50),))
        with pytest.raises(CorruptTableError, match=r"mine\.avro"):
            TableState(store, state, str).entries()


class Gate:
    """A store whose manifests open only when as many readers wait as there should be."""

    def __init__(self, inner: MemoryStore, readers: int) -> None:
        self._inner = inner
        self._barrier = threading.Barrier(readers, timeout=60)
        self.most = self._now = 0
        self._lock = threading.Lock()
        self.uri = inner.uri

    def get(self, key: str, limit: int | None = None) -> bytes:
        if "/manifests/" in key:
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
            self._barrier.wait()
            with self._lock:
                self._now -= 1
        return self._inner.get(key, limit)


@pytest.mark.spec("testParallelManifestRead")
@pytest.mark.parametrize("parallelism", [1, 4])
def test_manifests_are_read_as_many_at_once_as_the_setting_says(parallelism: int):
    store = MemoryStore()
    write(store, 1, many(80), entries_per_manifest=10)
    gate = Gate(store, parallelism)
    found = opened(gate, 1, parallelism=parallelism).entries()
    assert gate.most == parallelism
    assert sorted(found.column("key").to_pylist()) == sorted(many(80).column("key").to_pylist())


@pytest.mark.spec("testWriteStreamingAppend")
def test_entries_are_encoded_as_their_blocks_are_taken(monkeypatch: pytest.MonkeyPatch):
    encoded: list[int] = []
    inner = codec.encode_records

    def counted(batch: pa.RecordBatch, schema: str) -> pa.BinaryArray:
        encoded.append(batch.num_rows)
        return inner(batch, schema)

    monkeypatch.setattr(codec, "encode_records", counted)
    blocks = encode_entries(many(50_000).select(ENTRY_SCHEMA.names))
    next(blocks)
    assert sum(encoded) < 10_000
    assert sum(block.count for block in blocks) < sum(encoded) == 50_000


@pytest.mark.spec("testWriteLargeManifest", "testCompactionMemoryEfficiency")
def test_a_large_write_holds_a_few_manifests_and_not_all(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore()
    monkeypatch.setattr(store, "put", lambda key, data: sizes.append(len(data)))
    sizes: list[int] = []
    table = many(50_000)
    column = table.schema.get_field_index("stats")
    table = table.set_column(column, table.schema.field(column), pa.repeat(pa.scalar("x" * 500), 50_000))
    tracemalloc.start()
    try:
        write(store, 1, table, entries_per_manifest=2000, codec="null")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(sizes) == 28, "a pin, 25 manifests, a state, a hint"
    assert peak < 0.5 * sum(sizes)


@pytest.mark.spec("testStateManifestVersionBounds")
def test_version_bounds_of_each_manifest_are_those_of_its_entries():
    store = MemoryStore()
    grown(store, 61, files_each=3)
    for version in range(10, 61, 10):
        state = opened(store, version)
        for info in state.manifest.manifests:
            versions = state.live([info]).column("addedAtVersion").to_pylist()
            assert (info.min_added_at_version, info.max_added_at_version) == (min(versions), max(versions))
            assert info.num_entries == len(versions)


@pytest.mark.spec("testLargeTombstoneList")
def test_ten_thousand_tombstones_hide_as_many_entries():
    store = MemoryStore()
    table = many(30_000)
    gone = random.Random(3).sample(table.column("key").to_pylist(), 12_000)
    write(store, 1, table)
    state = write(store, 2, many(10, start=30_000), base=1, removed=gone)
    assert len(state.tombstones) == 12_000
    assert state.num_files == 18_010
    found = opened(store, 2).entries().column("key").to_pylist()
    assert len(found) == 18_010
    assert not set(found) & set(gone)


@pytest.mark.spec(
    "testCompactionPreservesAllFiles",
    "testCompactionWithPartitionedData",
    "testCompactionPerformance70K",
    "testCompactionPreservesPartitionLocality",
    "testCompactionComputesPartitionBounds",
)
def test_a_compaction_of_seventy_thousand_files_keeps_each_and_sorts_them():
    store = MemoryStore()
    table = many(70_000)
    write(store, 1, table.take(pa.array(random.Random(5).sample(range(70_000), 70_000))))
    gone = table.column("key").to_pylist()[:1000]
    state = write_state(
        store, opened(store, 1), Delta(LIVE_SCHEMA.empty_table(), dict.fromkeys(gone, 1)),
        StateContext(2, 0, [DAY], None), StateOptions(), compact="asked",
    ).manifest  # fmt: skip
    assert (len(state.manifests), state.tombstones, state.num_files) == (2, (), 69_000)
    found = opened(store, 2).entries()
    assert set(found.column("key").to_pylist()) == set(table.column("key").to_pylist()[1000:])
    bounds = [info.partition_bounds["n"] for info in state.manifests if info.partition_bounds]
    assert int(bounds[0].min or -1) == 0
    assert int(bounds[0].max or -1) <= int(bounds[1].min or -1)
    assert int(bounds[1].max or -1) == 999


@pytest.fixture(scope="module")
def fleet() -> MemoryStore:
    """A hundred manifests, ten of the thousand partitions in each."""
    store = MemoryStore()
    write(store, 1, many(5000), entries_per_manifest=50)
    return store


def manifests_read(store: MemoryStore, where: str, version: int = 1) -> tuple[set[int], set[str]]:
    """Which manifests a condition reads, by their place, and the keys that it gives."""
    watched = FaultyStore(store)
    state = opened(watched, version)
    found = prune(state, Condition(parse_where(where, SCHEMA), SCHEMA, ("n",))).entries
    places = {f"_transaction_log/{info.path}": at for at, info in enumerate(state.manifest.manifests)}
    read = {places[key] for _, key in watched.calls if key in places}
    return read, set(found.column("key").to_pylist())


@pytest.mark.spec(
    "testFilterByPartition",
    "testPruneByEqualityFilter",
    "testPruneByRangeFilter",
    "testPruneByInFilter",
    "testPruneByAndFilter",
    "testPruneByOrFilter",
)
@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("n = 517", {51}),
        ("n <=> 999", {99}),
        ("n = 1000", set()),
        ("n < 20", {0, 1}),
        ("n <= 20", {0, 1, 2}),
        ("n > 979", {98, 99}),
        ("n >= 979", {97, 98, 99}),
        ("n BETWEEN 305 AND 325", {30, 31, 32}),
        ("n IN (5, 505, 5000)", {0, 50}),
        ("n > 100 AND n < 105", {10}),
        ("n < 100 AND n > 105", set()),
        ("n = 5 OR n = 995", {0, 99}),
        ("n = 5 OR (n > 990 AND n < 2000)", {0, 99}),
        ("NOT (n < 990)", {99}),
        ("id = 5 AND n = 7", {0}),
    ],
)
def test_only_manifests_whose_bounds_can_match_are_read(fleet: MemoryStore, where: str, read: set[int]):
    found, keys = manifests_read(fleet, where)
    assert found == read
    rows = opened(fleet, 1).entries()
    partition = parse_where(where.replace("id = 5 AND ", ""), SCHEMA)
    mask = ColumnMasks(Condition(partition, SCHEMA, ("n",)), rows).by_partition_values()
    assert keys == set(rows.filter(mask).column("key").to_pylist())


@pytest.mark.spec("testNoPruningForUnknownColumn")
def test_a_column_that_is_no_partition_reads_every_manifest(fleet: MemoryStore):
    found, keys = manifests_read(fleet, "id = 5")
    assert (len(found), len(keys)) == (100, 5000)


@pytest.mark.spec("testPruneByOrFilter")
def test_so_does_a_choice_of_which_one_side_is_no_partition(fleet: MemoryStore):
    found, _ = manifests_read(fleet, "n = 5 OR id = 5")
    assert len(found) == 100


@pytest.mark.spec("testPartitionPruningEffectiveness")
def test_one_of_a_thousand_partitions_reads_a_hundredth_of_the_manifests(fleet: MemoryStore):
    skipped = [len(manifests_read(fleet, f"n = {n}")[0]) for n in random.Random(2).sample(range(1000), 50)]
    assert max(skipped) == 1


def with_bounds(store: MemoryStore, version: int, keep: set[int]) -> None:
    """The state again, with bounds for some of its manifests only."""
    state = read_state(store, 1)
    infos = tuple(
        info
        if at in keep
        else ManifestInfo(
            info.path, info.num_entries, info.min_added_at_version, info.max_added_at_version, None
        )
        for at, info in enumerate(state.manifests)
    )
    told = StateManifest(version, 0, state.num_files, state.total_bytes, infos)
    store.put(state_key(version), encode_state(told))


@pytest.fixture
def small() -> Iterator[MemoryStore]:
    store = MemoryStore()
    write(store, 1, many(100, partitions=20), entries_per_manifest=10)
    return store


@pytest.mark.spec("testNoPruningWithoutBounds")
def test_without_bounds_every_manifest_is_read_and_the_answer_is_the_same(small: MemoryStore):
    with_bounds(small, 2, set())
    assert manifests_read(small, "n = 3", 2) == (set(range(10)), manifests_read(small, "n = 3")[1])


@pytest.mark.spec("testMixedBoundsAndNoBounds")
def test_a_manifest_without_bounds_among_others_is_read(small: MemoryStore):
    with_bounds(small, 2, set(range(10)) - {7})
    read, keys = manifests_read(small, "n = 3", 2)
    assert read == {1, 7}
    assert keys == manifests_read(small, "n = 3")[1]


@pytest.mark.spec("testPartitionPruningWithTombstones")
def test_tombstones_hold_for_what_a_condition_reads(small: MemoryStore):
    before = manifests_read(small, "n = 3")
    victim = min(before[1])
    write(small, 2, LIVE_SCHEMA.empty_table(), base=1, removed=[victim])
    assert manifests_read(small, "n = 3", 2) == (before[0], before[1] - {victim})


def test_a_value_that_is_none_of_its_type_takes_the_bounds_from_its_own_manifest_only():
    values = pa.array(
        [[("n", text)] for text in ("x", "3", "2", "1")], ENTRY_SCHEMA.field("partitionValues").type
    )
    table = many(4)
    column = table.schema.get_field_index("partitionValues")
    table = table.set_column(column, table.schema.field(column), values)
    state = write(MemoryStore(), 1, table, entries_per_manifest=2)
    bounds = [info.partition_bounds for info in state.manifests]
    assert bounds == [{"n": PartitionBounds("1", "2")}, {"n": PartitionBounds(None, None)}]


@pytest.mark.spec("testIncrementalWritePartitionBounds")
def test_manifests_of_incremental_writes_have_bounds_of_their_own(small: MemoryStore):
    state = write(small, 2, many(5, partitions=1, start=7000), base=1)
    assert state.manifests[-1].partition_bounds == {"n": PartitionBounds("0", "0")}
    assert manifests_read(small, "n = 0", 2)[0] == {0, 10}
    assert manifests_read(small, "n = 19", 2)[0] == {9}


@pytest.mark.spec("testPartitionPruningPerformance1M")
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_one_partition_of_a_million_files_reads_one_manifest_and_little_of_it():
    store = MemoryStore()
    write(store, 1, many(1_000_000))
    watched = FaultyStore(store)
    state = opened(watched, 1)
    assert len(state.manifest.manifests) == 20
    found = prune(state, Condition(parse_where("n = 517", SCHEMA), SCHEMA, ("n",))).entries
    assert found.num_rows == 1000
    reads = [(operation, key) for operation, key in watched.calls if "/manifests/" in key]
    assert len({key for _, key in reads}) == 1
    assert {operation for operation, _ in reads} == {"get_range"}


@pytest.mark.spec("testFileEntryJavaSerialization")
def test_entries_travel_pickled_as_spark_sends_them():
    """What a task of Spark is given and gives back: Python values, pickled."""
    file = add("a.split", min_values={"id": "1"}, split_tags=("x",))
    state = StateManifest(3, 1, 2, 3, (ManifestInfo("m", 1, 0, 3, None),), ("gone",), {"ref": "[]"})
    for value in (file, state, many(3)):
        assert pickle.loads(pickle.dumps(value)) == value
