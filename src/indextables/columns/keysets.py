"""A set of keys of one column or several, and the test which rows have one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.rows import RowIds


@dataclass(frozen=True)
class _Step:
    """One column: its values among the keys, and the codes of keys up to and with this column.

    A key's code is its code before this column times the number of values, plus the number of its value.
    """

    values: pa.Array
    codes: RowIds


@dataclass(frozen=True)
class KeySet:
    """Keys in memory, found by columns one after the other.

    >>> keys = KeySet.of(pa.table({"a": [1, 1, None], "b": ["x", "y", "x"]}), nulls_match=True)
    >>> keys.contains(pa.record_batch({"a": [1, 2, None, 1], "b": ["y", "x", "x", "z"]})).tolist()
    [True, False, True, False]
    """

    columns: tuple[str, ...]
    steps: tuple[_Step, ...]
    nulls_match: bool

    @classmethod
    def of(cls, keys: pa.Table, *, nulls_match: bool) -> KeySet:
        if not nulls_match:
            keys = keys.drop_null()
        codes: RowIds = np.zeros(keys.num_rows, dtype=np.int64)
        steps = []
        for name in keys.schema.names:
            column = _comparable(keys.column(name).combine_chunks(), name)
            values = pc.unique(column)
            combined = codes * max(1, len(values)) + _numbers(column, values)
            distinct = np.unique(combined)
            steps.append(_Step(values, distinct))
            codes = np.searchsorted(distinct, combined).astype(np.int64)
        return cls(tuple(keys.schema.names), tuple(steps), nulls_match)

    def contains(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        codes: RowIds = np.zeros(rows.num_rows, dtype=np.int64)
        is_key = np.ones(rows.num_rows, dtype=np.bool_)
        for name, step in zip(self.columns, self.steps, strict=True):
            if not len(step.codes):
                return np.zeros(rows.num_rows, dtype=np.bool_)
            numbers = _numbers(_comparable(rows.column(name), name), step.values)
            is_key &= numbers >= 0
            combined = codes * len(step.values) + numbers
            codes = np.minimum(np.searchsorted(step.codes, combined), len(step.codes) - 1).astype(np.int64)
            is_key &= step.codes[codes] == combined
        return is_key


def _numbers(values: pa.Array, known: pa.Array) -> RowIds:
    """Return the index of each value in `known`, -1 for one that is not among them."""
    places: RowIds = pc.index_in(values, value_set=known).fill_null(-1).to_numpy().astype(np.int64)
    return places


def _comparable(values: pa.Array, name: str) -> pa.Array:
    kind = values.type
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_nested(kind):
        raise SchemaError(
            f"rows cannot be deleted by column {name!r}, which is {kind}; use a column that is not nested"
        )
    if pa.types.is_dictionary(kind):
        return values.dictionary_decode()
    if pa.types.is_floating(kind):
        return pc.add(pc.cast(values, pa.float64()), 0.0)  # so that -0.0 is 0.0
    return values
