"""Pruning: skipping rows in row groups whose statistics rule a predicate out."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from indextables.columns.group_rows import GroupRows
from indextables.predicates import Predicate, columns_of, may_match

Span = tuple[int, int]
"""Rows from the first (included) to the second (excluded)."""


def surviving(groups: Iterable[GroupRows], predicate: Predicate, schema: pa.Schema, rows: Span) -> list[Span]:
    """Return the rows for which the predicate may be TRUE, by the statistics of every group that has its columns."""
    spans = [rows] if rows[0] < rows[1] else []
    for group in groups:
        columns = sorted(columns_of(predicate) & group.columns)
        if columns and spans:
            spans = intersection(spans, _of_group(group, columns, predicate, schema, rows))
    return spans


def intersection(left: list[Span], right: list[Span]) -> list[Span]:
    """Intersect two lists of spans, both ascending and without overlaps, as is the result.

    >>> intersection([(0, 10), (20, 30)], [(5, 25)])
    [(5, 10), (20, 25)]
    """
    common: list[Span] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, stop = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if start < stop:
            common.append((start, stop))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common


def _of_group(
    group: GroupRows, columns: list[str], predicate: Predicate, schema: pa.Schema, rows: Span
) -> list[Span]:
    spans: list[Span] = []
    for chunk in group.chunks(*rows):
        file = group.opened(chunk.file)
        comparable = [
            name for name in columns if _same_order(file.schema.field(name).type, schema.field(name).type)
        ]
        if comparable and not may_match(predicate, file.bounds(chunk.number, comparable).get):
            continue
        if spans and spans[-1][1] == chunk.start:
            spans[-1] = (spans[-1][0], chunk.stop)
        else:
            spans.append((chunk.start, chunk.stop))
    return spans


def _same_order(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Return True if bounds in the file's type are bounds in the schema's."""
    if pa.types.is_integer(stored) and pa.types.is_integer(wanted):
        return True
    texts = (pa.string(), pa.large_string())
    return bool(stored == wanted or (stored in texts and wanted in texts))
