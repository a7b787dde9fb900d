"""The rows of the sample data set, generated in chunks.

A chunk depends on the seed and its number only, so that the data are the same whether one process generates them or a
cluster, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.demo.messages import EVERYONE, QUARANTINED, TEMPLATES, render

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG_SCHEMA: Final = pa.schema(
    [
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("date", pa.date32()),
        ("service", pa.string()),
        ("level", pa.string()),
        ("host", pa.string()),
        ("message", pa.string()),
        ("severity", pa.int8()),
        ("status", pa.int16()),
        ("pid", pa.int32()),
        ("bytes_sent", pa.int64()),
        ("cpu_load", pa.float32()),
        ("duration_ms", pa.float64()),
        ("sampled", pa.bool_()),
        ("trace_id", pa.binary()),
    ]
)
"""At least one column of every type that a table supports. `message` is meant to be indexed as text."""

SPARK_SCHEMA: Final = (
    "timestamp timestamp, date date, service string, level string, host string, message string, severity byte, "
    "status short, pid int, bytes_sent long, cpu_load float, duration_ms double, sampled boolean, trace_id binary"
)

RARE_WORD: Final = "quarantined"
"""Occurs in exactly one of 10,000 messages."""
BROAD_WORD: Final = "cache"
"""Occurs in about every tenth message, and never as part of another word."""

CHUNK_ROWS: Final = 50_000
_RARE_EVERY: Final = 10_000
_RARE_AT: Final = 4_242
_HOSTS_A_SERVICE: Final = 12
_DAY_US: Final = 86_400_000_000
_DAYS: Final = 5
_START_US: Final = 20_515 * _DAY_US  # 2026-03-03T00:00:00Z

_ALL: Final = (*TEMPLATES, QUARANTINED)
_CHANCES: Final = np.cumsum([t.weight for t in TEMPLATES])
_SEVERITY: Final = {"FATAL": 2, "ERROR": 3, "WARN": 4, "INFO": 6, "DEBUG": 7}  # syslog's numbers


def log_table(rows: int, *, seed: int = 7) -> pa.Table:
    """Return the data set as an Arrow table.

    >>> log_table(3).column("level").to_pylist()
    ['INFO', 'WARN', 'INFO']
    """
    return pa.Table.from_batches((log_batch(k, rows, seed=seed) for k in range(_chunks(rows))), LOG_SCHEMA)


def log_dataframe(spark: SparkSession, rows: int, *, seed: int = 7, tasks: int | None = None) -> DataFrame:
    """Return the same rows as a DataFrame. The executors generate them."""
    chunks = _chunks(rows)

    def draw(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in batch.column(0).to_pylist():
                yield log_batch(chunk, rows, seed=seed)

    return spark.range(0, chunks, 1, tasks or min(chunks, 16)).mapInArrow(draw, SPARK_SCHEMA)


def log_batch(chunk: int, rows: int, *, seed: int = 7) -> pa.RecordBatch:
    """Return chunk number `chunk` of a data set of `rows` rows."""
    first = chunk * CHUNK_ROWS
    number = np.arange(first, min(first + CHUNK_ROWS, rows))
    size = len(number)
    rng = np.random.default_rng((seed, chunk))

    kind = np.minimum(np.searchsorted(_CHANCES, rng.random(size), side="right"), len(TEMPLATES) - 1)
    kind[number % _RARE_EVERY == _RARE_AT] = len(TEMPLATES)
    micros = _timestamps(number, rows, rng)
    durations = rng.lognormal(3.0, 0.8, size) * np.array([t.slow for t in _ALL])[kind]
    service, message = _messages(kind, durations, rng)
    status = np.array([t.status or 0 for t in _ALL], np.int16)[kind]
    host = service * _HOSTS_A_SERVICE + rng.integers(0, _HOSTS_A_SERVICE, size)

    columns = [
        pa.array(micros, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        pa.array((micros // _DAY_US).astype(np.int32), pa.int32()).cast(pa.date32()),
        _SERVICES.take(pa.array(service)),
        _LEVELS.take(pa.array(kind)),
        _HOSTS.take(pa.array(host, mask=_nulls(rng, size, 0.005))),
        message,
        pa.array(np.array([_SEVERITY[t.level] for t in _ALL], np.int8)[kind]),
        pa.array(status, mask=status == 0),
        pa.array(rng.integers(200, 32_768, size).astype(np.int32)),
        pa.array((rng.pareto(1.2, size) * 800).astype(np.int64), mask=_nulls(rng, size, 0.1)),
        pa.array(rng.beta(2, 5, size).astype(np.float32), mask=_nulls(rng, size, 0.02)),
        pa.array(np.round(durations, 3), mask=_nulls(rng, size, 0.08)),
        pa.array(rng.random(size) < 0.1, mask=_nulls(rng, size, 0.05)),
        _identifiers(rng, size),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LOG_SCHEMA)


def _chunks(rows: int) -> int:
    if rows < 1:
        raise ValueError(f"the data set needs at least one row, not {rows}")
    return -(-rows // CHUNK_ROWS)


def _timestamps(number: npt.NDArray[np.int64], rows: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return rising timestamps over the days of the data set, dense at noon and sparse at night."""
    passed = (number + rng.random(len(number))) / rows
    cycle = 2 * np.pi * _DAYS
    passed += 0.6 / cycle * np.sin(cycle * passed)
    return _START_US + (passed * (_DAYS * _DAY_US - 1)).astype(np.int64)


def _messages(
    kind: npt.NDArray[np.int64], durations: npt.NDArray[np.float64], rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Return the service and the message of each row. Rows of one template are rendered together."""
    order = np.argsort(kind, kind="stable")
    present, starts = np.unique(kind[order], return_index=True)
    service: npt.NDArray[np.int64] = np.empty(len(kind), np.int64)
    messages = []
    for template, of_template in zip(present, np.split(order, starts[1:]), strict=True):
        spec = _ALL[template]
        speakers = np.array([EVERYONE.index(name) for name in spec.services])
        service[of_template] = speakers[rng.integers(0, len(speakers), len(of_template))]
        messages.append(render(spec, rng, durations[of_template]))
    back: npt.NDArray[np.int64] = np.empty(len(kind), np.int64)
    back[order] = np.arange(len(kind))
    return service, pa.concat_arrays(messages).take(pa.array(back))


def _nulls(rng: np.random.Generator, size: int, share: float) -> npt.NDArray[np.bool_]:
    return rng.random(size) < share


def _identifiers(rng: np.random.Generator, size: int) -> pa.Array:
    """Return sixteen random bytes for most rows, and null for the others."""
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), size, [None, pa.py_buffer(rng.bytes(16 * size))]
    )
    present = pa.array(np.arange(size), mask=_nulls(rng, size, 0.2))
    return fixed.cast(pa.binary()).take(present)


_SERVICES: Final = pa.array(EVERYONE)
_LEVELS: Final = pa.array([t.level for t in _ALL])
_HOSTS: Final = pa.array([f"{name}-{n:02d}" for name in EVERYONE for n in range(1, _HOSTS_A_SERVICE + 1)])
