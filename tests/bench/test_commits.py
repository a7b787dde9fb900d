"""The measurements of commits and of opening run, at a small size; what they time is no test's business."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from bench.columns import commits as column_commits
from bench.log import commits, opening
from bench.servers import Server


def test_commits_on_a_disk_are_all_made(tmp_path: Path):
    found = commits.compare(commits.on_disk(tmp_path, {2: 2}), print)
    assert [(c.name, len(c.ours.runs), len(c.other.runs)) for c in found] == [
        ("commit on disk, 2 writers", 4, 4)
    ]


def test_commits_to_column_groups_are_all_made(tmp_path: Path):
    # In a process of its own: after pylance is imported, no process may fork without a warning.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(column_commits.measure, tmp_path, print, {2: 2}).result()
    assert [(c.other_name, len(c.ours.runs), len(c.other.runs)) for c in found] == [
        ("deltalake", 4, 4),
        ("pylance", 4, 4),
    ]


@pytest.mark.servers
def test_commits_on_s3_are_all_made(seaweedfs: Server):
    (found,) = commits.compare(commits.on_s3(seaweedfs, {2: 1}), print)
    assert len(found.ours.runs) == len(found.other.runs) == 2


def test_lost_commits_are_no_measurement(tmp_path: Path):
    with pytest.raises(commits.CommitsLostError, match="0 versions after 2 commits"):
        commits.race(forgetful, str(tmp_path / "t"), {}, 1, 2)


def forgetful(uri: str, access: dict[str, str], first: int | None):
    return 0 if first is None else int


def test_tables_of_equal_content_are_opened(tmp_path: Path):
    found = opening.measure(tmp_path, print, repeat=1, sizes=(2, 12))
    assert [c.name for c in found] == ["open, 2 version files", "open, 12 version files"]


def test_equal_adds_are_opened(tmp_path: Path):
    comparisons = opening.measure_adds(tmp_path, print, repeat=1, adds=25, versions=2)
    assert len(comparisons) == 2
    for comparison in comparisons:
        assert comparison.name.startswith("open, 25 JSON adds")
        assert comparison.other_name.startswith("deltalake")
        assert comparison.at_least == 1 / 1.2
