"""Buckets of a histogram: which bucket a value is in, and where each bucket starts.

A bucket has a *key* while rows are counted: its number, counted from 0 or from 1970, for whole numbers and times; its
start for floating-point numbers, where NaN and the infinities are buckets of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from operator import index
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import keys
from indextables.errors import InputError
from indextables.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    MAX_PRECISION,
    TIME_TYPES,
    Field,
    decimal_size,
    parse_decimal,
    unscaled,
)

_EVERY: Final = re.compile(
    r"(\d{1,9})\s*(?:(?P<second>s|seconds?)|(?P<minute>m|minutes?)|(?P<hour>h|hours?)|(?P<day>d|days?)"
    r"|(?P<week>w|weeks?)|(?P<month>months?)|(?P<year>y|years?))"
)
_DAY: Final = 86400
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": _DAY, "week": 7 * _DAY}
_MONTHS: Final = {"month": 1, "year": 12}
_MONDAY: Final = 3
"""Days from Monday, 29 December 1969, to 1 January 1970."""

_MAX_STEP: Final = 1 << 62
_MAX_NUMBER: Final = 1 << 50
"""Below it, a bucket number that is computed with doubles is wrong by one at most."""

_MIN_STEP: Final = 1e-280
_EXACT: Final = Context(prec=400)
_MICROS: Final = 10**6

_OF_TIMES: Final = "text such as '1h', '15m', '1d', '1w', '1 month' or '1y'"
_OF_DATES: Final = "whole days, weeks, months or years, as in '1d', '1w', '1 month' or '1y'"


class Buckets(Protocol):
    """The buckets of one histogram."""

    @property
    def type(self) -> pa.DataType:
        """The type of bucket starts."""

    def keys(self, values: pa.Array) -> pa.Array:
        """Return the key of each value's bucket; null for null."""

    def starts(self, keys: pa.Array) -> pa.Array:
        """Return where the buckets of these keys start. InputError if the type cannot express one of them."""

    def between(self, keys: pa.Array, max_buckets: int) -> pa.Array:
        """Return the keys of all buckets from the first to the last of `keys`. InputError if they are too many."""


def buckets_of(column: Field, every: str | float) -> Buckets:
    """Return the buckets of a column.

    >>> hours = buckets_of(Field("ts", "timestamp"), "6h")
    >>> hours.keys(pa.array([0, 25 * 3600 * 10**6, None], pa.timestamp("us", "UTC"))).to_pylist()
    [0, 4, None]
    >>> buckets_of(Field("n", "long"), "1h")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: every is '1h'; 'n' is of type long and takes a whole number above zero
    """
    if column.type in INTEGER_TYPES:
        return _whole_buckets(column, every)
    if column.type in FLOAT_TYPES:
        return _FloatBuckets(column.name, _float_step(column, every))
    if (size := decimal_size(column.type)) is not None:
        return _DecimalBuckets(column.name, size[1], _decimal_step(column, every))
    if column.type in ("date", *TIME_TYPES):
        return _time_buckets(column, every)
    raise InputError(
        f"a histogram needs a column of dates, timestamps or numbers, and {column.name!r} is of type "
        f"{column.type_name}; top_values counts the values of any column"
    )


@dataclass(frozen=True)
class _NumberedBuckets:
    """Buckets whose key is a number. The two functions are those of numpy arrays, and of Arrow arrays without nulls."""

    column: str
    type: pa.DataType
    numbers: Callable[[np.ndarray], np.ndarray]
    units: Callable[[pa.Array], pa.Array]
    """Return the starts of buckets, in units of `type`; ArrowInvalid if 64 bits cannot hold one."""

    def keys(self, values: pa.Array) -> pa.Array:
        is_date = pa.types.is_date32(values.type)
        return _map((values.cast(pa.int32()) if is_date else values).cast(pa.int64()), self.numbers)

    def starts(self, keys: pa.Array) -> pa.Array:
        try:
            units = self.units(keys)
            return (
                units.cast(pa.int32()).cast(self.type) if self.type == pa.date32() else units.cast(self.type)
            )
        except pa.ArrowInvalid as reason:
            raise InputError(
                f"the first bucket of {self.column!r} starts before the least value of its type; give a smaller "
                "`every`, or leave the least values out with `where`"
            ) from reason

    def between(self, keys: pa.Array, max_buckets: int) -> pa.Array:
        return _between(self.column, keys, max_buckets)


