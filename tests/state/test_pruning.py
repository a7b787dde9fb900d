"""Pruning is sound: what holds a matching row is never left out, whichever program wrote the bounds. And it prunes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.avro import read_blocks, read_header
from indextables.log.actions import Added, AddFile, from_entries, to_entries
from indextables.predicates import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    bind,
    evaluate,
    may_match,
    parse_where,
)
from indextables.schema import ARROW_TYPES, Field, TableSchema, decode_value, encode_value
from indextables.state import (
    Condition,
    Delta,
    ManifestInfo,
    Measured,
    PartitionBounds,
    StateContext,
    StateOptions,
    TableState,
    decode_entries,
    manifest_key,
    prune,
    read_state,
    write_state,
)
from indextables.state import entries as entry_codec
from indextables.state.blocks import IndexedBlock, decode_index
from indextables.state.column_masks import ColumnMasks
from indextables.stats import MinMaxCollector, bounds_of
from support.faults import FaultyStore, MemoryStore

KINDS = ["string", "integer", "long", "boolean", "date", "timestamp"]
LONG = "x" * 33 + "yyyyyyyyyy"
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def value(kind: str) -> st.SearchStrategy[Any]:
    return {
        "string": st.sampled_from(["", "9", "10", "100", "a", "ab", "ü", *(LONG[:n] for n in (31, 32, 34, 40))]),
        "integer": st.integers(-12, 120),
        "long": st.sampled_from([-(1 << 63), -1, 0, 9, 10, 100, (1 << 63) - 1]),
        "double": st.sampled_from([-1.5, -0.0, 0.0, 9.0, 10.0, 1e300, float("inf")]),
        "boolean": st.booleans(),
        "date": st.integers(-3, 40).map(lambda d: date(2024, 1, 1) + timedelta(days=d)),
        "timestamp": st.integers(-3, 40).map(lambda d: EPOCH + timedelta(hours=7 * d, microseconds=d % 3)),
    }[kind]  # fmt: skip


def leaf(name: str, kind: str) -> st.SearchStrategy[Predicate]:
    one = value(kind)
    ops = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    choices: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, ops, st.just(name), one),
        st.just(Compare("<=>", name, None)),
        st.builds(In, st.just(name), st.lists(one | st.none(), min_size=1, max_size=3).map(tuple)),
        st.just(IsNull(name)),
    ]
    if kind == "string":
        kinds = st.sampled_from(["starts_with", "ends_with", "contains"])
        choices.append(st.builds(StringMatch, kinds, st.just(name), one))
    return st.one_of(choices)


def predicates(columns: dict[str, str]) -> st.SearchStrategy[Predicate]:
    leaves = st.one_of([leaf(name, kind) for name, kind in columns.items()])
    pair = lambda inner: st.tuples(inner, inner)  # noqa: E731
    return st.recursive(
        leaves,
        lambda inner: st.one_of(pair(inner).map(And), pair(inner).map(Or), inner.map(Not)),
        max_leaves=5,
    )


@st.composite
def tables(draw: st.DrawFn) -> tuple[TableSchema, list[Added], list[pa.RecordBatch], Predicate]:
    """Files of two partition columns and two others, with their rows and true (or foreign) statistics."""
    kinds = {"p": draw(st.sampled_from(KINDS)), "q": draw(st.sampled_from(KINDS))}
    kinds |= {"x": draw(st.sampled_from([*KINDS, "double"])), "y": "string"}
    schema = TableSchema(tuple(Field(name, kind) for name, kind in kinds.items()))
    foreign = draw(st.booleans())
    files, batches = [], []
    for n in range(draw(st.integers(0, 6))):
        p, q = (draw(st.none() | value(kinds[name])) for name in "pq")
        rows = {name: draw(st.lists(st.none() | value(kinds[name]), min_size=2, max_size=2)) for name in "xy"}
        columns = {"p": [p, p], "q": [q, q], **rows}
        batch = pa.record_batch(
            [pa.array(columns[name], ARROW_TYPES[kind]) for name, kind in kinds.items()], list(kinds)
        )
        collector = MinMaxCollector(schema, ["x", "y"], None if foreign else 32)
        collector.add(batch)
        low, high = collector.min_values(), collector.max_values()
        if foreign:  # cut without rounding up
            low, high = ({k: v[:32] for k, v in found.items()} for found in (low, high))
        values = {name: encode_value(v, kinds[name]) for name, v in (("p", p), ("q", q)) if v is not None}
        if draw(st.booleans()):
            values |= {name: "__HIVE_DEFAULT_PARTITION__" for name, v in (("p", p), ("q", q)) if v is None}
        ref = "theirs" if foreign else "ours"
        file = AddFile(f"f{n}", values, 1, min_values=low, max_values=high, doc_mapping_ref=ref)
        files.append(Added(file, 0, 0))
        batches.append(batch)
    return schema, files, batches, draw(predicates(kinds))


def write_entries(
    store: Any, schema: TableSchema, columns: tuple[str, ...], entries: pa.Table, per_manifest: int
) -> None:
    """A state whose manifests have several blocks, with bounds of everything that can have them."""
    measured = Measured([column for column in schema if column.name not in columns], {"ours"})
    context = StateContext(1, 0, [schema.field(name) for name in columns], None, measured=measured)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_codec, "BLOCK_BYTES", 250)
        write_state(store, None, Delta(entries), context, StateOptions(entries_per_manifest=per_manifest))


def kept_by_columns(entries: pa.Table, condition: Condition) -> pa.Table:
    mask = ColumnMasks(condition, entries).by_bounds()
    return entries if mask is None else entries.filter(mask)


def survivors(store: Any, schema: TableSchema, predicate: Predicate, columns: tuple[str, ...]) -> set[str]:
    state = TableState(store, read_state(store, 1), lambda path: path, parallelism=1)
    return set(
        prune(state, Condition(predicate, schema, columns, {"ours"})).entries.column("path").to_pylist()
    )


@pytest.mark.spec("testReadWithPartitionValues", "testPartitionBoundsMultipleColumns")
@settings(max_examples=150, deadline=None)
@given(tables(), st.integers(1, 6))
def test_no_file_with_a_matching_row_is_ever_left_out(case, per_manifest: int):
    schema, files, batches, predicate = case
    store, columns = MemoryStore(), ("p", "q")
    entries = to_entries((added.file.path, added) for added in files)
    write_entries(store, schema, columns, entries, per_manifest)
    needed = {
        added.file.path
        for added, batch in zip(files, batches, strict=True)
        if True in evaluate(predicate, batch).to_pylist()
    }
    found = survivors(store, schema, predicate, columns)
    assert needed <= found
    whole = kept_by_columns(entries, Condition(predicate, schema, columns, {"ours"}))
    assert needed <= set(whole.column("path").to_pylist())
    assert needed <= {
        added.file.path for added in files if engine_keeps(schema, added.file, predicate, columns)
    }


def random_value(rng: random.Random, kind: str) -> Any:
    if rng.random() < 0.15:
        return None
    match kind:
        case "string":
            return rng.choice(
                [
                    "",
                    "9",
                    "10",
                    "100",
                    "a",
                    "ab",
                    "ü",
                    "\uffff",
                    "\U0001f600",
                    *(LONG[:n] for n in range(30, 36)),
                ]
            )
        case "date":
            return date(2024, 1, 1) + timedelta(days=rng.randint(-40, 40))
        case "timestamp":
            return EPOCH + timedelta(microseconds=rng.randint(-5, 5) * rng.choice([1, 10**6, 10**12]))
        case "boolean":
            return rng.random() < 0.5
        case "double":
            return rng.choice([-1.5, -0.0, 0.0, 9.0, 10.0, 1e300, float("inf"), float("-inf"), float("nan")])
        case "float":
            return rng.choice([0.5, -2.25, 1024.0])
        case _:
            return rng.randint(-12, 120)


def random_predicate(rng: random.Random, kinds: dict[str, str], depth: int = 2) -> Predicate:
    if depth and rng.random() < 0.5:
        pair = (random_predicate(rng, kinds, depth - 1), random_predicate(rng, kinds, depth - 1))
        return rng.choice([And(pair), Or(pair), Not(pair[0])])
    name = rng.choice(list(kinds))
    literal = random_value(rng, kinds[name])
    if literal is None:
        return rng.choice([IsNull(name), Not(IsNull(name)), Compare("<=>", name, None), In(name, (None,))])
    if kinds[name] == "string" and rng.random() < 0.3:
        return StringMatch(rng.choice(["starts_with", "ends_with", "contains"]), name, literal)
    if rng.random() < 0.2:
        return In(name, (literal, random_value(rng, kinds[name])))
    return Compare(rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"]), name, literal)


@dataclass(frozen=True)
class Pile:
    """A random table in a store: its files and rows, and what its manifests and their blocks hold."""

    schema: TableSchema
    files: list[AddFile]
    rows: pa.RecordBatch
    store: MemoryStore
    entries: pa.Table
    manifests: list[tuple[ManifestInfo, set[str]]]
    blocks: list[tuple[IndexedBlock, set[str]]]


ROWS = 3


def pile(rng: random.Random) -> Pile:
    """Files near each other have values near each other, so that there is something to leave out."""
    kinds = {
        "p": rng.choice(KINDS),
        "q": rng.choice(KINDS),
        "x": rng.choice([*KINDS, "double", "float"]),
        "y": "string",
    }
    schema = TableSchema(tuple(Field(name, kind) for name, kind in kinds.items()))
    files, batches = [], []
    pool: dict[str, list[Any]] = {}
    for n in range(24):
        if n % 6 == 0:
            pool = {name: [random_value(rng, kinds[name]) for _ in range(2)] for name in kinds}
        wild = rng.random() < 0.2
        columns = {name: [rng.choice(pool[name])] * ROWS for name in "pq"}
        columns |= {
            name: [random_value(rng, kinds[name]) if wild else rng.choice(pool[name]) for _ in range(ROWS)]
            for name in "xy"
        }
        batch = pa.record_batch(
            [pa.array(columns[name], ARROW_TYPES[kinds[name]]) for name in kinds], list(kinds)
        )
        foreign = rng.random() < 0.05
        collector = MinMaxCollector(schema, ["x", "y"], None if foreign else rng.choice([32, 33, 64]))
        collector.add(batch)
        low, high = collector.min_values(), collector.max_values()
        if foreign:  # cut without rounding up
            low, high = ({k: v[:32] for k, v in found.items()} for found in (low, high))
        values = {
            name: encode_value(columns[name][0], kinds[name]) for name in "pq" if columns[name][0] is not None
        }
        ref = "theirs" if foreign else "ours"
        files.append(AddFile(str(n), values, 1, min_values=low, max_values=high, doc_mapping_ref=ref))
        batches.append(batch)
    store = MemoryStore()
    entries = to_entries((file.path, Added(file, 0, 0)) for file in files)
    write_entries(store, schema, ("p", "q"), entries, per_manifest=10)
    manifests, blocks = [], []
    for info in read_state(store, 1).manifests:
        data = store.get(manifest_key(info.path, 1))
        header = read_header(data, info.path)
        parts = [
            set(decode_entries(header.schema, [block], info.path).column("path").to_pylist())
            for block in read_blocks(data, header, info.path)
        ]
        manifests.append((info, set().union(*parts)))
        blocks += zip(decode_index(header, info.path), parts, strict=True)
    rows = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    return Pile(schema, files, rows, store, entries, manifests, blocks)


@pytest.mark.spec("testPartitionBoundsMultipleColumns")
def test_ten_thousand_random_cases_by_brute_force():
    """No manifest, block or entry with a matching row is left out, by their bounds, by a read, or by the engine."""
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    left_out = dict.fromkeys(["manifests", "blocks", "blocks by statistics", "entries"], 0)
    columns = ("p", "q")
    for case in range(10_000):
        if case % 100 == 0:
            table = pile(rng)
            kinds = {column.name: column.type for column in table.schema}
        predicate = random_predicate(rng, kinds)
        what = f"seed {seed}, case {case}: {predicate}"
        condition = Condition(predicate, table.schema, columns, {"ours"})
        hits = evaluate(predicate, table.rows).to_pylist()
        needed = {str(row // ROWS) for row, hit in enumerate(hits) if hit}
        for info, paths in table.manifests:
            if not condition.may_hold_in(info):
                assert needed.isdisjoint(paths), what
                left_out["manifests"] += 1
        for block, paths in table.blocks:
            if not condition.may_hold_within(block.bounds, block.statistics):
                assert needed.isdisjoint(paths), what
                left_out["blocks"] += 1
                left_out["blocks by statistics"] += condition.may_hold_within(block.bounds)
        sifted = set(kept_by_columns(table.entries, condition).column("path").to_pylist())
        assert needed <= sifted, what
        left_out["entries"] += len(table.files) - len(sifted)
        if case % 40 == 0:
            assert needed <= survivors(table.store, table.schema, predicate, columns), what
            engine = {
                file.path for file in table.files if engine_keeps(table.schema, file, predicate, columns)
            }
            assert needed <= engine, what
    assert all(count > 1000 for count in left_out.values()), f"seed {seed}: {left_out}"


def engine_keeps(schema: TableSchema, file: AddFile, predicate: Predicate, columns: tuple[str, ...]) -> bool:
    known = {name: decode_value(file.partition_values.get(name), schema.field(name).type) for name in columns}
    rest = bind(predicate, known)
    ours = file.doc_mapping_ref == "ours"
    return may_match(
        rest, lambda name: bounds_of(schema.field(name), file.min_values, file.max_values, ours=ours)
    )


def fleet(days: int, each: int) -> tuple[TableSchema, MemoryStore]:
    """`days` partitions of `each` files, written in random order."""
    schema = TableSchema((Field("id", "long"), Field("n", "integer")))
    numbers = [(n, i) for n in range(days) for i in range(each)]
    random.Random(7).shuffle(numbers)
    files = (
        AddFile(
            f"n={n}/{i}.split",
            {"n": str(n)},
            1,
            min_values={"id": f"{i}"},
            max_values={"id": f"{i + 1}"},
            doc_mapping_ref="ours",
        )
        for n, i in numbers
    )
    store = MemoryStore()
    context = StateContext(1, 0, [schema.field("n")], None)
    entries = to_entries((file.path, Added(file, 0, 0)) for file in files)
    write_state(store, None, Delta(entries), context, StateOptions(entries_per_manifest=200))
    return schema, store


@pytest.mark.spec("testCompactionPreservesPartitionLocality")
def test_one_partition_of_a_compacted_table_reads_its_manifest_only():
    schema, store = fleet(1000, 20)
    watched = FaultyStore(store)
    state = TableState(watched, read_state(watched, 1), lambda path: path)
    assert len(state.manifest.manifests) == 100
    found = prune(state, Condition(parse_where("n = 517", schema), schema, ("n",))).entries
    assert sorted(found.column("path").to_pylist()) == sorted(f"n=517/{i}.split" for i in range(20))
    read = {key for operation, key in watched.calls if "manifests/" in key}
    assert len(read) == 1


@pytest.mark.spec("testPartitionPruningPerformance1M")
def test_few_blocks_are_ranged_reads():
    schema, store = fleet(40, 100)
    context = StateContext(2, 0, [schema.field("n")], None)
    entries = TableState(store, read_state(store, 1), lambda path: path).entries()
    write_state(store, None, Delta(entries), context, StateOptions())
    watched = FaultyStore(store)
    state = TableState(watched, read_state(watched, 2), lambda path: path)
    assert len(state.manifest.manifests) == 1
    found = prune(state, Condition(parse_where("n = 3", schema), schema, ("n",))).entries
    assert found.num_rows == 100
    assert [operation for operation, key in watched.calls if "manifests/" in key] == [
        "get_range",
        "get_range",
    ]
    assert prune(state, Condition(parse_where("n >= 3", schema), schema, ("n",))).entries.num_rows == 3700


@pytest.mark.spec("testPartitionLocalitySorting")
def test_numbers_are_not_compared_as_text():
    schema, store = fleet(12, 1)
    assert survivors(store, schema, parse_where("n = 10", schema), ("n",)) == {"n=10/0.split"}
    assert survivors(store, schema, parse_where("n BETWEEN 9 AND 10", schema), ("n",)) == {
        "n=9/0.split",
        "n=10/0.split",
    }


def test_statistics_prune_entries():
    schema, store = fleet(2, 50)
    found = survivors(store, schema, parse_where("id > 47", schema), ("n",))
    assert len(found) == 2 * 3


@pytest.mark.parametrize(
    ("kind", "low", "high", "literal", "kept"),
    [
        ("string", "a", "b", "c", True),
        ("integer", "10", "9", 10, True),
        ("integer", "1", "9", 10, True),
        ("integer", "7", "7", 8, False),
        ("date", "2024-01-01", "2024-01-31", date(2024, 2, 1), False),
        ("date", "19723", "19753", date(2024, 2, 1), True),
    ],
)
def test_bounds_of_other_writers_are_trusted_only_where_all_agree(kind, low, high, literal, kept: bool):
    schema = TableSchema((Field("p", kind),))
    info = ManifestInfo("manifests/manifest-a1b2c3d4.avro", 1, 0, 0, {"p": PartitionBounds(low, high)})
    assert Condition(Compare("=", "p", literal), schema, ("p",)).may_hold_in(info) is kept


@pytest.mark.spec("testPartitionBoundsWithNulls")
def test_nulls_and_missing_bounds_prune_nothing():
    schema = TableSchema((Field("p", "integer"),))
    ours = f"manifests/manifest-{'a' * 32}.avro"
    for bounds in (None, {}, {"p": PartitionBounds(None, None)}, {"p": PartitionBounds("1", "2")}):
        info = ManifestInfo(ours, 1, 0, 0, bounds)
        assert Condition(IsNull("p"), schema, ("p",)).may_hold_in(info)
        assert Condition(Compare("<=>", "p", None), schema, ("p",)).may_hold_in(info)
    assert not Condition(Compare("=", "p", 3), schema, ("p",)).may_hold_in(
        ManifestInfo(ours, 1, 0, 0, {"p": PartitionBounds("1", "2")})
    )
    assert not Condition(Constant(value=None), schema, ("p",)).may_hold_in(ManifestInfo(ours, 1, 0, 0, {}))


def test_survivors_become_files_again():
    schema, store = fleet(3, 2)
    state = TableState(store, read_state(store, 1), lambda path: path)
    found = dict(from_entries(prune(state, Condition(parse_where("n = 1", schema), schema, ("n",))).entries))
    assert {key: added.file.partition_values for key, added in found.items()} == {
        "n=1/0.split": {"n": "1"},
        "n=1/1.split": {"n": "1"},
    }
