"""Every stage of pruning drops the file that was made for it, in order, and the answer is that of brute force."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest

from indextables.log.actions import Added, AddFile, to_entries
from indextables.log.snapshots import LiveFiles
from indextables.predicates import TRUE, Predicate, columns_of, evaluate, may_match, parse_where
from indextables.schema import Field, TableSchema, encode_value
from indextables.state import (
    STAGES,
    Condition,
    Delta,
    Measured,
    PrunedFiles,
    StateContext,
    StateOptions,
    TableState,
    prune,
    read_state,
    write_state,
)
from indextables.state import entries as entry_codec
from indextables.stats import BloomCollector, MinMaxCollector, bounds_of, inline_stats
from support.faults import FaultyStore, MemoryStore

SCHEMA = TableSchema((Field("day", "integer"), Field("n", "long"), Field("id", "string")))
PARTITIONS = ("day",)
PER_MANIFEST = 40
ROWS = 3


def split(path: str, rows: Sequence[tuple[int | None, int | None, str]]) -> tuple[AddFile, pa.RecordBatch]:
    """A file of one partition, with true statistics and a Bloom filter of `id`."""
    columns = dict(zip(("day", "n", "id"), zip(*rows, strict=True), strict=True))
    batch = pa.record_batch(
        [pa.array(columns[column.name], column.arrow_type) for column in SCHEMA], SCHEMA.names
    )
    bounds = MinMaxCollector(SCHEMA, ["n", "id"], 32)
    bounds.add(batch)
    filters = BloomCollector(SCHEMA, ["id"], fpp=0.0001)
    filters.add(batch)
    day = encode_value(rows[0][0], "integer")
    return AddFile(
        path,
        {} if day is None else {"day": day},
        1,
        min_values=bounds.min_values(),
        max_values=bounds.max_values(),
        stats=inline_stats(filters.filters(), 1 << 10),
        doc_mapping_ref="ours",
    ), batch


def write(store: MemoryStore, files: Sequence[AddFile]) -> None:
    measured = Measured([SCHEMA.field("n"), SCHEMA.field("id")], {"ours"})
    context = StateContext(1, 0, [SCHEMA.field("day")], None, measured=measured)
    entries = to_entries((file.path, Added(file, 0, 0)) for file in files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_codec, "BLOCK_BYTES", 500)  # a block holds four files
        write_state(store, None, Delta(entries), context, StateOptions(entries_per_manifest=PER_MANIFEST))


def opened(store: MemoryStore | FaultyStore) -> TableState:
    return TableState(store, read_state(store, 1), lambda path: path, parallelism=2)


def pruned(files: TableState | LiveFiles, predicate: Predicate) -> PrunedFiles:
    return prune(files, Condition(predicate, SCHEMA, PARTITIONS, {"ours"}))


def with_later(state: TableState, later: Sequence[AddFile]) -> LiveFiles:
    """The files of the state, and some that a later version added."""
    files = LiveFiles(state).edit()
    for file in later:
        files.add(file.path, file, version=2, timestamp_ms=0)
    return files.done()


def table() -> list[AddFile]:
    """Two manifests of forty files: of days 0 to 9, with `n` ascending inside each day, and of day 50 only."""
    first = [(day, 10 * day + step) for day in range(10) for step in range(4)]
    files = [split(f"{day}-{n}", [(day, n, f"a{n}"), (day, n, f"c{n}")])[0] for day, n in first]
    return files + [split(f"50-{n}", [(50, n, "b")])[0] for n in range(PER_MANIFEST)]


def test_each_stage_drops_the_files_that_were_made_for_it():
    store = MemoryStore()
    write(store, table())
    # Later versions are not in a state: for these files the last three stages alone decide.
    later = [
        split("hit", [(7, 71, "b1")])[0],
        split("other day", [(8, 71, "b1")])[0],
        split("other n", [(7, 75, "b1")])[0],
        split("other id", [(7, 71, "b0"), (7, 71, "b2")])[0],
    ]
    files = with_later(opened(store), later)
    found = pruned(files, parse_where("day = 7 AND n = 71 AND id = 'b1'", SCHEMA))
    assert found.column("path") == ["hit"]
    assert list(found.dropped) == list(STAGES)
    assert found.dropped == {
        "manifest bounds": 40,  # the manifest of day 50
        "block bounds": 36,  # all blocks but that of day 7
        "partition values": 1,  # other day
        "min/max": 3 + 1,  # the other files of day 7, and other n
        "Bloom filters": 1 + 1,  # the file of the ids a71 and c71, and other id
    }
    assert sum(found.dropped.values()) == len(table()) + len(later) - 1


@pytest.mark.parametrize(
    ("where", "dropped"),
    [
        ("day = 60", {"manifest bounds": 80}),
        ("n BETWEEN 95 AND 99", {"manifest bounds": 80}),
        ("day = 3", {"manifest bounds": 40, "block bounds": 36}),
        ("day >= 0 AND day < 9", {"manifest bounds": 40, "partition values": 4}),
        ("day IS NULL", {"partition values": 80}),
        ("id = 'b' AND day = 50 AND n = 7", {"manifest bounds": 40, "block bounds": 36, "min/max": 3}),
        ("id = 'zz' OR id = 'b1'", {"manifest bounds": 40, "Bloom filters": 40}),
        (
            "id = 'b0' AND day = 3 AND n = 31",
            {"manifest bounds": 40, "block bounds": 36, "min/max": 3, "Bloom filters": 1},
        ),
    ],
)
def test_the_first_stage_that_can_drop_a_file_drops_it(where: str, dropped: dict[str, int]):
    store = MemoryStore()
    write(store, table())
    found = pruned(opened(store), parse_where(where, SCHEMA))
    assert {stage: count for stage, count in found.dropped.items() if count} == dropped
    assert found.entries.num_rows + sum(dropped.values()) == len(table())


def test_a_table_without_a_condition_keeps_all_files():
    store = MemoryStore()
    write(store, table())
    found = pruned(opened(store), TRUE)
    assert found.entries.num_rows == len(table())
    assert set(found.dropped.values()) == {0}
    assert found.partition_values()[0] == {"day": 0}


def test_a_state_that_is_decoded_gives_the_same_files():
    store = MemoryStore()
    write(store, table())
    lazy, loaded = opened(store), opened(store)
    loaded.entries()
    for where in ("day = 3", "n = 71", "id = 'b'", "day = 50 AND n > 12"):
        predicate = parse_where(where, SCHEMA)
        lazily, at_once = pruned(lazy, predicate), pruned(loaded, predicate)
        assert lazily.column("path") == at_once.column("path")
        assert at_once.dropped["manifest bounds"] == at_once.dropped["block bounds"] == 0
        assert sum(lazily.dropped.values()) == sum(at_once.dropped.values())


def test_only_the_blocks_that_can_match_are_fetched():
    store = MemoryStore()
    write(store, table())
    watched = FaultyStore(store)
    state = opened(watched)
    watched.calls.clear()
    assert pruned(state, parse_where("day = 3", SCHEMA)).entries.num_rows == 4
    assert not state.is_loaded
    assert {operation for operation, key in watched.calls if "manifests/" in key} == {"get_range"}
    assert len({key for _, key in watched.calls if "manifests/" in key}) == 1


def test_a_damaged_manifest_is_replaced_and_nothing_is_counted_twice():
    store = MemoryStore()
    write(store, table())
    whole = opened(store).entries()
    state = TableState(store, read_state(store, 1), lambda path: path, rescue=lambda _: whole)
    for info in state.manifest.manifests:
        store.put(f"_transaction_log/{info.path}", b"damaged")
    found = pruned(state, parse_where("day = 3", SCHEMA))
    assert found.entries.num_rows == 4
    assert found.dropped["partition values"] == sum(found.dropped.values()) == len(table()) - 4


def test_hundreds_of_random_conditions_by_brute_force():
    """The files that are kept are those that the engine keeps, and hold every row that matches."""
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    splits = []
    for number in range(60):
        day = rng.choice([None, *range(6)])
        base = rng.randrange(50)
        rows = [(day, rng.choice([None, base + i]), rng.choice("abcdef")) for i in range(ROWS)]
        splits.append(split(f"f{number}", rows))
    files = [file for file, _ in splits]
    all_rows = pa.Table.from_batches([batch for _, batch in splits]).combine_chunks().to_batches()[0]
    store = MemoryStore()
    write(store, files[:50])
    live = with_later(opened(store), files[50:])
    for case in range(300):
        predicate = parse_where(random_where(rng, 3), SCHEMA)
        found = pruned(live, predicate)
        paths = set(found.column("path"))
        what = f"seed {seed}, case {case}: {predicate}"
        hits = evaluate(predicate, all_rows).to_pylist()
        needed = {files[row // ROWS].path for row, hit in enumerate(hits) if hit}
        assert needed <= paths, what
        assert paths <= {file.path for file in files if engine_keeps(file, predicate)}, what
        assert len(paths) + sum(found.dropped.values()) == len(splits), what
        if columns_of(predicate) <= {"day"}:
            assert paths == needed, f"{what}: partition values are exact"


def random_where(rng: random.Random, depth: int) -> str:
    if depth and rng.random() < 0.6:
        left, right = random_where(rng, depth - 1), random_where(rng, depth - 1)
        return rng.choice([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"])
    column = rng.choice(["day", "n", "id"])
    if rng.random() < 0.1:
        return f"{column} IS NULL"
    literal = {"day": rng.randrange(8), "n": rng.randrange(60), "id": repr(rng.choice("abcdefgh"))}[column]
    return f"{column} {rng.choice(['=', '<', '<=', '>', '>=', '<>', '<=>'])} {literal}"


def engine_keeps(file: AddFile, predicate: Predicate) -> bool:
    """Without filters, and with the value of the partition column as its bounds."""
    low, high = dict(file.min_values or {}), dict(file.max_values or {})
    day = file.partition_values.get("day")
    if day is not None:
        low["day"] = high["day"] = day
    return may_match(predicate, lambda name: bounds_of(SCHEMA.field(name), low, high, ours=True))
