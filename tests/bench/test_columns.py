"""The measurements of column groups run, at a small size; what they time is no test's business."""

from __future__ import annotations

from pathlib import Path

from bench.columns import manifests as column_manifests
from bench.columns import split_groups
from bench.columns import writing as column_writing


def test_manifests_are_coded_both_ways_by_both():
    found = column_manifests.measure(print, repeat=1, sizes=(2, 10), work=20)
    assert [(c.name, c.other_name) for c in found] == [
        (f"{what} a manifest of {files} files", f"fastavro, {form}")
        for files in (2, 10)
        for what in ("encode", "decode")
        for form in ("objects", "dicts")
    ]


def test_a_wide_column_apart_is_not_fetched_with_narrow_ones(tmp_path: Path):
    rows = 20_000  # with fewer, the metadata of a second file weighs more than what it saves
    (found,) = split_groups.measure(tmp_path, print, repeat=1, rows=rows)
    apart, together = (
        split_groups.fetched_bytes(str(tmp_path / f"split-{n}")) for n in ("apart", "together")
    )
    assert apart < rows * split_groups.WIDE_BYTES / 10
    assert apart < together * 1.05, "a second file costs its metadata; long values have no statistics to save"
    assert f"{apart / 1e3:.1f} kB" in found.note


def test_vectors_are_smaller_without_dictionaries(tmp_path: Path):
    (found,) = column_writing.measure(tmp_path, print, repeat=1, rows=500)
    size, larger = (
        sum(p.stat().st_size for p in (tmp_path / n / "_data").iterdir()) for n in ("chosen", "everywhere")
    )
    assert size * 1.2 < larger
    assert f"{larger / size:.2f}x" in found.note
