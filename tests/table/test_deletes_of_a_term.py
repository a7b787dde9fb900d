"""A delete of one row in a hundred by a term, against Parquet with the same filter: every kind of answer agrees.

Before and after the splits are merged, as of the version before the delete, and in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import indextables as it

WORDS = np.array(["disk", "full", "login", "failed", "slow", "restart", "timeout", "ok"])
LEVELS = np.array(["INFO", "WARN", "ERROR"])
SPLITS = 4


def rows(count: int) -> pa.Table:
    """Return rows of which one in a hundred, by chance, has the word `doomed`."""
    rng = np.random.default_rng(7)
    first, second = WORDS[rng.integers(0, len(WORDS), count)], WORDS[rng.integers(0, len(WORDS), count)]
    message = np.char.add(np.char.add(first, " "), second)
    doomed = rng.random(count) < 0.01
    return pa.table(
        {
            "id": np.arange(count),
            "level": LEVELS[rng.integers(0, len(LEVELS), count)],
            "ms": rng.integers(0, 5000, count),
            "message": np.where(doomed, np.char.add(message, " doomed"), message),
        }
    )


def has(word: str) -> pc.Expression:
    return pc.match_substring_regex(pc.field("message"), rf"\b{word}\b")


def compare(table: it.Table, rows: pa.Table) -> None:
    """Compare scans, searches, counts and aggregates with those of plain rows."""
    assert table.to_arrow().sort_by("id").equals(rows.sort_by("id").select(table.schema.names))
    slow = rows.filter(pc.field("ms") >= 4900)
    assert table.to_arrow(["id"], where="ms >= 4900").sort_by("id").equals(slow.select(["id"]))
    assert table.count() == len(rows)
    assert table.count(where="ms < 100 AND level = 'ERROR'") == len(
        rows.filter((pc.field("ms") < 100) & (pc.field("level") == "ERROR"))
    )
    for word in ("disk", "timeout", "doomed"):
        found = rows.filter(has(word))
        assert table.count(word) == len(found)
        hits = table.search(f"{word} AND level:ERROR", columns=["id"], limit=len(rows) or 1)
        expected = found.filter(pc.field("level") == "ERROR").column("id")
        assert sorted(hits.column("id").to_pylist()) == sorted(expected.to_pylist())
        few = table.search(word, columns=["id"], limit=10).column("id").to_pylist()
        assert len(few) == min(10, len(found))
        assert set(few) <= set(found.column("id").to_pylist())
    levels = {row["value"]: row["count"] for row in table.top_values("level", n=10).to_pylist()}
    assert levels == {
        row["values"]: row["counts"] for row in pc.value_counts(rows.column("level")).to_pylist()
    }
    figures = table.stats("ms")
    assert (figures.count, figures.sum) == (len(rows), pc.sum(rows.column("ms")).as_py())
    assert (figures.min, figures.max) == tuple(pc.min_max(rows.column("ms")).as_py().values())
    buckets = table.histogram("ms", every=1000)
    thousands = pc.value_counts(pc.multiply(pc.divide(rows.column("ms"), 1000), 1000)).to_pylist()
    counts = {row["values"]: row["counts"] for row in thousands}
    assert dict(zip(*buckets.to_pydict().values(), strict=True)) == counts


def check_files(path: str, parquet: str) -> None:
    """Compare the newest version with the rows that stay, and the version before the delete with all rows."""
    everything = pq.read_table(parquet)
    compare(it.open(path), everything.filter(~has("doomed")))
    compare(it.open(path, version=SPLITS - 1), everything)


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(1_000_000, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])]
)
def test_every_answer_agrees_with_parquet_and_the_same_filter(tmp_path: Path, count: int):
    path, parquet = str(tmp_path / "t"), str(tmp_path / "rows.parquet")
    everything = rows(count)
    pq.write_table(everything, parquet)
    for part in range(SPLITS):
        it.write(path, everything.slice(part * count // SPLITS, count // SPLITS), text=["message"])
    splits = set(it.open(path).snapshot.files)
    assert it.open(path).delete(query="doomed").rows_deleted == len(everything.filter(has("doomed")))
    assert set(it.open(path).snapshot.files) == splits, "no split is written again"
    assert it.open(path).version == SPLITS
    check_files(path, parquet)
    it.open(path).merge_splits()
    assert len(it.open(path).snapshot.files) < SPLITS
    it.open(path).invalidate_cache()
    check_files(path, parquet)
    command = [sys.executable, __file__, path, parquet]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    check_files(*sys.argv[1:])
