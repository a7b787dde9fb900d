"""The comparison with an earlier commit runs, at a small size, and both trees answer alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.before import Sizes

from bench import before

SMALL = Sizes(rows=200, appends=2, commits=2, entries=20, repeat=1)


def test_both_trees_do_every_operation(tmp_path: Path):
    said: list[str] = []
    found = before.measure(tmp_path, said.append, rounds=1, sizes=SMALL)
    if not found:
        pytest.skip(said[0])
    names = [comparison.name for comparison in found]
    assert len(names) == len(set(names)) == 22
    assert {comparison.at_least for comparison in found} == {before.LEAST, before.LEAST_OF_IMPORT}
    assert all(comparison.ratio > 0 for comparison in found)


def test_without_the_commit_nothing_is_compared(tmp_path: Path):
    said: list[str] = []
    assert before.measure(tmp_path, said.append, commit="0" * 40) == []
    assert "is not in this checkout" in said[0]


def test_answers_that_differ_are_no_measurement():
    with pytest.raises(before.AnswersDifferError, match="count: 1, 2"):
        before._comparison("count", [{"count": [0.1, 1]}], [{"count": [0.1, 2]}], "earlier")
