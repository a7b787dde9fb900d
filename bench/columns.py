"""The column-group store: everything that `python -m bench columns` measures, a module each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench import column_manifests
from bench.measure import Comparison


def measure(_home: Path, say: Callable[[str], None], *, repeat: int) -> list[Comparison]:
    return column_manifests.measure(say, repeat=repeat)
