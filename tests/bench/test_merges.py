"""The measurements of merging run, at a small size; what they time is no test's business."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import merges


def test_merges_are_compared_with_indexing_and_with_a_fresh_table(tmp_path: Path):
    said: list[str] = []
    found = merges.measure(tmp_path, said.append, repeat=1, splits=3, rows=50, appends=4)
    earlier = f"indexing at {merges.EARLIER_BUILDER}"
    if any("is not in this checkout" in line for line in said):  # a shallow clone
        earlier = ""
    assert [(c.name, c.other_name) for c in found] == [
        ("CPU of merging 3 splits, 150 rows", "indexing the rows"),
        *([("CPU of merging 3 splits, 150 rows", earlier)] if earlier else []),
        *(
            (f"{kind} of a {search} search, 4 appends merged", other)
            for search in ("first", "warm")
            for kind in ("CPU", "wall time")
            for other in ("4 splits", "written at once")
        ),
    ]
    assert list(tmp_path.iterdir()) == []


def test_only_the_builder_of_before_merges_is_the_goal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(merges, "EARLIER_BUILDER", "0" * 40)
    said: list[str] = []
    (found,) = merges.cpu(tmp_path / "cpu", said.append, splits=2, rows=20, repeat=1)
    assert found.at_least is None
    assert "is not in this checkout" in said[0]
