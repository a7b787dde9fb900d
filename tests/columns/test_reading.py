"""Over generated datasets a Reader gives what plain pyarrow computes on the same rows kept in one table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Manifest,
    Reader,
    Writer,
    write_delta,
)
from support.dataset_strategies import (
    KINDS,
    column_names,
    conditions,
    delta_types,
    tables,
    values,
    write_options,
)

EXAMPLES = 250


@dataclass(frozen=True)
class Case:
    """A dataset, and the rows that it has: those stored, and those left by its delta logs."""

    manifest: Manifest
    schema: pa.Schema
    stored: pa.Table
    live: pa.Table


@st.composite
def cases(draw: st.DrawFn) -> Case:
    base, names = f"memory://columns-reading-{uuid.uuid4()}", draw(column_names)
    groups, stored = draw(written(base, names))
    groups, stored = draw(cut(groups, stored))
    groups, stored = draw(evolved(groups, stored))
    logs, live = draw(deleted(base, groups, stored))
    return Case(Manifest(groups, tuple(logs)), stored.schema, stored, live)


@st.composite
def written(draw: st.DrawFn, base: str, names: Sequence[str]) -> tuple[tuple[ColumnGroup, ...], pa.Table]:
    """Write one to three blocks of rows, their columns in any order."""
    blocks = [draw(tables(names, st.sampled_from([0, 1, 3, 30, 80])))]
    blocks += draw(st.lists(tables(names, st.integers(0, 30)), max_size=2))
    orders = [(draw(st.permutations(names)), draw(st.booleans())) for _ in blocks]
    writer = Writer(base, blocks[0].schema, **draw(write_options))  # nothing is drawn while it is open
    for block, (order, flush) in zip(blocks, orders, strict=True):
        writer.write(block.select(order))
        if flush:
            writer.flush()
    groups, stored = writer.close(), pa.concat_tables(blocks)
    assert {group.num_rows for group in groups} == {stored.num_rows}
    return groups, stored


@st.composite
def cut(
    draw: st.DrawFn, groups: tuple[ColumnGroup, ...], stored: pa.Table
) -> tuple[tuple[ColumnGroup, ...], pa.Table]:
    """Name ranges of files instead of whole files, one file more than once."""
    if draw(st.booleans()):
        return groups, stored
    place = st.integers(0, stored.num_rows)
    cuts = [sorted(draw(st.tuples(place, place))) for _ in range(2)]
    groups = tuple(
        replace(group, files=tuple(file for low, high in cuts for file in cut_files(group, low, high)))
        for group in groups
    )
    return groups, pa.concat_tables([stored.slice(low, high - low) for low, high in cuts])


def cut_files(group: ColumnGroup, low: int, high: int) -> Iterator[ColumnGroupFile]:
    at = 0
    for file in group.files:
        start, stop = max(low, at), min(high, at + file.end_index)
        if start < stop:
            yield replace(file, start_index=start - at, end_index=stop - at)
        at += file.end_index


@st.composite
def evolved(
    draw: st.DrawFn, groups: tuple[ColumnGroup, ...], stored: pa.Table
) -> tuple[tuple[ColumnGroup, ...], pa.Table]:
    """Change the schema: a column that no group has, a new one, wider numbers, another order."""
    names = stored.schema.names
    if len(names) > 1 and draw(st.booleans()):
        gone = draw(st.sampled_from(names))
        groups = tuple(
            replace(group, columns=tuple(c for c in group.columns if c != gone)) for group in groups
        )
        index = stored.schema.get_field_index(gone)
        stored = stored.set_column(index, gone, pa.nulls(stored.num_rows, KINDS[gone[0]]))
    if draw(st.booleans()):
        stored = stored.append_column("s_new", pa.nulls(stored.num_rows, pa.string()))
    fields = list(stored.schema)
    if draw(st.booleans()):
        fields = [pa.field(f.name, pa.int64() if f.type == pa.int32() else f.type) for f in fields]
    schema = pa.schema(draw(st.permutations(fields)))
    return groups, stored.select(schema.names).cast(schema)


@st.composite
def deleted(
    draw: st.DrawFn, base: str, groups: tuple[ColumnGroup, ...], stored: pa.Table
) -> tuple[list[DeltaLog], pa.Table]:
    """Write delta logs of some kinds; return them and the rows that they leave."""
    logs: list[DeltaLog] = []
    keep = np.ones(stored.num_rows, bool)
    for kind in draw(delta_types):
        if kind is not DeltaLogType.POSITIONAL:
            drawn = draw(deleted_keys(stored, nulls=kind is not DeltaLogType.PRIMARY_KEY))
        elif draw(st.booleans()):
            drawn = draw(deleted_in_files(groups[0].files))
        else:
            drawn = draw(deleted_rows(stored.num_rows))
        if drawn is not None:
            entries, places = drawn
            keep[places] = False
            logs.append(write_delta(base, kind, entries))
    return logs, stored.filter(pa.array(keep))


Deletion = tuple[pa.Table, list[int]]
"""The entries of a delta log, and the rows that they delete."""


@st.composite
def deleted_rows(draw: st.DrawFn, rows: int) -> Deletion:
    places = draw(st.lists(st.integers(0, rows - 1), max_size=6)) if rows else []
    return pa.table({"pos": pa.array(places, pa.int64())}), places


@st.composite
def deleted_in_files(draw: st.DrawFn, files: Sequence[ColumnGroupFile]) -> Deletion:
    picked = draw(st.lists(st.sampled_from(files), max_size=3)) if files else []
    entries = [(file.path, draw(st.integers(file.start_index, file.end_index))) for file in picked]
    places, at = [], 0
    for file in files:
        places += [
            at + position - file.start_index
            for path, position in entries
            if path == file.path and file.start_index <= position < file.end_index
        ]
        at += file.end_index - file.start_index
    columns = {"file_path": [path for path, _ in entries], "pos": [position for _, position in entries]}
    schema = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    return pa.table(columns, schema=schema), places


@st.composite
def deleted_keys(draw: st.DrawFn, stored: pa.Table, *, nulls: bool) -> Deletion | None:
    keyed = [name for name in stored.schema.names if name[0] != "v"]
    if not keyed:
        return None
    names = draw(st.lists(st.sampled_from(keyed), unique=True, min_size=1, max_size=3))
    rows = [tuple(row[name] for name in names) for row in stored.to_pylist()]
    keys = draw(st.lists(st.tuples(*map(values, names)), max_size=2))
    keys += draw(st.lists(st.sampled_from(rows), max_size=4)) if rows else []
    keys = [key for key in keys if nulls or None not in key]
    columns = {n: pa.array([key[at] for key in keys], KINDS[n[0]]) for at, n in enumerate(names)}
    places = [at for at, row in enumerate(rows) if any(equal_keys(row, key) for key in keys)]
    return pa.table(columns), places


def equal_keys(left: Sequence[object], right: Sequence[object]) -> bool:
    """Compare keys as delta logs do: all NaN are equal."""
    return all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema.equals(expected.schema)
    assert found.num_rows == expected.num_rows
    for name in expected.schema.names:
        assert repr(found[name].to_pylist()) == repr(expected[name].to_pylist()), name  # NaN prints alike


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_a_reader_gives_what_pyarrow_computes(data):
    case = data.draw(cases())
    for apply_deltas, rows in ((False, case.stored), (True, case.live)):
        reader = Reader(case.manifest, case.schema, apply_deltas=apply_deltas)
        assert reader.num_rows == rows.num_rows
        assert_same(reader.scan().read_all(), rows)

        chosen = data.draw(st.lists(st.sampled_from(case.schema.names), unique=True), "columns")
        condition = data.draw(conditions(case.schema.names), "condition")
        matching = rows.filter(condition.compute(rows))
        if chosen:
            assert_same(reader.to_table(condition.sql, columns=chosen), matching.select(chosen))
        assert reader.count(condition.sql) == matching.num_rows
        assert (
            sum(batch.num_rows for batch in reader.scan(condition.sql, columns=chosen)) == matching.num_rows
        )

        if rows.num_rows:
            indices = data.draw(st.lists(st.integers(0, rows.num_rows - 1), max_size=12), "rows")
            taken = reader.take(indices, chosen, parallelism=data.draw(st.sampled_from([1, 3])))
            assert taken.num_rows == len(indices)
            if chosen:
                assert_same(taken, rows.take(pa.array(indices, pa.int64())).select(chosen))
    whole = Reader(case.manifest, case.schema)
    place = st.integers(0, case.stored.num_rows)
    low, high = sorted(data.draw(st.tuples(place, place), "range"))
    assert_same(whole.scan(rows=(low, high)).read_all(), case.stored.slice(low, high - low))
    for number in range(len(case.manifest.column_groups)):
        check_chunks(case, whole, number)


def check_chunks(case: Case, reader: Reader, number: int) -> None:
    """The chunks of a column group are its rows, and know where each row is."""
    group = case.manifest.column_groups[number]
    if not group.columns:
        return
    chunks = reader.get_chunk_reader(number)
    batches = chunks.get_chunks(range(chunks.get_number_of_chunks()), parallelism=2)
    columns = [name for name in group.columns if name in case.schema.names]
    found = pa.Table.from_batches(batches, reader.to_table(columns=columns).schema)
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
