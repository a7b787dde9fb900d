"""The part of the bench about the engine runs, at a small size, and checks the answers that it times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.engine import cold, indexing, searches

ROOT = Path(__file__).parents[2]

COMPARE = """
import sys
from pathlib import Path
from bench.engine import peers

found = peers.measure(Path(sys.argv[1]), lambda _: None, rows=400, repeat=1)
assert len(found) == 8
peers = ["Lance, with its index", "Parquet, zstd", *["Lance", "DuckDB on Parquet"] * 3]
assert [comparison.other_name for comparison in found] == peers
assert all(comparison.at_least == 1 for comparison in found)
assert all(comparison.reason for comparison in found[1:])
"""


def test_indexing_and_counts_are_compared_with_the_engine_alone(tmp_path: Path):
    said: list[str] = []
    found = indexing.measure(tmp_path / "index", said.append, rows=400, repeat=1)
    assert [comparison.name for comparison in found] == [
        "indexing with lz4 rows",
        "indexing with auto rows",
        "indexing with zstd rows",
        "a split of 100 rows",
        "a write in plain Python",
        "count in one split",
    ]
    assert all(comparison.ratio > 0 for comparison in found)
    assert all(comparison.reason for comparison in found)
    assert all(" encode rows, " in comparison.note for comparison in found[:3])
    assert any("bytes a row" in line for line in said)


def test_searches_are_compared_with_lance_and_duckdb(tmp_path: Path):
    """In a process of its own: a process that has imported Lance warns at every fork."""
    command = [sys.executable, "-c", COMPARE, str(tmp_path / "peers")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_the_earlier_commit_its_searches_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(searches, "EARLIER", "0" * 40)
    said: list[str] = []
    assert searches.measure(tmp_path / "searches", said.append, repeat=1) == []
    assert "is not in this checkout" in said[0]


def test_a_split_and_its_ties_are_compared_with_the_earlier_commit(tmp_path: Path):
    said: list[str] = []
    found = searches.measure(tmp_path / "searches", said.append, repeat=1, splits={2: 1.0}, rows=50, tied=200)
    if not found:
        pytest.skip(said[0])
    assert [comparison.other_name for comparison in found] == ["its count", *[searches.EARLIER] * 3]
    assert all(comparison.ratio > 0 for comparison in found)
    assert "s of CPU" in found[2].note
    assert found[3].note == "default bound: 128 readers and 128 indexes stay open"


def test_more_splits_than_stay_open_are_opened_again():
    assert searches._bound_note(256).endswith("at least 128 are opened again by every search")


def test_the_first_search_of_a_process_is_measured(tmp_path: Path):
    said: list[str] = []
    [found] = cold.measure(tmp_path, said.append, repeat=1, splits=(2, 3))
    assert found.ours.best > 0
    assert "importing takes" in said[-1]
