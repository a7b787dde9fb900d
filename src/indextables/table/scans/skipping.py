"""How many files the stages of pruning have saved the scans of a process from reading, by table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from indextables.runtime import CacheSpec, current
from indextables.state import STAGES
from indextables.table.scans.scan import ScanPlan

SCANS: Final = "scans"
CONSIDERED: Final = "files_considered"
READ: Final = "files_read"
PRUNED: Final = {stage: f"pruned_by_{stage.lower().replace(' ', '_').replace('/', '_')}" for stage in STAGES}
"""The column of each stage of pruning."""

SKIPPING_SCHEMA: Final = pa.schema(
    [
        ("table_path", pa.string()),
        *((name, pa.int64()) for name in (SCANS, CONSIDERED, *PRUNED.values(), READ)),
        ("percent_skipped", pa.float64()),
    ]
)

_PREFIX: Final = "skipping"
_BY_TABLE: Final = CacheSpec[str, dict[str, int]]("data skipping figures", entries=256, after_fork="drop")
"""Those of the tables that were scanned most recently."""


def record_scan(plan: ScanPlan) -> None:
    """Add a scan that is about to run to the figures of its table."""
    figures = {SCANS: 1, CONSIDERED: plan.splits_total, READ: plan.splits_read}
    figures |= {column: plan.dropped.get(stage, 0) for stage, column in PRUNED.items()}

    def added(earlier: dict[str, int] | None) -> dict[str, int]:
        return {name: (earlier or {}).get(name, 0) + amount for name, amount in figures.items()}

    current().cache(_BY_TABLE).update(plan.tasks[0].uri, added)


def skipping_figures() -> dict[str, dict[str, int]]:
    """Return the figures of each table that this process has scanned, by the table's address."""
    cache = current().cache(_BY_TABLE)
    tables = {uri: cache.get(uri) for uri in cache.keys()}  # noqa: SIM118 - a cache is not a dictionary
    return {uri: figures for uri, figures in tables.items() if figures is not None}


def skipping_counts() -> dict[str, int]:
    """Return the figures of this process as counts by name, to add them to those of other processes."""
    return {
        f"{_PREFIX}.{name}.{uri}": count
        for uri, figures in skipping_figures().items()
        for name, count in figures.items()
    }


def figures_in(counts: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the figures of each table among some counts.

    >>> figures_in({"skipping.files_read./logs.d": 3, "storage.get.requests": 1})
    {'/logs.d': {'files_read': 3}}
    """
    tables: dict[str, dict[str, int]] = {}
    for key, count in counts.items():
        kind, _, rest = key.partition(".")
        name, _, uri = rest.partition(".")
        if kind == _PREFIX and name in SKIPPING_SCHEMA.names:
            tables.setdefault(uri, {})[name] = count
    return tables


def skipping_table(processes: Iterable[Mapping[str, Mapping[str, int]]]) -> pa.Table:
    """Return the figures of some processes together, one row for each table.

    >>> skipping_table([{"/logs": {"scans": 1, "files_considered": 8, "files_read": 2}}]).to_pylist()[0][
    ...     "percent_skipped"
    ... ]
    75.0
    """
    totals: dict[str, dict[str, int]] = {}
    for tables in processes:
        for uri, figures in tables.items():
            total = totals.setdefault(uri, {})
            for name in SKIPPING_SCHEMA.names[1:-1]:
                total[name] = total.get(name, 0) + figures.get(name, 0)
    rows = [
        {"table_path": uri, **total, "percent_skipped": _percent(total)}
        for uri, total in sorted(totals.items())
    ]
    return pa.Table.from_pylist(rows, schema=SKIPPING_SCHEMA)


def _percent(total: Mapping[str, int]) -> float | None:
    considered = total[CONSIDERED]
    return 100 * (considered - total[READ]) / considered if considered else None
