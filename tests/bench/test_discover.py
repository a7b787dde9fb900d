"""The measurement of the web UI runs, at a small size, warm and cold."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from bench import discover


def test_queries_are_measured_warm_and_cold(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(discover, "QUERIES", ("cache", ""))
    found = discover.measure(tmp_path, print, rows=2000, repeat=1)
    assert [comparison.name.partition(":")[0] for comparison in found] == [
        "Discover",
        "Discover, cold, CPU",
        "Discover",
    ]
    assert [comparison.at_least for comparison in found] == [0.2, 0.2, None]
    assert all(comparison.ours.best > 0 and comparison.other.best > 0 for comparison in found)
