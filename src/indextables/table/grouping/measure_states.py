"""The state of a measure while rows are grouped: columns that Arrow combines by sum, minimum or maximum."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import FLOAT_TYPES, MAX_PRECISION, Field, decimal_size, decimal_words
from indextables.table.grouping.aggregation import Measure

Combination: TypeAlias = tuple[str | list[str], str]
"""A column, or none, and the function of Arrow that combines its values."""

_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_LONG: Final = 1 << 63
_ONE_WORD: Final = 18
"""Decimals of so many digits fit into 64 bits."""

_EXACT: Final = Context(prec=120)


class MeasureState(Protocol):
    """The state columns of one measure."""

    names: Sequence[str]
    """The columns of the state."""
    first: Sequence[Combination]
    """How the columns of `inputs` make a state, in the order of `names`."""
    again: Sequence[Combination]
    """How states are combined."""

    def inputs(self, rows: pa.Table) -> dict[str, pa.Array]:
        """Return the columns that a block of rows adds to its grouping."""

    def times(self, table: pa.Table, n: int) -> pa.Table:
        """Return states as if each row had been there `n` times."""

    def carried(self, table: pa.Table) -> pa.Table:
        """Return states that can be combined further without overflow."""

    def fits(self, table: pa.Table) -> bool:
        """Return True if the type of the result holds every result."""

    def result(self, table: pa.Table, *, limited: bool) -> pa.Array | pa.ChunkedArray:
        """Return the results. `limited`: as much of a sum as one row may have; `overflow` has the rest."""

    def overflow(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Array]:
        """Return what sums have beyond `result`: rows of the table, which repeat, and a part of the sum for each."""

    def neutral(self, n: int) -> pa.Array:
        """Return results that change nothing when they are combined with others."""


def state_of(measure: Measure, column: Field | None, prefix: str) -> MeasureState:
    """Return the state of a measure. `prefix` makes the names of its columns unique."""
    if column is None:
        return _Count(None, prefix)
    match measure.function:
        case "count":
            return _Count(column.name, prefix)
        case "sum":
            return _FloatSum(column, prefix) if column.type in FLOAT_TYPES else _ExactSum(column, prefix)
        case function:
            return _Extreme(column, function, prefix)


class _Plain:
    """A state of one column that needs no care."""

    def __init__(self, name: str, result_type: pa.DataType) -> None:
        self.names: Sequence[str] = (name,)
        self._name = name
        self._type = result_type

    def times(self, table: pa.Table, n: int) -> pa.Table:  # noqa: ARG002 - the protocol
        return table

    def carried(self, table: pa.Table) -> pa.Table:
        return table

    def fits(self, table: pa.Table) -> bool:  # noqa: ARG002
        return True

    def result(self, table: pa.Table, *, limited: bool) -> pa.Array | pa.ChunkedArray:  # noqa: ARG002
        return table.column(self._name)

    def overflow(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Array]:  # noqa: ARG002
        return np.empty(0, np.int64), pa.array([], self._type)

    def neutral(self, n: int) -> pa.Array:
        return pa.nulls(n, self._type)


class _Count(_Plain):
    """The number of rows, or of the values of a column that are not null."""

    def __init__(self, column: str | None, name: str) -> None:
        super().__init__(name, pa.int64())
        self._column = column
        self.first: Sequence[Combination] = [([], "count_all") if column is None else (name, "count")]
        self.again: Sequence[Combination] = [(name, "sum")]

    def inputs(self, rows: pa.Table) -> dict[str, pa.Array]:
        return {} if self._column is None else {self._name: one_array(rows.column(self._column))}

    def times(self, table: pa.Table, n: int) -> pa.Table:
        return _replace_column(table, self._name, pc.multiply_checked(table.column(self._name), n))

    def neutral(self, n: int) -> pa.Array:
        return pa.array(np.zeros(n, np.int64))


class _Extreme(_Plain):
    """The least or greatest value. Floating-point numbers are compared as integers of the same order, NaN last."""

    def __init__(self, column: Field, function: str, name: str) -> None:
        super().__init__(name, column.arrow_type)
        self._column = column.name
        self._is_float = column.type in FLOAT_TYPES
        self.first: Sequence[Combination] = [(name, function)]
        self.again: Sequence[Combination] = self.first

    def inputs(self, rows: pa.Table) -> dict[str, pa.Array]:
        values = one_array(rows.column(self._column))
        return {self._name: _to_order_keys(values) if self._is_float else values}

    def result(self, table: pa.Table, *, limited: bool) -> pa.Array | pa.ChunkedArray:  # noqa: ARG002
        values = table.column(self._name)
        return _from_order_keys(one_array(values)).cast(self._type) if self._is_float else values


class _FloatSum(_Plain):
    """The sum of floating-point numbers, as doubles."""

    def __init__(self, column: Field, name: str) -> None:
        super().__init__(name, pa.float64())
        self._column = column.name
        self.first: Sequence[Combination] = [(name, "sum")]
        self.again: Sequence[Combination] = self.first

    def inputs(self, rows: pa.Table) -> dict[str, pa.Array]:
        return {self._name: one_array(rows.column(self._column)).cast(pa.float64())}

    def times(self, table: pa.Table, n: int) -> pa.Table:
        return _replace_column(table, self._name, pc.multiply(table.column(self._name), float(n)))


class _ExactSum:
    """The sum of integers or decimals, in digits of 32 bits; the last one has the sign."""

    def __init__(self, column: Field, prefix: str) -> None:
        self._column = column.name
        self._size = decimal_size(column.type)
        self._is_wide = self._size is not None and self._size[0] > _ONE_WORD
        self.names: Sequence[str] = [f"{prefix}{i}" for i in range(4 if self._is_wide else 2)]
        self.first: Sequence[Combination] = [(name, "sum") for name in self.names]
        self.again: Sequence[Combination] = self.first

    def inputs(self, rows: pa.Table) -> dict[str, pa.Array]:
        values = one_array(rows.column(self._column))
        mask = values.is_null().to_numpy(zero_copy_only=False)
        return {
            name: pa.array(digits, mask=mask)
            for name, digits in zip(self.names, self._digits(values), strict=True)
        }

    def _digits(self, values: pa.Array) -> list[npt.NDArray[np.int64]]:
        if self._size is None:
            words = [values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)]
        else:
            high, low = decimal_words(values)
            words = [low.view(np.int64), high] if self._is_wide else [low.view(np.int64)]
        digits = [digit for word in words for digit in (word & _MASK, (word >> _BITS) & _MASK)]
        digits[-1] = words[-1] >> _BITS
        return digits

    def times(self, table: pa.Table, n: int) -> pa.Table:
        for name in self.names:
            table = _replace_column(table, name, pc.multiply_checked(table.column(name), n))
        return self.carried(table)

    def carried(self, table: pa.Table) -> pa.Table:
        for lower, upper in zip(self.names[:-1], self.names[1:], strict=True):
            digits = table.column(lower)
            table = _replace_column(
                table, upper, pc.add_checked(table.column(upper), pc.shift_right(digits, _BITS))
            )
            table = _replace_column(table, lower, pc.bit_wise_and(digits, _MASK))
        return table

    def fits(self, table: pa.Table) -> bool:
        low, high = self._bounds(limited=False)
        return all(total is None or low <= total <= high for total in self._totals(table))

    def result(self, table: pa.Table, *, limited: bool) -> pa.Array | pa.ChunkedArray:
        low, high = self._bounds(limited=limited)
        totals = (self._reduce(total) for total in self._totals(table))
        return self._values([None if total is None else min(max(total, low), high) for total in totals])

    def overflow(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Array]:
        low, high = self._bounds(limited=True)
        rows: list[int] = []
        values: list[int | None] = []
        for row, exact in enumerate(self._totals(table)):
            total = self._reduce(exact)
            if total is None or low <= total <= high:
                continue
            part = high if total > high else low
            whole, rest = divmod(abs(total), abs(part))
            parts = [part] * (whole - 1) + ([rest if total > 0 else -rest] if rest else [])
            rows += [row] * len(parts)
            values += parts
        return np.array(rows, np.int64), self._values(values)

    def neutral(self, n: int) -> pa.Array:
        return pa.nulls(n, self._type)

    @property
    def _type(self) -> pa.DataType:
        if self._size is None:
            return pa.int64()
        return pa.decimal128(min(self._size[0] + 10, MAX_PRECISION), self._size[1])

    def _bounds(self, *, limited: bool) -> tuple[int, int]:
        """Return the least and greatest sum of one row. Spark takes partial sums of decimals in their own type."""
        if self._size is None:
            return -_LONG, _LONG - 1
        digits = self._size[0] if limited else min(self._size[0] + 10, MAX_PRECISION)
        return 1 - 10**digits, 10**digits - 1

    def _reduce(self, total: int | None) -> int | None:
        """Return a sum of integers beyond 64 bits as a nearer one that is equal in 64 bits, and beyond them too.

        Spark adds the parts of the sum: it finds the overflow, or wraps around, as the session has it.
        """
        if self._size is not None or total is None or -_LONG <= total < _LONG:
            return total
        wrapped = abs(total) % (2 * _LONG)
        wrapped += 0 if wrapped > _LONG else 2 * _LONG
        return wrapped if total > 0 else -wrapped

    def _totals(self, table: pa.Table) -> list[int | None]:
        columns = [table.column(name).to_pylist() for name in self.names]
        return [
            None if digits[0] is None else sum(digit << (_BITS * i) for i, digit in enumerate(digits))
            for digits in zip(*columns, strict=True)
        ]

    def _values(self, totals: list[int | None]) -> pa.Array:
        if self._size is None:
            return pa.array(totals, pa.int64())
        scale = -self._size[1]
        decimals = (None if total is None else Decimal(total).scaleb(scale, _EXACT) for total in totals)
        return pa.array(list(decimals), self._type)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return the values of a column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _replace_column(table: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def _to_order_keys(values: pa.Array) -> pa.Array:
    """Return integers in the order of floating-point numbers: NaN above all, -0.0 below 0.0."""
    numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    return pa.array(_flip(bits), mask=values.is_null().to_numpy(zero_copy_only=False))


def _from_order_keys(keys: pa.Array) -> pa.Array:
    bits = _flip(keys.fill_null(0).to_numpy(zero_copy_only=False))
    return pa.array(bits.view(np.float64), mask=keys.is_null().to_numpy(zero_copy_only=False))


def _flip(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Reverse the order of negative numbers; the same function reverses it back."""
    flipped: npt.NDArray[np.int64] = bits ^ ((bits >> 63) & np.int64(_LONG - 1))
    return flipped
