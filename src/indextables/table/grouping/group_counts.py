"""Counts of rows by the values of columns, merged batch by batch in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import keys
from indextables.errors import InputError

COUNT: Final = "count"

_MIN_PENDING_BYTES: Final = 4 << 20
"""Partial counts are merged when they are this large, or as large as the counts so far."""

_SPARE: Final = 1 << 16
"""How many numbers more than rows an array of counts may have."""


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
        self._schema = pa.schema([*types, (COUNT, pa.int64())])
        self._merged = self._schema.empty_table()
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0

    def add(self, columns: Sequence[pa.Array], weight: int = 1) -> None:
        """Count each row of a batch `weight` times. Columns may be dictionary arrays."""
        if not len(columns[0]) or not weight:
            return
        values, numbers = _count([canonical(column) for column in columns])
        counts = pc.multiply_checked(pa.array(numbers, pa.int64()), weight)
        counted = pa.Table.from_arrays([*values, counts], schema=self._schema)
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


def _count(columns: Sequence[pa.Array]) -> tuple[list[pa.Array], npt.NDArray[np.int64]]:
    """Return the values of each group, column by column, and the number of its rows."""
    coded = [_codes(column) for column in columns]
    combined, size = coded[0][0], len(coded[0][1])
    for codes, values in coded[1:]:
        combined, size = combined * len(values) + codes, size * len(values)
    if size <= len(combined) + _SPARE:
        counts = np.bincount(combined)
        present = np.flatnonzero(counts)
        counts = counts[present]
    else:
        present, counts = np.unique(combined, return_counts=True)
    groups: list[pa.Array] = []
    for _, values in reversed(coded):
        groups.insert(0, values.take(pa.array(present % len(values))))
        present = present // len(values)
    return groups, counts


def _codes(values: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Return a number for each row, and the value of each number, null among them."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64), pa.nulls(1)
    if pa.types.is_dictionary(values.type):
        indices, distinct = values.indices, values.dictionary
        codes = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        if indices.null_count:
            codes[indices.is_null().to_numpy(zero_copy_only=False)] = len(distinct)
            distinct = pa.concat_arrays([distinct, pa.nulls(1, distinct.type)])
        return codes, distinct
    if pa.types.is_int64(values.type) and (dense := _dense(values)) is not None:
        return dense
    encoded = values.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def _dense(values: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array] | None:
    """Return the codes of integers that are close together, such as bucket numbers: what each is above the least."""
    bounds = pc.min_max(values)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is None or high - low > len(values) + _SPARE:
        return None
    codes = values.fill_null(low).to_numpy(zero_copy_only=False) - low
    if values.null_count:
        codes[values.is_null().to_numpy(zero_copy_only=False)] = high - low + 1
    return codes, pa.concat_arrays([pa.array(np.arange(high - low + 1) + low), pa.nulls(1, pa.int64())])
