"""What a search reads, and why, as figures and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.notebook import table_html
from indextables.predicates import text_queries
from indextables.table.arguments import ANY_FIELDS, parse_condition
from indextables.table.grouping import COUNT_ROWS
from indextables.table.scans import ScanRequest, plan_scan

if TYPE_CHECKING:
    from indextables.table.handle import TableVersion


@dataclass(frozen=True)
class SearchPlan:
    """The splits of a version that a search reads, and the number that each stage of pruning skips.

    `rows` and `bytes` are those of the splits that are read; `rows` is None if the log does not say. `splits_foreign`
    is how many of them another program wrote. `notes` say what would make the search faster.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-search-plan", pa.table({"n": [1, 2]}))
    >>> plan = it.open("memory://doc-search-plan").explain(where="n > 5")
    >>> print(plan)
    0 of 1 splits are read
      1 skipped by min/max
    """

    version: int
    splits: int
    splits_read: int
    skipped_by: Mapping[str, int]
    rows: int | None
    bytes: int
    splits_foreign: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        size = f", {self.bytes:,} bytes" if self.splits_read else ""
        lines = [f"{self.splits_read} of {self.splits} splits are read{size}"]
        lines += [f"  {number} skipped by {stage}" for stage, number in self.skipped_by.items()]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        rows = [
            ("read", self.splits_read),
            *((f"skipped by {name}", n) for name, n in self.skipped_by.items()),
        ]
        return table_html(
            f"Plan of a search, version {self.version}", ("splits", ""), rows, "; ".join(self.notes)
        )


def explain_search(table: TableVersion, query: str | None, where: str | None) -> SearchPlan:
    """Plan a search without running it. See `Table.explain`."""
    settings = Settings(dict(table.settings) | ANY_FIELDS)
    predicate = parse_condition(query, where, table.snapshot.schema, settings)
    plan = plan_scan(table.uri, table.snapshot, ScanRequest((), predicate, aggregate=COUNT_ROWS), settings)
    notes = []
    if plan.splits_foreign:
        slow = "an index is built from their rows on this machine, when it does not have one"
        if not text_queries(predicate):
            slow = "their rows are read from stored documents"
        notes.append(
            f"{plan.splits_foreign} of the splits to read were written by another program: the answer is exact, but "
            f"{slow}; merge_splits makes them as fast as the others"
        )
    return SearchPlan(
        version=table.version,
        splits=plan.splits_total,
        splits_read=plan.splits_read,
        skipped_by={stage: number for stage, number in plan.dropped.items() if number},
        rows=plan.rows,
        bytes=plan.bytes,
        splits_foreign=plan.splits_foreign,
        notes=tuple(notes),
    )
