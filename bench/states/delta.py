"""The planning bench's files in a Delta table with a checkpoint, through `deltalake`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from bench.states import drawn_files as drawn
from bench.states.drawn_files import CHOSEN_DAY, NEW_FILES, PARTITIONED_BY, SCHEMA, Files

ARROW: pa.Schema = SCHEMA.arrow


def build(files: Files, home: Path) -> None:
    """One commit with all files, as text, and its checkpoint, from which readers start."""
    DeltaTable.create(home, ARROW, partition_by=[PARTITIONED_BY])
    with (home / f"_delta_log/{1:020}.json").open("w") as log:
        log.write(json.dumps({"commitInfo": {"timestamp": 0, "operation": "WRITE"}}) + "\n")
        for add in _adds(files):
            log.write(json.dumps({"add": add}) + "\n")
    DeltaTable(home).create_checkpoint()


def read_all(home: Path, _: int) -> Callable[[], int]:
    return lambda: len(pa.table(DeltaTable(home).get_add_actions()))


def plan_partition(home: Path, _: int) -> Callable[[], int]:
    return lambda: _planned(home, f"{PARTITIONED_BY} = '{drawn.day_text(CHOSEN_DAY)}'")


def plan_following(home: Path, _: int) -> Callable[[], int]:
    low, high = (drawn.moment(n).isoformat() for n in drawn.chosen_range("timestamp"))
    return lambda: _planned(home, f"timestamp >= '{low}' AND timestamp <= '{high}'")


def plan_across(home: Path, _: int) -> Callable[[], int]:
    low, high = drawn.chosen_range("event_id")
    return lambda: _planned(home, f"event_id >= {low} AND event_id <= {high}")


def append(home: Path, run: int) -> Callable[[], int]:
    """Opened and committed; a checkpoint is not among it."""
    fields = ("path", "size", "partitionValues", "modificationTime", "dataChange", "stats")
    files = drawn.draw(NEW_FILES, first=run * NEW_FILES)
    adds: list[AddAction | RemoveAction] = [
        AddAction(*(add[name] for name in fields)) for add in _adds(files)
    ]

    def run_it() -> int:
        table = DeltaTable(home)
        table.create_write_transaction(adds, "append", ARROW, [PARTITIONED_BY])
        return table.version()

    return run_it


def compact(home: Path, run: int) -> Callable[[], int]:
    append(home, run)()

    def run_it() -> int:
        table = DeltaTable(home)
        table.create_checkpoint()
        return table.version()

    return run_it


def _planned(home: Path, condition: str) -> int:
    return len(DeltaTable(home).file_uris(file_pruning_predicate=condition))


def _adds(files: Files) -> Iterator[dict[str, Any]]:
    for i, path in enumerate(files.path):
        sides = [
            {
                "timestamp": drawn.moment(int(files.timestamp[side][i])).isoformat(timespec="milliseconds"),
                "event_id": int(files.event_id[side][i]),
                "latency": float(files.latency[side][i]),
                "service": files.service[side][i],
                "message": files.message[side][i],
            }
            for side in (0, 1)
        ]
        stats = {
            "numRecords": int(files.rows[i]),
            "minValues": sides[0],
            "maxValues": sides[1],
            "nullCount": dict.fromkeys(sides[0], 0),
        }
        yield {
            "path": path,
            "partitionValues": {PARTITIONED_BY: drawn.day_text(int(files.day[i]))},
            "size": int(files.size[i]),
            "modificationTime": int(files.timestamp[1][i]) // 1000,
            "dataChange": True,
            "stats": json.dumps(stats),
        }
