"""Counts of rows by the values of columns, merged batch by batch in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import keys
from indextables.errors import InputError

COUNT: Final = "count"

_MIN_PENDING_BYTES: Final = 4 << 20
"""Partial counts are merged when they are this large, or as large as the counts so far."""


class GroupCounts:
    """The number of rows of each group. A null is a value; all NaN are one value, and 0.0 and -0.0 are one, as in SQL.

    The groups, and the partial counts that are not merged yet, each take at most about `max_bytes`. With more groups,
    `add` and `result` raise InputError.

    >>> counts = GroupCounts(pa.schema({"level": pa.string()}), max_bytes=1 << 20, subject="column 'level'")
    >>> for levels in (["INFO", "WARN"], ["INFO", None]):
    ...     counts.add([pa.array(levels)])
    >>> counts.result().sort_by([("count", "descending")]).slice(0, 1).to_pylist()
    [{'level': 'INFO', 'count': 2}]
    """

    def __init__(self, groups: pa.Schema, *, max_bytes: int, subject: str) -> None:
        self._names = [str(number) for number in range(len(groups))]  # a column may be named "count"
        self._groups = groups
        self._max_bytes = max_bytes
        self._subject = subject
        types = [(name, column.type) for name, column in zip(self._names, groups, strict=True)]
        self._merged = pa.schema([*types, (COUNT, pa.int64())]).empty_table()
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0

    def add(self, columns: Sequence[pa.Array], weight: int = 1) -> None:
        """Count each row of a batch `weight` times."""
        if not len(columns[0]) or not weight:
            return
        batch = pa.table([canonical(column) for column in columns], names=self._names)
        counted = batch.group_by(self._names).aggregate([([], "count_all")])
        numbers = pc.multiply_checked(counted.column("count_all"), weight)
        counted = counted.select(self._names).append_column(COUNT, numbers)
        self._pending.append(counted)
        self._pending_bytes += counted.nbytes
        if self._pending_bytes > max(min(_MIN_PENDING_BYTES, self._max_bytes), self._merged.nbytes):
            self._merge()

    def result(self) -> pa.Table:
        """Return one row for each group, in no particular order: its values and its `count`."""
        self._merge()
        schema = pa.schema([*self._groups, (COUNT, pa.int64())])
        return pa.table(self._merged.columns, schema=schema)

    def _merge(self) -> None:
        if self._pending:
            parts = pa.concat_tables([self._merged, *self._pending])
            totals = parts.group_by(self._names).aggregate([(COUNT, "sum")])
            self._merged = totals.select([*self._names, f"{COUNT}_sum"]).rename_columns([*self._names, COUNT])
            self._pending, self._pending_bytes = [], 0
        if self._merged.nbytes > self._max_bytes:
            raise InputError(
                f"{self._subject} has more than {self._merged.num_rows - 1} distinct values, which take more than "
                f"{self._max_bytes} bytes; read fewer rows with `query` or `where`, or raise "
                f"{keys.AGGREGATION_MAX_MEMORY.key}"
            )


def canonical(values: pa.Array) -> pa.Array:
    """Return values in which equal floating-point numbers have equal bits.

    >>> canonical(pa.array([-0.0, None, 1.5])).to_pylist()
    [0.0, None, 1.5]
    """
    if not pa.types.is_floating(values.type):
        return values
    zero, nan = pa.scalar(0.0, values.type), pa.scalar(float("nan"), values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, zero))
