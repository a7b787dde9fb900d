"""Buckets as keys of an aggregate: what `indextables_histogram` and its relatives compute in SQL.

Java computes the same for plans in which Spark groups the rows itself (BucketFunction.java). Both must agree bit for
bit, so that partial results of the two can be mixed: numbers are doubles and are floored, times are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import InputError
from indextables.schema import FLOAT_TYPES, INTEGER_TYPES, TIME_TYPES

DAY_MICROS: Final = 86_400_000_000
_MAX_MICROS: Final = 1 << 62


class BucketKeys(Protocol):
    """Which bucket a value is in. The key of a bucket is a value too; it is null for a value without a bucket."""

    def type_of(self, kind: str) -> str | None:
        """Return the type of the keys of a column; None if a column of this type has no such buckets."""

    def keys(self, values: pa.Array) -> pa.Array:
        """Return the key of each value."""


@dataclass(frozen=True)
class NumberBuckets:
    """Bucket i starts at `i * width + offset`, computed with doubles, and its start is its key.

    >>> NumberBuckets(10.0, 5.0).keys(pa.array([4, 5, 24, None])).to_pylist()
    [-5.0, 5.0, 15.0, None]
    """

    width: float
    offset: float = 0.0

    def type_of(self, kind: str) -> str | None:
        return "double" if kind in INTEGER_TYPES | FLOAT_TYPES else None

    def keys(self, values: pa.Array) -> pa.Array:
        numbers = values.cast(pa.float64(), safe=False)
        number = pc.floor(pc.divide(pc.subtract(numbers, self.offset), self.width))
        return pc.add(pc.multiply(number, self.width), self.offset)


@dataclass(frozen=True)
class TimeBuckets:
    """Buckets of a fixed number of microseconds, counted from 1970 in UTC; of dates, whole days.

    >>> hours = TimeBuckets(3_600_000_000)
    >>> str(hours.keys(pa.array([-1], pa.timestamp("us"))).to_pylist()[0])
    '1969-12-31 23:00:00'
    """

    micros: int
    offset: int = 0

    def type_of(self, kind: str) -> str | None:
        if kind == "date":
            return kind if self.micros % DAY_MICROS == 0 and self.offset % DAY_MICROS == 0 else None
        return kind if kind in TIME_TYPES else None

    def keys(self, values: pa.Array) -> pa.Array:
        is_date = pa.types.is_date32(values.type)
        unit = DAY_MICROS if is_date else 1
        step, offset = self.micros // unit, self.offset // unit
        units = (values.cast(pa.int32()) if is_date else values).cast(pa.int64())
        numbers = units.fill_null(0).to_numpy(zero_copy_only=False)
        if len(numbers) and np.abs(numbers).max() >= _MAX_MICROS:
            raise InputError(
                "a bucket of a date histogram would start before the least timestamp; leave such values out with WHERE"
            )
        starts = (numbers - offset) // step * step + offset
        keys = pa.array(starts, mask=units.is_null().to_numpy(zero_copy_only=False))
        return keys.cast(pa.int32()).cast(values.type) if is_date else keys.cast(values.type)


@dataclass(frozen=True)
class Range:
    """The values from `low` to below `high`; None is open."""

    name: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RangeBuckets:
    """The key of a value is the name of the range it is in, and null outside of all. Ranges do not overlap.

    >>> sizes = RangeBuckets((Range("small", None, 10.0), Range("large", 10.0, None)))
    >>> sizes.keys(pa.array([3, 10, None])).to_pylist()
    ['small', 'large', None]
    """

    ranges: tuple[Range, ...]

    def type_of(self, kind: str) -> str | None:
        return "string" if kind in INTEGER_TYPES | FLOAT_TYPES else None

    def keys(self, values: pa.Array) -> pa.Array:
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        present = ~values.is_null().to_numpy(zero_copy_only=False)
        names = pa.array([span.name for span in self.ranges], pa.string())
        place = np.full(len(numbers), -1)
        for i, span in enumerate(self.ranges):
            inside = present.copy()
            if span.low is not None:  # NaN is above every number, as in Spark
                inside &= (numbers >= span.low) | np.isnan(numbers)
            if span.high is not None:
                inside &= numbers < span.high
            place[inside] = i
        return names.take(pa.array(place, mask=place < 0))