@dataclass(frozen=True)
class _FloatBuckets:
    """Bucket i starts at the double of i * step, where step is the decimal number that the caller wrote.

    With a step of 0.1, bucket 3 starts at 0.3. The product of the doubles 3 and 0.1 is above 0.3, and would leave 0.3
    in the bucket before.
    """

    column: str
    step: Fraction
    type: pa.DataType = field(default_factory=pa.float64)

    def keys(self, values: pa.Array) -> pa.Array:
        def start(numbers: np.ndarray) -> np.ndarray:
            finite = np.isfinite(numbers)
            starts = numbers.copy()
            starts[finite] = self._start(self._number(numbers[finite]))
            return starts

        return _map(values.cast(pa.float64()), start)

    def starts(self, keys: pa.Array) -> pa.Array:
        return keys

    def between(self, keys: pa.Array, max_buckets: int) -> pa.Array:
        finite = keys.filter(pc.is_finite(keys)).to_numpy()
        if not len(finite):
            return keys.slice(0, 0)
        low, high = self._number(np.array([finite.min(), finite.max()]))
        _check_range(self.column, int(high - low) + 1, max_buckets)
        return pa.array(self._start(np.arange(low, high + 1, dtype=np.float64)))

    def _number(self, numbers: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            guess = np.floor(numbers / float(self.step))
        if len(guess) and np.abs(guess).max() >= _MAX_NUMBER:
            example = float(numbers[np.abs(guess).argmax()])
            raise InputError(
                f"every is {float(self.step)!r}, which is too small for {example!r} in {self.column!r}; give a larger "
                "number, or leave such values out with `where`"
            )
        guess = np.where(self._start(guess) > numbers, guess - 1, guess)
        return np.where(self._start(guess + 1) <= numbers, guess + 1, guess)

    def _start(self, numbers: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return numbers * float(self.step.numerator) / float(self.step.denominator) + 0.0  # never -0.0


@dataclass(frozen=True)
class _DecimalBuckets:
    """Bucket i starts at i * step, exactly."""

    column: str
    scale: int
    step: Decimal

    @property
    def type(self) -> pa.DataType:
        return pa.decimal128(MAX_PRECISION, self._digits)

    @property
    def _digits(self) -> int:
        return max(0, -int(self.step.as_tuple().exponent))

    def keys(self, values: pa.Array) -> pa.Array:
        step = Fraction(self.step)
        divisor, factor = step.numerator * 10**self.scale, step.denominator
        digits = (None if value is None else unscaled(value, self.scale) for value in values.to_pylist())
        try:
            return pa.array([None if n is None else n * factor // divisor for n in digits], pa.int64())
        except OverflowError:
            raise InputError(
                f"every is {self.step}, which is too small for the values of {self.column!r}; give a larger number"
            ) from None

    def starts(self, keys: pa.Array) -> pa.Array:
        digits = int(self.step.scaleb(self._digits, _EXACT))
        starts = [
            None if key is None else Decimal(key * digits).scaleb(-self._digits, _EXACT)
            for key in keys.to_pylist()
        ]
        try:
            return pa.array(starts, self.type)
        except pa.ArrowInvalid as reason:
            raise InputError(
                f"a bucket of {self.column!r} has too many digits; give a shorter `every`"
            ) from reason

    def between(self, keys: pa.Array, max_buckets: int) -> pa.Array:
        return _between(self.column, keys, max_buckets)


def _between(column: str, keys: pa.Array, max_buckets: int) -> pa.Array:
    bounds = pc.min_max(keys).as_py()
    if bounds["min"] is None:
        return keys.slice(0, 0)
    _check_range(column, bounds["max"] - bounds["min"] + 1, max_buckets)
    return pa.array(np.arange(bounds["min"], bounds["max"] + 1, dtype=np.int64))


def _decimal_step(column: Field, every: str | float | Decimal) -> Decimal:
    """Return the step as the decimal number that the caller wrote."""
    is_number = isinstance(every, int | float | Decimal | np.integer | np.floating) and not isinstance(
        every, bool
    )
    try:
        step = parse_decimal(str(every)) if is_number else Decimal(0)
    except ValueError:
        step = Decimal(0)
    if not Decimal(10) ** -MAX_PRECISION <= step <= Decimal(10) ** MAX_PRECISION:
        raise _wrong(column, every, "a number above zero")
    return step


def _whole_buckets(column: Field, every: str | float) -> Buckets:
    """Return buckets of whole numbers. Starts are long: with `every=100`, -128 of a byte is in the bucket of -200."""
    is_whole = not isinstance(every, bool) and hasattr(every, "__index__")
    if not is_whole or not 0 < index(every) <= _MAX_STEP:  # type: ignore[arg-type]
        raise _wrong(column, every, "a whole number above zero")
    step = index(every)  # type: ignore[arg-type]
    return _NumberedBuckets(
        column.name, pa.int64(), lambda numbers: numbers // step, lambda keys: pc.multiply_checked(keys, step)
    )


def _float_step(column: Field, every: str | float) -> Fraction:
    is_number = isinstance(every, int | float | np.integer | np.floating) and not isinstance(every, bool)
    if not is_number or not _MIN_STEP <= every <= 1 / _MIN_STEP:  # type: ignore[operator]
        raise _wrong(column, every, "a number above zero")
    return Fraction(repr(float(every)))


def _time_buckets(column: Field, every: str | float) -> Buckets:
    is_date = column.type == "date"
    match = _EVERY.fullmatch(every.strip()) if isinstance(every, str) else None
    unit = None if match is None else match.lastgroup
    if (
        match is None
        or unit is None
        or int(match[1]) == 0
        or (is_date and unit in ("second", "minute", "hour"))
    ):
        raise _wrong(column, every, _OF_DATES if is_date else _OF_TIMES)
    units_of_day = 1 if is_date else _DAY * _MICROS
    if unit in _MONTHS:
        return _month_buckets(column, int(match[1]) * _MONTHS[unit], units_of_day)
    step = int(match[1]) * (_SECONDS[unit] * units_of_day // _DAY)
    if step > _MAX_STEP:
        raise _wrong(column, every, "a duration below 100000 years")
    # Weeks start on Monday. Their values are divided by days first: adding the offset to a value could overflow.
    base, offset = (units_of_day, _MONDAY) if unit == "week" else (1, 0)
    return _NumberedBuckets(
        column.name,
        column.arrow_type,
        lambda numbers: (numbers // base + offset) // (step // base),
        lambda keys: pc.subtract_checked(pc.multiply_checked(keys, step), offset * base),
    )


def _month_buckets(column: Field, months: int, units_of_day: int) -> Buckets:
    def numbers(units: np.ndarray) -> np.ndarray:
        return (units // units_of_day).astype("M8[D]").astype("M8[M]").astype(np.int64) // months

    def units(keys: pa.Array) -> pa.Array:
        days = _map(keys, lambda numbers: (numbers * months).astype("M8[M]").astype("M8[D]").astype(np.int64))
        return pc.multiply_checked(days, units_of_day)

    return _NumberedBuckets(column.name, column.arrow_type, numbers, units)


def _map(values: pa.Array, function: Callable[[np.ndarray], np.ndarray]) -> pa.Array:
    """Apply a numpy function to the values that are not null."""
    mask = values.is_null().to_numpy(zero_copy_only=False)
    results = function(values.fill_null(0).to_numpy(zero_copy_only=False))
    return pa.array(results, mask=mask, from_pandas=False)


def _check_range(column: str, buckets: int, max_buckets: int) -> None:
    if buckets > max_buckets:
        raise InputError(
            f"fill=True gives {buckets} buckets of {column!r}, and {max_buckets} fit into memory; give a larger "
            f"`every`, or limit the range with `where`, or raise {keys.AGGREGATION_MAX_MEMORY.key}"
        )


def _wrong(column: Field, every: object, expected: str) -> InputError:
    return InputError(f"every is {every!r}; {column.name!r} is of type {column.type} and takes {expected}")
