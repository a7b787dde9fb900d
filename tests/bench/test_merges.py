"""The measurements of merging run, at a small size; what they time is no test's business."""

from __future__ import annotations

from pathlib import Path

from bench import merges


def test_merges_are_compared_with_indexing_and_with_a_fresh_table(tmp_path: Path):
    found = merges.measure(tmp_path, print, repeat=1, splits=3, rows=50, appends=4)
    assert [(c.name, c.other_name) for c in found] == [
        ("CPU of merging 3 splits, 150 rows", "indexing the rows"),
        *(
            (f"{kind} of a {search} search, 4 appends merged", other)
            for search in ("first", "warm")
            for kind in ("CPU", "wall time")
            for other in ("4 splits", "written at once")
        ),
    ]
    assert list(tmp_path.iterdir()) == []
