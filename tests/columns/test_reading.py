"""Over generated datasets a Reader gives what plain pyarrow computes on the same rows kept in one table."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.columns import (
    ColumnGroup,
    DeltaLog,
    DeltaLogType,
    Manifest,
    Reader,
    SchemaBased,
    Single,
    SizeBased,
    Writer,
    write_delta,
)

SEEDS = 500
RUNS = 10
EPOCH = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
WORDS = ["", "a", "ab", "b", "ba", "ñ", "longer text " * 3]
KINDS = {
    "i": pa.int64(),
    "n": pa.int32(),
    "s": pa.string(),
    "f": pa.float64(),
    "b": pa.bool_(),
    "t": pa.timestamp("us", tz="UTC"),
    "d": pa.date32(),
    "v": pa.list_(pa.int32()),
    "x": pa.binary(),
}


def value(kind: str, r: random.Random):
    if r.random() < 0.15:
        return None
    match kind:
        case "i" | "n":
            return r.randint(-5, 20)
        case "s":
            return r.choice(WORDS)
        case "f":
            return r.choice([float("nan"), 0.0, -0.0, 1.5, -2.0, 7.0])
        case "b":
            return r.random() < 0.5
        case "t":
            return EPOCH + dt.timedelta(seconds=r.randint(0, 9))
        case "d":
            return EPOCH.date() + dt.timedelta(days=r.randint(0, 9))
        case "v":
            return [r.randint(0, 3) for _ in range(r.randint(0, 3))]
        case _:
            return bytes(r.randint(0, 2) for _ in range(r.randint(0, 3)))


def table(names: list[str], rows: int, r: random.Random) -> pa.Table:
    # Sorted now and then, so that statistics rule row groups out.
    columns = {}
    for name in names:
        values = [value(name[0], r) for _ in range(rows)]
        if name[0] in "ins" and r.random() < 0.5:
            values.sort(key=lambda v: (v is None, v))
        columns[name] = pa.array(values, KINDS[name[0]])
    return pa.table(columns)


@dataclass(frozen=True)
class Case:
    """A dataset, and the rows that it has: those stored, and those left by its delta logs."""

    manifest: Manifest
    schema: pa.Schema
    stored: pa.Table
    live: pa.Table


def generate(base: str, r: random.Random) -> Case:
    names = [f"{kind}{i}" for i, kind in enumerate(r.choices(list(KINDS), k=r.randint(1, 6)))]
    policy = r.choice(
        [
            Single(),
            SchemaBased((r.choice("insf") + ".*", ".*[01]")),
            SizeBased(max_avg_column_size=r.choice([1, 6, 50]), max_columns_in_group=r.randint(1, 3)),
        ]
    )
    file_format = "vortex" if r.random() < 0.1 else "parquet"
    first = table(names, r.choice([0, 1, 3, 30, 80]), r)
    writer = Writer(
        base,
        first.schema,
        policy=policy,
        format=file_format,
        row_group_bytes=r.choice([50, 300, 1 << 20]),
        rolling_bytes=r.choice([200, 700, 1 << 30]),
        compression=r.choice(["zstd", "snappy", "none"]),
    )
    blocks = [first, *(table(names, r.randint(0, 30), r) for _ in range(r.randint(0, 2)))]
    for block in blocks:
        writer.write(block if r.random() < 0.5 else block.select(r.sample(names, len(names))))
        if r.random() < 0.3:
            writer.flush()
    groups = writer.close()
    stored = pa.concat_tables(blocks)
    assert {group.num_rows for group in groups} == {stored.num_rows}

    if r.random() < 0.5:  # ranges of files, one file more than once
        cuts = [sorted((r.randint(0, stored.num_rows), r.randint(0, stored.num_rows))) for _ in range(2)]
        groups = tuple(
            replace(group, files=tuple(file for cut in cuts for file in cut_files(group, *cut)))
            for group in groups
        )
        stored = pa.concat_tables([stored.slice(low, high - low) for low, high in cuts])
    fields = list(stored.schema)
    if len(names) > 1 and r.random() < 0.3:  # a column that is in the schema and in no group any more
        gone = r.choice(names)
        groups = tuple(
            replace(group, columns=tuple(c for c in group.columns if c != gone)) for group in groups
        )
        index = stored.schema.get_field_index(gone)
        stored = stored.set_column(index, gone, pa.nulls(stored.num_rows, KINDS[gone[0]]))
    if r.random() < 0.3:
        stored = stored.append_column("s_new", pa.nulls(stored.num_rows, pa.string()))
        fields.append(pa.field("s_new", pa.string()))
    if r.random() < 0.3:  # a schema that is wider than the files
        fields = [pa.field(f.name, pa.int64() if f.type == pa.int32() else f.type) for f in fields]
    r.shuffle(fields)
    schema = pa.schema(fields)
    stored = stored.select(schema.names).cast(schema)
    logs, live = delete(base, groups, stored, r)
    return Case(Manifest(groups, tuple(logs)), schema, stored, live)


def cut_files(group: ColumnGroup, low: int, high: int):
    at = 0
    for file in group.files:
        start, stop = max(low, at), min(high, at + file.end_index)
        if start < stop:
            yield replace(file, start_index=start - at, end_index=stop - at)
        at += file.end_index


def same(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float) and left != left:
        return right != right
    return left == right


def delete(base: str, groups, stored: pa.Table, r: random.Random) -> tuple[list[DeltaLog], pa.Table]:
    logs: list[DeltaLog] = []
    keep = [True] * stored.num_rows
    rows = stored.to_pylist()
    keyed = [name for name in stored.schema.names if name[0] != "v"]
    for kind in r.sample(list(DeltaLogType), r.randint(0, 3)):
        if kind is DeltaLogType.POSITIONAL and r.random() < 0.4:
            files = [file for file in groups[0].files if file.path]
            picked = [r.choice(files) for _ in range(3)] if files else []
            entries = [(file.path, r.randint(file.start_index, file.end_index)) for file in picked]
            at = 0
            for file in files:
                for path, pos in entries:
                    if path == file.path and file.start_index <= pos < file.end_index:
                        keep[at + pos - file.start_index] = False
                at += file.end_index - file.start_index
            paths, positions = [e[0] for e in entries], [e[1] for e in entries]
            deleted = pa.table(
                {"file_path": pa.array(paths, pa.string()), "pos": pa.array(positions, pa.int64())}
            )
        elif kind is DeltaLogType.POSITIONAL:
            positions = [r.randrange(len(rows)) for _ in range(r.randint(0, 6))] if rows else []
            for position in positions:
                keep[position] = False
            deleted = pa.table({"pos": pa.array(positions, pa.int64())})
        elif keyed:
            names = r.sample(keyed, r.randint(1, min(3, len(keyed))))
            of_rows = [rows[r.randrange(len(rows))] for _ in range(r.randint(0, 4))] if rows else []
            keys = [[row[name] for name in names] for row in of_rows]
            keys += [[value(name[0], r) for name in names] for _ in range(2)]
            if kind is DeltaLogType.PRIMARY_KEY:
                keys = [key for key in keys if None not in key]
            for i, row in enumerate(rows):
                if any(all(same(row[n], v) for n, v in zip(names, key, strict=True)) for key in keys):
                    keep[i] = False
            deleted = pa.table(
                {n: pa.array([key[j] for key in keys], KINDS[n[0]]) for j, n in enumerate(names)}
            )
        else:
            continue
        logs.append(write_delta(base, kind, deleted))
    return logs, stored.filter(pa.array(keep, pa.bool_()))


def condition(stored: pa.Table, r: random.Random, depth: int = 2) -> tuple[str, object]:
    """A predicate in SQL and what pyarrow computes for it, TRUE, FALSE or null for each row."""
    if depth and r.random() < 0.6:
        kind = r.choice(["and", "or", "not"])
        left, ours = condition(stored, r, depth - 1)
        if kind == "not":
            return f"NOT ({left})", lambda t: pc.invert(ours(t))
        right, theirs = condition(stored, r, depth - 1)
        join = pc.and_kleene if kind == "and" else pc.or_kleene
        return f"({left}) {kind} ({right})", lambda t: join(ours(t), theirs(t))
    name = r.choice(stored.schema.names)
    match name[0]:
        case "i" | "n":
            k = r.randint(-6, 21)
            op, compute = r.choice(
                [("<", pc.less), (">=", pc.greater_equal), ("=", pc.equal), ("<>", pc.not_equal)]
            )
            return f"{name} {op} {k}", lambda t: compute(t[name], pa.scalar(k, t[name].type))
        case "s":
            word = r.choice(WORDS[:5])
            if r.random() < 0.5:
                return f"{name} LIKE '{word}%'", lambda t: pc.starts_with(t[name], word)
            return f"{name} > '{word}'", lambda t: pc.greater(t[name], word)
        case "f":
            k = r.choice([-2.0, 0.0, 1.5])
            return f"{name} <= {k}", lambda t: pc.less_equal(t[name], k)
        case "b":
            return f"{name} = true", lambda t: pc.equal(t[name], True)
        case "t":
            moment = EPOCH + dt.timedelta(seconds=r.randint(0, 9))
            return f"{name} < '{moment.isoformat()}'", lambda t: pc.less(
                t[name], pa.scalar(moment, t[name].type)
            )
        case "d":
            day = EPOCH.date() + dt.timedelta(days=r.randint(0, 9))
            return f"{name} >= '{day}'", lambda t: pc.greater_equal(t[name], pa.scalar(day))
        case _:
            return f"{name} IS NULL", lambda t: pc.is_null(t[name])


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema.equals(expected.schema)
    assert found.num_rows == expected.num_rows
    for name in expected.schema.names:
        assert repr(found[name].to_pylist()) == repr(expected[name].to_pylist()), name  # NaN prints alike


@pytest.mark.parametrize("run", range(RUNS))
def test_a_reader_gives_what_pyarrow_computes(run):
    for seed in range(run * SEEDS // RUNS, (run + 1) * SEEDS // RUNS):
        r = random.Random(seed)
        try:
            check(generate(f"memory:columns-reading-{seed}", r), r)
        except BaseException as reason:
            reason.add_note(f"seed {seed}")
            raise


def check(case: Case, r: random.Random) -> None:
    for apply_deltas, rows in ((False, case.stored), (True, case.live)):
        reader = Reader(case.manifest, case.schema, apply_deltas=apply_deltas)
        assert reader.num_rows == rows.num_rows
        assert_same(reader.scan().read_all(), rows)

        chosen = r.sample(case.schema.names, r.randint(0, len(case.schema)))
        sql, compute = condition(rows, r)
        matching = rows.filter(compute(rows))
        assert_same(reader.to_table(sql, chosen), matching.select(chosen)) if chosen else None
        assert reader.count(sql) == matching.num_rows
        assert sum(batch.num_rows for batch in reader.scan(sql, chosen)) == matching.num_rows

        if rows.num_rows:
            indices = [r.randrange(rows.num_rows) for _ in range(r.randint(0, 12))]
            taken = reader.take(indices, chosen, parallelism=r.choice([1, 1, 3]))
            assert taken.num_rows == len(indices)
            if chosen:
                assert_same(taken, rows.take(pa.array(indices, pa.int64())).select(chosen))
    whole = Reader(case.manifest, case.schema)
    low, high = sorted(r.randint(0, case.stored.num_rows) for _ in range(2))
    assert_same(whole.scan(rows=(low, high)).read_all(), case.stored.slice(low, high - low))
    for number, group in enumerate(case.manifest.column_groups):
        if group.columns:
            chunks = whole.get_chunk_reader(number)
            batches = chunks.get_chunks(range(chunks.get_number_of_chunks()), parallelism=2)
            columns = [name for name in group.columns if name in case.schema.names]
            found = pa.Table.from_batches(batches, whole.to_table(columns=columns).schema)
            assert_same(found, case.stored.select(columns))
            counts = [metadata.num_rows for metadata in chunks.get_chunk_metadatas()]
            assert counts == [batch.num_rows for batch in batches]
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
            for row in {0, case.stored.num_rows - 1} if case.stored.num_rows else ():
                [chunk] = chunks.get_chunk_indices([row])
                assert starts[chunk] <= row < starts[chunk + 1]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.list_(pa.int32()), [[1], [2, 3], None] * 400),
        (
            pa.struct([("x", pa.int32()), ("y.z", pa.int32())]),
            [{"x": 1, "y.z": 2}, {"x": 3, "y.z": 4}, None] * 400,
        ),
        (pa.map_(pa.string(), pa.int32()), [[("k", 1)], [], None] * 400),
    ],
)
def test_a_nested_column_may_have_a_dot_in_its_name(tmp_path: Path, kind: pa.DataType, values: list[object]):
    rows = pa.table({"b.c": pa.array(values, kind), "b.d": pa.array(range(1200))})
    with Writer(str(tmp_path), rows.schema) as writer:
        writer.write(rows)
        groups = writer.close()
    for name in rows.schema.names:
        assert (
            Reader(groups, rows.schema, columns=[name])
            .take([1, 700])
            .equals(rows.select([name]).take([1, 700]))
        )
    assert pa.Table.from_batches(Reader(groups, rows.schema).scan()).to_pylist() == rows.to_pylist()


def test_a_column_named_like_a_field_of_a_struct_is_another_column(tmp_path: Path):
    inner = pa.array([{"c": n} for n in range(1200)], pa.struct([("c", pa.int32())]))
    rows = pa.table({"b": inner, "b.c": pa.array(range(1200, 2400))})
    with Writer(str(tmp_path), rows.schema) as writer:
        writer.write(rows)
        groups = writer.close()
    assert Reader(groups, rows.schema).take([5]).to_pylist() == [{"b": {"c": 5}, "b.c": 1205}]
