"""Narrow columns of a split whose wide text has a file of its own, compared with the same split in one file.

Times are of a local disk; the bytes are those that ranged reads would fetch from a store far away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

import indextables as it
from bench.measure import Comparison, timed
from indextables.config import Settings
from indextables.split import RowRequest, open_split
from indextables.storage import open_store
from indextables.storage.local import LocalStore

ROWS: Final = 50_000
WIDE_BYTES: Final = 1000
WANTED: Final = ("id", "level")


class FarStore(LocalStore):
    """The same files, as if they were not on this machine; counts the bytes that are fetched."""

    fetched = 0

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self.fetched += length
        return super().get_range(key, start, length)

    def local_path(self, _key: str) -> None:
        return None


def measure(home: Path, say: Callable[[str], None], *, repeat: int, rows: int = ROWS) -> list[Comparison]:
    say("reading narrow columns next to a wide one")
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "body": [random.bytes(WIDE_BYTES // 2).hex() for _ in range(rows)],
            "level": pa.array(random.integers(0, 5, rows), pa.int32()),
        }
    )
    paths = {}
    for name, groups in (("apart", "body"), ("together", "")):
        paths[name] = str(home / f"split-{name}")
        it.write(paths[name], table, settings={"spark.indextables.columns.groups": groups})
    apart, together = (timed(partial(_read, path), repeat=repeat) for path in paths.values())
    fetched = {name: fetched_bytes(path) / 1e3 for name, path in paths.items()}
    note = f"{fetched['apart']:.1f} kB fetched from a far store against {fetched['together']:.1f} kB"
    return [
        Comparison("2 narrow columns of a split, wide one apart", apart, "all in one group", together, note)
    ]


def _read(path: str) -> pa.Table:
    return it.open(path).to_arrow(columns=WANTED)


def fetched_bytes(path: str) -> int:
    """The bytes that reading the wanted columns of every row fetches."""
    snapshot = it.open(path).snapshot
    store = FarStore(open_store(path, Settings()).uri)
    for file in snapshot.files.values():
        with open_split(store, file.path, file.size) as split:
            list(split.rows(RowRequest(WANTED)))
    return store.fetched
