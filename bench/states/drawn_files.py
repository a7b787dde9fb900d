"""The files of a large table of logs that the planning bench gives to every side: 1,000 days, five columns with
minima and maxima. No such file exists; planning never opens one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.schema import Field, FieldMapping, TableSchema, mapping_hash
from indextables.state import LIVE_SCHEMA

DAYS: Final = 1_000
FIRST_DAY: Final = date(2023, 1, 1)
DAY_MICROS: Final = 86_400_000_000
SCHEMA: Final = TableSchema(
    (
        Field("day", "date"),
        Field("timestamp", "timestamp"),
        Field("event_id", "long"),
        Field("latency", "double"),
        Field("service", "string"),
        Field("message", "string"),
    )
)
PARTITIONED_BY: Final = "day"
MAPPING: Final = FieldMapping.of(SCHEMA, [PARTITIONED_BY], {}).to_json()
MAPPING_REF: Final = mapping_hash(MAPPING)

CHOSEN_DAY: Final = 535
CHOSEN_EVENTS: Final = (1 << 39, (1 << 39) + (1 << 30))
"""A thousandth of the event ids."""

NEW_FILES: Final = 100

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Files:
    """Column-wise, in the order in which they came: the same numbers for every side.

    `timestamp` follows the day, as it does in logs; `event_id` has nothing to do with it: each file has a narrow
    range of its own anywhere.
    """

    path: list[str]
    day: Numbers
    size: Numbers
    rows: Numbers
    timestamp: tuple[Numbers, Numbers]
    event_id: tuple[Numbers, Numbers]
    latency: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    service: tuple[list[str], list[str]]
    message: tuple[list[str], list[str]]

    def __len__(self) -> int:
        return len(self.path)


def draw(count: int, *, first: int = 0) -> Files:
    """`count` files, numbered from `first`: the same numbers are the same files."""
    rng = np.random.default_rng([7, count, first])
    day: Numbers = np.arange(first, first + count, dtype=np.int64) % DAYS
    start = _micros(day) + rng.integers(0, DAY_MICROS - 60_000_000, count)
    event = rng.integers(0, 1 << 40, count)
    fastest = np.round(rng.gamma(2.0, 0.4, count), 3)
    names = np.array([f"svc-{n:03}" for n in range(200)])
    services = np.sort(rng.integers(0, len(names), (2, count)), axis=0)
    ids = [bytes(row).hex() for row in rng.integers(0, 256, (count, 16), dtype=np.uint8)]
    days = [day_text(n) for n in range(DAYS)]
    return Files(
        path=[
            f"day={days[d]}/splits/split-{i[:8]}-{i[8:12]}-{i[12:16]}-{i[16:20]}-{i[20:]}.split"
            for d, i in zip(day.tolist(), ids, strict=True)
        ],
        day=day,
        size=rng.integers(20_000_000, 180_000_000, count),
        rows=rng.integers(100_000, 900_000, count),
        timestamp=(start, start + rng.integers(1_000_000, 60_000_000, count)),
        event_id=(event, event + 100_000),
        latency=(fastest, np.round(fastest + rng.gamma(3.0, 20.0, count), 3)),
        service=(names[services[0]].tolist(), names[services[1]].tolist()),
        message=(
            [f"Accepted connection from 10.{i[:4]}"[:32] for i in ids],
            [f"worker {i[:25]}"[:32] for i in ids],
        ),
    )


def day_text(n: int) -> str:
    return (FIRST_DAY + timedelta(days=n)).isoformat()


def moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def day_number(n: int) -> int:
    """Days since 1970."""
    return (FIRST_DAY - date(1970, 1, 1)).days + n


def _micros(day: Numbers) -> Numbers:
    return (day_number(0) + day) * DAY_MICROS


def as_entries(files: Files) -> pa.Table:
    """The files as entries of a state, as our own writer would leave them."""
    count = len(files)
    sides = [_texts(files, side) for side in (0, 1)]
    known: dict[str, Any] = {
        "path": files.path,
        "key": files.path,
        "partitionValues": _map({PARTITIONED_BY: [day_text(d) for d in files.day.tolist()]}),
        "size": files.size,
        "modificationTime": files.timestamp[1] // 1000,
        "dataChange": pa.repeat(pa.scalar(True), count),
        "minValues": _map(sides[0]),
        "maxValues": _map(sides[1]),
        "numRecords": files.rows,
        "footerStartOffset": files.size - 4096,
        "footerEndOffset": files.size,
        "hasFooterOffsets": pa.repeat(pa.scalar(True), count),
        "numMergeOps": pa.repeat(pa.scalar(0, pa.int32()), count),
        "docMappingRef": pa.repeat(pa.scalar(MAPPING_REF), count),
        "uncompressedSizeBytes": files.size * 3,
        "addedAtVersion": np.arange(count) // 100,
        "addedAtTimestamp": files.timestamp[1] // 1000,
    }
    arrays = [
        pa.array(known[field.name], field.type) if field.name in known else pa.nulls(count, field.type)
        for field in LIVE_SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=LIVE_SCHEMA)


def _texts(files: Files, side: int) -> dict[str, list[str]]:
    return {
        "timestamp": [str(n) for n in files.timestamp[side].tolist()],
        "event_id": [str(n) for n in files.event_id[side].tolist()],
        "latency": [repr(n) for n in files.latency[side].tolist()],
        "service": files.service[side],
        "message": files.message[side],
    }


def _map(columns: dict[str, list[str]]) -> pa.MapArray:
    width, count = len(columns), len(next(iter(columns.values())))
    keys = pa.array(list(columns)).take(pa.array(np.tile(np.arange(width), count)))
    place = np.arange(width * count).reshape(width, count).T.ravel()
    items = pa.concat_arrays([pa.array(values, pa.string()) for values in columns.values()])
    ends: Numbers = np.arange(count + 1) * width
    return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, items.take(pa.array(place)))


def chosen_range(column: str) -> tuple[int, int]:
    """One hour of the chosen day, or the chosen events."""
    if column == "event_id":
        return CHOSEN_EVENTS
    noon = day_number(CHOSEN_DAY) * DAY_MICROS + DAY_MICROS // 2
    return noon, noon + DAY_MICROS // 24
