"""Writing column groups: vectors of floats with dictionaries where they pay, and with dictionaries everywhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from bench.measure import Comparison, Timing, timed
from indextables import columns

ROWS: Final = 50_000
DIMENSIONS: Final = 128


def measure(home: Path, say: Callable[[str], None], *, repeat: int, rows: int = ROWS) -> list[Comparison]:
    say(f"writing {rows:,} vectors of {DIMENSIONS} floats")
    values = np.random.default_rng(7).standard_normal(rows * DIMENSIONS, dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSIONS)
    table = pa.table({"id": np.arange(rows), "vector": vectors})
    ours, size = _written(home / "chosen", table, None, repeat)
    everywhere, larger = _written(home / "everywhere", table, True, repeat)
    note = f"{size / 1e6:.1f} MB, with dictionaries {larger / 1e6:.1f} MB ({larger / size:.2f}x)"
    return [Comparison(f"write {rows:,} vectors", ours, "with dictionaries", everywhere, note)]


def _written(base: Path, rows: pa.Table, dictionary: bool | None, repeat: int) -> tuple[Timing, int]:
    def write() -> None:
        shutil.rmtree(base, ignore_errors=True)
        columns.write(base, rows, dictionary=dictionary)

    took = timed(write, repeat=repeat)
    return took, sum(path.stat().st_size for path in (base / "_data").iterdir())
