"""Exact sums of 64-bit integers, decimals and doubles. The order of the values does not change the result."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.schema import decimal_words

_SCALE: Final = 1074 + 53
"""The unit of a finite sum is 2 ** -_SCALE, so that the lowest bit of every double, times 2 ** -53, is whole."""


class IntegerSum:
    """The sum of integers, as a Python int, which does not overflow.

    >>> total = IntegerSum()
    >>> total.add(np.array([2**63 - 1, 1]))
    >>> total.value() == 2**63, total.mean(2) == 2.0**62
    (True, True)
    """

    def __init__(self) -> None:
        self._total = 0

    def add(self, numbers: np.ndarray, weight: int = 1) -> None:
        wide = numbers.astype(np.int64)
        self._total += weight * ((int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum()))

    def value(self) -> int:
        return self._total

    def mean(self, count: int) -> float:
        return self._total / count


class FloatSum:
    """The sum of doubles, rounded once: to the double nearest to the exact sum.

    >>> total = FloatSum()
    >>> total.add(np.array([1e100, 1.0, -1e100, 0.1, 0.2]))
    >>> total.value()
    1.3
    """

    def __init__(self) -> None:
        self._finite = 0  # in units of 2 ** -_SCALE
        self._special = 0.0  # the sum of infinities and NaN

    def add(self, numbers: np.ndarray, weight: int = 1) -> None:
        doubles = numbers.astype(np.float64)
        finite = np.isfinite(doubles)
        with np.errstate(invalid="ignore"):
            self._special += float(doubles[~finite].sum()) if weight and not finite.all() else 0.0
        mantissas, exponents = np.frexp(doubles[finite])
        # A double is an integer of 53 bits times 2 ** (exponent - 53). Integers of one exponent are added in halves,
        # which do not overflow.
        integers = np.ldexp(mantissas, 53).astype(np.int64)
        order = np.argsort(exponents, kind="stable")
        distinct, starts = np.unique(exponents[order], return_index=True)
        if len(distinct):
            high = np.add.reduceat(integers[order] >> 27, starts)
            low = np.add.reduceat(integers[order] & ((1 << 27) - 1), starts)
            for exponent, upper, lower in zip(distinct.tolist(), high.tolist(), low.tolist(), strict=True):
                self._finite += weight * ((upper << 27) + lower) << (exponent - 53 + _SCALE)

    def value(self) -> float:
        return self._quotient(1)

    def mean(self, count: int) -> float:
        return self._quotient(count)

    def _quotient(self, count: int) -> float:
        if self._special or math.isnan(self._special):
            return self._special
        try:
            return self._finite / (count << _SCALE)  # Python rounds the quotient of two integers correctly
        except OverflowError:
            return math.inf if self._finite > 0 else -math.inf


class DecimalSum:
    """The sum of decimals, which has all of their digits, and their mean with four more, as in Spark.

    >>> total = DecimalSum()
    >>> total.add(pa.array([Decimal("0.10"), Decimal("-9.20")], pa.decimal128(4, 2)))
    >>> total.value(), total.mean(2)
    (Decimal('-9.10'), Decimal('-4.550000'))
    """

    def __init__(self) -> None:
        self._digits = 0
        self._scale = 0

    def add(self, values: pa.Array, weight: int = 1) -> None:
        """Add values that are not null."""
        high, low = decimal_words(values)
        lower = (int((low >> np.uint64(32)).sum()) << 32) + int((low & np.uint64(0xFFFFFFFF)).sum())
        upper = (int((high >> 32).sum()) << 32) + int((high & 0xFFFFFFFF).sum())
        self._digits += weight * ((upper << 64) + lower)
        self._scale = values.type.scale

    def value(self) -> Decimal:
        return Decimal(self._digits).scaleb(-self._scale, _DIGITS)

    def mean(self, count: int) -> Decimal:
        mean = _DIGITS.divide(self.value(), Decimal(count))
        return mean.quantize(Decimal(1).scaleb(-self._scale - 4), context=_DIGITS)


_DIGITS: Final = Context(prec=120, rounding=ROUND_HALF_UP)
