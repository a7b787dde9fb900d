"""What bounds the planning bench: the same entries in one Parquet file, and the bare decompression of our manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.states import drawn_files as drawn
from bench.states.drawn_files import CHOSEN_DAY, NEW_FILES, Files
from bench.states.ours import build as build_ours
from indextables.avro import compressor, read_blocks, read_header
from indextables.state import manifest_key, read_state
from indextables.storage import open_store

FILE: Final = "entries.parquet"


def _build_parquet(files: Files, home: Path) -> None:
    home.mkdir(parents=True)
    _write(_flat(files), home)


def _read_all(home: Path, _: int) -> Callable[[], int]:
    return lambda: pq.read_table(home / FILE).num_rows


def _plan_partition(home: Path, _: int) -> Callable[[], int]:
    return _filtered(
        home, [("day", "=", drawn.moment(drawn.day_number(CHOSEN_DAY) * drawn.DAY_MICROS).date())]
    )


def _plan_following(home: Path, _: int) -> Callable[[], int]:
    low, high = drawn.chosen_range("timestamp")
    return _filtered(home, [("min_timestamp", "<=", high), ("max_timestamp", ">=", low)])


def _plan_across(home: Path, _: int) -> Callable[[], int]:
    low, high = drawn.chosen_range("event_id")
    return _filtered(home, [("min_event_id", "<=", high), ("max_event_id", ">=", low)])


def _compact(home: Path, run: int) -> Callable[[], int]:
    more = _flat(drawn.draw(NEW_FILES, first=run * NEW_FILES))

    def run_it() -> int:
        _write(pa.concat_tables([pq.read_table(home / FILE), more]), home)
        return 1

    return run_it


parquet: Final = SimpleNamespace(
    build=_build_parquet,
    read_all=_read_all,
    plan_partition=_plan_partition,
    plan_following=_plan_following,
    plan_across=_plan_across,
    compact=_compact,
)
"""The entries as flat, typed columns in the order of their days: what a Parquet state would be at its best."""


def _filtered(home: Path, filters: list[tuple[str, str, Any]]) -> Callable[[], int]:
    return lambda: pq.read_table(home / FILE, filters=filters).num_rows


def _write(entries: pa.Table, home: Path) -> None:
    ordered = entries.sort_by("day")
    pq.write_table(ordered, home / FILE, compression="zstd", row_group_size=5_000)


def _flat(files: Files) -> pa.Table:
    columns: dict[str, Any] = {
        "path": files.path,
        "day": pa.array(files.day + drawn.day_number(0), pa.int32()).cast(pa.date32()),
        "size": files.size,
        "rows": files.rows,
        "modified": files.timestamp[1] // 1000,
        "footer": files.size - 4096,
        "mapping": pa.repeat(pa.scalar(drawn.MAPPING_REF), len(files)),
        "version": np.arange(len(files)) // 100,
    }
    for name in ("timestamp", "event_id", "latency", "service", "message"):
        columns[f"min_{name}"], columns[f"max_{name}"] = getattr(files, name)
    return pa.table(columns)


def _inflate_all(home: Path, _: int) -> Callable[[], int]:
    return lambda: sum(count for count, _ in _payloads(home))


def _recompress(home: Path, _: int) -> Callable[[], int]:
    return lambda: sum(len(compressor("zstandard", 3)(data)) for _, data in _payloads(home))


def _payloads(home: Path) -> Iterator[tuple[int, bytes]]:
    for info in read_state(open_store(str(home)), 1).manifests:
        data = (home / manifest_key(info.path, 1)).read_bytes()
        for block in read_blocks(data, read_header(data, info.path), info.path):
            yield block.count, block.data


limit: Final = SimpleNamespace(build=build_ours, read_all=_inflate_all, compact=_recompress)
"""One thread that inflates the blocks of our manifests and looks at nothing; for a compaction, deflates them too."""
