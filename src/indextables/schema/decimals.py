"""Exact decimals: which values a type holds, and their digits as whole numbers, which sort like the values."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MAX_WORD_PRECISION: Final = 18
"""Decimals of up to so many digits fit a 64-bit integer."""

_WIDE: Final = Context(prec=400)
_MAX_DIGITS: Final = 300
"""A literal may have more digits than any type, but not so many that arithmetic with it takes long."""


def parse_decimal(text: str) -> Decimal:
    """Return a finite number, exactly. ValueError for other text.

    >>> parse_decimal("12.50"), parse_decimal("1e3")
    (Decimal('12.50'), Decimal('1E+3'))
    """
    if "_" in text or len(text) > _MAX_DIGITS:
        raise ValueError
    try:
        value = Decimal(text.strip())
    except ArithmeticError:
        raise ValueError from None
    if not value.is_finite() or abs(value.adjusted()) > _MAX_DIGITS:
        raise ValueError
    return value


def holds_decimal(value: Decimal, precision: int, scale: int) -> bool:
    """Return True if `decimal(precision,scale)` has this value.

    >>> holds_decimal(Decimal("1.50"), 3, 1), holds_decimal(Decimal("1.55"), 3, 1), holds_decimal(Decimal(100), 3, 1)
    (True, False, False)
    """
    if not value.is_finite() or abs(value.adjusted()) > _MAX_DIGITS:
        return False
    digits = value.scaleb(scale, _WIDE)
    return digits == digits.to_integral_value() and abs(digits) < 10**precision


def unscaled(value: Decimal, scale: int) -> int:
    """Return the digits of a value with `scale` digits after the point; more digits are rounded down.

    >>> unscaled(Decimal("1.5"), 2), unscaled(Decimal("-1.005"), 2)
    (150, -101)
    """
    return int(value.scaleb(scale, _WIDE).to_integral_value("ROUND_FLOOR"))


def decimal_words(values: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the upper and lower 64 bits of the digits of an Arrow array of decimals; those of nulls are arbitrary."""
    raw = np.frombuffer(values.buffers()[1] or b"", np.int64, 2 * (values.offset + len(values)))
    pairs = raw.reshape(-1, 2)[values.offset :]
    return pairs[:, 1], pairs[:, 0].view(np.uint64)
