"""Row ids: every id belongs to one row, whichever order the runs of a merged split have."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.config import Settings
from indextables.errors import CorruptTableError, ProtocolError
from indextables.predicates import Compare, TextQuery
from indextables.schema import FieldMapping, TableSchema
from indextables.split import FinishedSplit, RowRequest, SplitReader, SplitWriter, open_split
from indextables.split.container.bundle import ROW_RUNS, open_bundle, write_bundle
from indextables.split.index import RowRun, RowRuns, new_base
from indextables.split.search import index_search
from indextables.storage import open_store
from support.foreign import pack

LAST = (1 << 63) - 1


@st.composite
def row_runs(draw: st.DrawFn) -> RowRuns:
    """Draw runs with gaps of any size between them, in any order; some touch."""
    pieces = draw(st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(1, 50)), max_size=12))
    gaps_at_the_end = draw(st.booleans())
    ids, parts = 0, []
    for gap, length in pieces:
        ids += gap
        parts.append(RowRuns.single(LAST + 1 - ids - length if gaps_at_the_end else ids, length))
        ids += length
    return RowRuns.concat(draw(st.permutations(parts)))


def all_ids(runs: RowRuns) -> list[int]:
    return [run.base + n for run in runs.runs for n in range(run.length)]


@given(runs=row_runs(), seed=st.integers(0, 1000))
def test_every_id_gives_its_row(runs: RowRuns, seed: int) -> None:
    ids = all_ids(runs)
    order = random.Random(seed).sample(range(len(ids)), len(ids))
    shuffled = np.array([ids[n] for n in order], dtype=np.int64)
    assert runs.rows(shuffled).tolist() == order
    assert RowRuns.from_bytes(runs.to_bytes()) == runs
    assert runs.num_rows == len(ids)


@given(runs=row_runs(), outside=st.integers(0, LAST))
def test_an_id_of_no_run_is_refused(runs: RowRuns, outside: int) -> None:
    ids = all_ids(runs)
    near = {run.base - 1 for run in runs.runs} | {run.end for run in runs.runs} | {outside, 0, LAST}
    for wrong in near - set(ids):
        if 0 <= wrong <= LAST:
            with pytest.raises(ValueError, match="row id"):
                runs.rows(np.array([*ids[:1], wrong], dtype=np.int64))


@given(runs=row_runs(), most=st.integers(1, 60))
def test_intervals_have_every_id_once_and_none_too_many(runs: RowRuns, most: int) -> None:
    ids = all_ids(runs)
    inside = [[n for n in ids if low <= n <= high] for low, high in runs.intervals(most)]
    assert sorted(n for part in inside for n in part) == sorted(ids)
    assert all(0 < len(part) <= most for part in inside)


@pytest.mark.parametrize(
    "runs",
    [
        [[5, 0, 3], [7, 3, 2]],  # they overlap
        [[5, 0, 3], [5, 3, 3]],
        [[LAST, 0, 2]],  # wraps
        [[-1, 0, 2]],
        [[5, 0, 0]],
        [[5, 1, 3]],  # row 0 has no id
        [[5, 0, 3], [10, 4, 1]],
        [[5, 0, 3], [10, 2, 1]],
        [[5, 0]],
        [[5, 0, 3.0]],
        [[5, 0, True]],
        {"runs": []},
        "runs",
    ],
)
def test_runs_that_contradict_themselves_are_refused(runs: object) -> None:
    with pytest.raises(ValueError, match="row id"):
        RowRuns.from_bytes(orjson.dumps(runs))


def test_bases_leave_room_for_any_number_of_rows() -> None:
    bases = [new_base() for _ in range(1000)]
    assert len(set(bases)) == 1000
    assert all(0 <= base < 1 << 62 for base in bases)
    assert max(bases) > 1 << 60
    assert RowRuns.single(max(bases), 1 << 40).num_rows == 1 << 40


# --- splits ---------------------------------------------------------------------------------------------------

ROWS = pa.record_batch(
    {"id": pa.array(range(300), pa.int64()), "text": [f"alpha w{n % 7} w{n % 11}" for n in range(300)]}
)
SCHEMA = TableSchema.from_arrow(ROWS.schema)
MAPPING = FieldMapping.of(SCHEMA, (), {"text": "text"})


def write(directory: Path) -> FinishedSplit:
    writer = SplitWriter(SCHEMA, MAPPING, settings=Settings(), directory=directory)
    writer.write(ROWS)
    return writer.finish()


def opened(path: Path) -> SplitReader:
    return open_split(open_store(str(path.parent)), path.name, settings=Settings())


def ids(reader: SplitReader, query: str) -> list[int]:
    request = RowRequest(("id",), TextQuery("TEXTSEARCH", "text", query))
    return [row for batch in reader.rows(request) for row in batch.column("id").to_pylist()]


def test_splits_number_their_rows_from_bases_of_their_own(tmp_path: Path) -> None:
    bases = set()
    for _ in range(3):
        split = write(tmp_path)
        bundle = open_bundle(open_store(str(tmp_path)), split.path.name)
        [run] = RowRuns.from_bytes(bundle.read(ROW_RUNS)).runs
        assert (run.start, run.length) == (0, 300)
        bases.add(run.base)
        with opened(split.path) as reader:
            assert ids(reader, "w3") == [n for n in range(300) if n % 7 == 3 or n % 11 == 3]
    assert len(bases) == 3


def test_hits_come_in_parts_where_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = write(tmp_path)
    monkeypatch.setattr(index_search, "_HITS_AT_ONCE", 32)
    with opened(split.path) as reader:
        assert ids(reader, "alpha") == list(range(300))
        assert reader.count(Compare("<", "id", 100)) == 100
        assert ids(reader, "w3") == [n for n in range(300) if n % 7 == 3 or n % 11 == 3]


def members(path: Path) -> dict[str, bytes]:
    bundle = open_bundle(open_store(str(path.parent)), path.name)
    return {name: bundle.read(name) for name in bundle.members if name != "checksums.json"}


@pytest.mark.parametrize(
    "runs",
    [RowRuns.single(5, 299), RowRuns.single(5, 301), RowRuns((RowRun(5, 0, 100), RowRun(200, 100, 100)))],
)
def test_a_list_of_another_number_of_rows_is_refused(tmp_path: Path, runs: RowRuns) -> None:
    path = tmp_path / "wrong.split"
    write_bundle(path, [], (members(write(tmp_path).path) | {ROW_RUNS: runs.to_bytes()}).items())
    with pytest.raises(CorruptTableError, match=rf"it has row ids of {runs.num_rows} rows and 300 rows"):
        opened(path)


def test_an_index_of_other_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.split"
    other = RowRuns.single(new_base(), 300).to_bytes()
    write_bundle(path, [], (members(write(tmp_path).path) | {ROW_RUNS: other}).items())
    with opened(path) as reader, pytest.raises(CorruptTableError, match="its index has a row id among"):
        ids(reader, "alpha")


def test_a_split_without_the_list_has_ordinals_for_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every split was before there were bases."""
    monkeypatch.setattr("indextables.split.writer.new_base", lambda: 0)
    files = members(write(tmp_path).path)
    del files[ROW_RUNS]
    path = pack(files.items(), tmp_path / "older.split")
    with opened(path) as reader:
        assert ids(reader, "w3") == [n for n in range(300) if n % 7 == 3 or n % 11 == 3]


def test_a_container_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path).path
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b'{"files"') - 4
    assert raw[at] in (2, 3)
    raw[at] = 4
    path.write_bytes(raw)
    with pytest.raises(ProtocolError, match=r"has version 4; this release reads versions 1 to 3\. Upgrade"):
        opened(path)
