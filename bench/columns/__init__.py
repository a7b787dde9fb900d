"""The column-group store: everything that `python -m bench columns` measures, a module each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.columns import commits as column_commits
from bench.columns import manifests as column_manifests
from bench.columns import reading as column_reading
from bench.columns import split_groups
from bench.columns import writing as column_writing
from bench.measure import Comparison


def measure(home: Path, say: Callable[[str], None], *, repeat: int) -> list[Comparison]:
    found = column_manifests.measure(say, repeat=repeat)
    found += column_reading.measure(home / "columns", say, repeat=repeat)
    found += column_writing.measure(home / "writing", say, repeat=repeat)
    found += split_groups.measure(home, say, repeat=repeat)
    return found + column_commits.measure(home, say)
