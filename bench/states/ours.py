"""The planning bench's files in a table of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import orjson

import indextables as it
from bench.states import drawn_files as drawn
from bench.states.drawn_files import CHOSEN_DAY, NEW_FILES, PARTITIONED_BY, SCHEMA, Files
from indextables.config import Settings
from indextables.log import (
    Action,
    Append,
    CommitInfo,
    Metadata,
    Protocol,
    checkpoint,
    commit,
    encode_version,
    load_snapshot,
    version_key,
)
from indextables.log.actions import from_entries, to_document
from indextables.log.snapshots import cache
from indextables.schema import REGISTRY_PREFIX
from indextables.state import Delta, Measured, StateContext, StateOptions, write_state
from indextables.storage import open_store

EVERY_COMMIT: Final = Settings({"spark.indextables.checkpoint.interval": "1"})
METADATA: Final = Metadata(
    "bench",
    SCHEMA.to_json(),
    partition_columns=(PARTITIONED_BY,),
    configuration={f"{REGISTRY_PREFIX}{drawn.MAPPING_REF}": drawn.MAPPING},
)


def build(files: Files, home: Path) -> None:
    """Version 1 and its state. The version file does not name the files: who has the state never looks for them."""
    (home / "_transaction_log").mkdir(parents=True)
    actions: list[Action] = [CommitInfo("bench", "WRITE", {}, timestamp=0), Protocol(4, 4), METADATA]
    (home / version_key(1)).write_bytes(encode_version(actions))
    context = StateContext(
        1,
        created_at=0,
        partition_columns=[SCHEMA.field(PARTITIONED_BY)],
        metadata=orjson.dumps(to_document(METADATA)).decode(),
        schema_registry={drawn.MAPPING_REF: drawn.MAPPING},
        extras={**to_document(Protocol(4, 4)), "txns": {}, "timestamp": 0, "txnId": "bench"},
        measured=Measured([c for c in SCHEMA if c.name != PARTITIONED_BY], [drawn.MAPPING_REF]),
    )
    write_state(open_store(str(home)), None, Delta(drawn.as_entries(files)), context, StateOptions())


def read_all(home: Path, _: int) -> Callable[[], int]:
    return lambda: _planned(home, None)


def plan_partition(home: Path, _: int) -> Callable[[], int]:
    return lambda: _planned(home, f"{PARTITIONED_BY} = '{drawn.day_text(CHOSEN_DAY)}'")


def plan_following(home: Path, _: int) -> Callable[[], int]:
    low, high = (drawn.moment(n).strftime("%Y-%m-%d %H:%M:%S") for n in drawn.chosen_range("timestamp"))
    return lambda: _planned(home, f"timestamp BETWEEN '{low}' AND '{high}'")


def plan_across(home: Path, _: int) -> Callable[[], int]:
    low, high = drawn.chosen_range("event_id")
    return lambda: _planned(home, f"event_id BETWEEN {low} AND {high}")


def append(home: Path, run: int) -> Callable[[], int]:
    """Opened, committed, and a state written: more than the others do in this column."""
    entries = drawn.as_entries(drawn.draw(NEW_FILES, first=run * NEW_FILES))
    adds = tuple(added.file for _, added in from_entries(entries))

    def run_it() -> int:
        cache.forget()
        store = open_store(str(home))
        base = load_snapshot(store)
        return commit(store, Append(adds, base.metadata), base=base, settings=EVERY_COMMIT).version

    return run_it


def compact(home: Path, run: int) -> Callable[[], int]:
    append(home, run)()

    def run_it() -> int:
        cache.forget()
        return checkpoint(open_store(str(home)), Settings()).state_version

    return run_it


def _planned(home: Path, where: str | None) -> int:
    cache.forget()
    return int(it.open(home).files(where).num_rows)
