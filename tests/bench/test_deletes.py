"""The measurement of deletes runs, at a small size; it raises if the sides disagree or a split was written."""

from __future__ import annotations

from pathlib import Path

from bench import deletes


def test_deletes_of_both_sides_leave_the_same_rows(tmp_path: Path):
    found = deletes.measure(tmp_path, print, count=1600, repeat=1)
    assert [comparison.other_name for comparison in found] == [
        "deltalake, LIKE",
        "before it",
        "before it",
        "before it",
    ]
