"""Reading column groups: two columns of many against one Parquet file, scattered rows against pyarrow and pylance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from bench.measure import Comparison, Timing, timed
from indextables import columns
from indextables.columns import SchemaBased

WIDE_COLUMNS: Final = 200
WIDE_ROWS: Final = 200_000
ROWS: Final = 1_000_000
TAKEN: Final = 1000
LEAST_OF_LANCE: Final = 0.2
"""Rows are to be taken from Parquet in at most five times the time of pylance."""
_WHOLE_PAGES: Final = (
    "each row is in another page, which is read and decoded whole; Lance reads single values"
)


def measure(home: Path, say: Callable[[str], None], *, repeat: int) -> list[Comparison]:
    say(f"reading 2 of {WIDE_COLUMNS} columns")
    found = projections(home / "projection", repeat=repeat)
    say(f"taking {TAKEN:,} of {ROWS:,} rows")
    return found + takes(home / "take", repeat=repeat)


def projections(home: Path, *, repeat: int) -> list[Comparison]:
    """Files that a process has not opened before: each run opens its own, as a task does."""
    random = np.random.default_rng(7)
    rows = pa.table({f"c{i:03}": random.standard_normal(WIDE_ROWS) for i in range(WIDE_COLUMNS)})
    wanted = ["c000", "c100"]
    home.mkdir(parents=True)
    columns.write(home / "groups", rows, policy=SchemaBased(("c000|c100",)))
    columns.write(home / "single", rows)
    parquet = str(home / "one.parquet")
    pq.write_table(rows, parquet, compression="zstd", compression_level=3)
    small = str(home / "small.parquet")
    pq.write_table(rows, small, compression="zstd", compression_level=3, row_group_size=WIDE_ROWS // 64)

    ours = timed(lambda: columns.open(home / "groups").to_arrow(wanted), repeat=repeat)
    others = {
        "pyarrow, one file, 1 row group": lambda: pq.read_table(parquet, columns=wanted),
        "pyarrow, one file, 64 row groups": lambda: pq.read_table(small, columns=wanted),
        "this reader, one group": lambda: columns.open(home / "single").to_arrow(wanted),
    }
    note = f"{WIDE_ROWS:,} rows of doubles; the two are a group of their own"
    return [
        Comparison(f"2 of {WIDE_COLUMNS} columns", ours, name, timed(read, repeat=repeat), note)
        for name, read in others.items()
    ]


def takes(home: Path, *, repeat: int) -> list[Comparison]:
    import lance  # noqa: PLC0415 - only this part needs it

    random = np.random.default_rng(7)
    rows = _ten_columns(random)
    picks = [random.choice(ROWS, TAKEN, replace=False) for _ in range(repeat + 1)]
    home.mkdir(parents=True)
    columns.write(home / "parquet", rows)
    columns.write(home / "vortex", rows, format="vortex")
    parquet = str(home / "one.parquet")
    pq.write_table(rows, parquet, compression="zstd", compression_level=3)
    lance.write_dataset(rows, str(home / "rows.lance"))
    # All are open and warm, as a service holds them: Vortex has segments in memory, the others in the page cache;
    # every run takes other rows.
    dataset = pads.dataset(parquet)
    other = lance.dataset(str(home / "rows.lance"))
    in_arrow = _takes(lambda indices: dataset.take(pa.array(indices)), picks)
    in_lance = _takes(other.take, picks)
    found = []
    for name in ("parquet", "vortex"):
        ours = columns.open(home / name)
        assert ours.take(picks[0]).equals(rows.take(pa.array(picks[0])))
        taken = _takes(columns.open(home / name).take, picks)
        title, note = (
            f"take {TAKEN:,} rows, {name} files",
            f"of {ROWS:,}, scattered, {rows.num_columns} columns, warm",
        )
        found.append(Comparison(title, taken, "pyarrow", in_arrow, note))
        goal = LEAST_OF_LANCE if name == "parquet" else None
        found.append(Comparison(title, taken, "pylance", in_lance, note, goal, reason=_WHOLE_PAGES))
    return found


def _ten_columns(random: np.random.Generator) -> pa.Table:
    """Columns as a table of events has them: some sorted, some random, some with few values."""
    levels = np.array(["debug", "info", "warn", "error"])
    days = 19_000 + random.integers(0, 400, ROWS)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "time": pa.array(1_700_000_000_000_000 + 1000 * np.arange(ROWS), pa.timestamp("us", tz="UTC")),
            "day": pa.array(days.astype(np.int32), pa.date32()),
            "level": levels[random.integers(0, len(levels), ROWS)],
            "name": [f"name {number}" for number in random.integers(0, ROWS, ROWS)],
            "flag": random.random(ROWS) < 0.5,
            "count": random.integers(0, 1 << 30, ROWS).astype(np.int32),
            "hash": random.integers(0, 1 << 60, ROWS),
            "value": random.standard_normal(ROWS),
            "weight": random.standard_normal(ROWS).astype(np.float32),
        }
    )


def _takes(take: Callable[[npt.NDArray[np.int64]], object], picks: list[npt.NDArray[np.int64]]) -> Timing:
    left = iter(picks)
    return timed(lambda: take(next(left)), repeat=len(picks) - 1)
