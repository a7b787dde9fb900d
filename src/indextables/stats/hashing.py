"""Values as 64-bit hashes, equal for all values that compare as equal. They are stored in files: never change them.

integers, booleans       the value as 64 bits
dates, timestamps        days, microseconds since 1970 as 64 bits
floats                   the 64-bit float's bits; -0.0 as 0.0, every NaN as one
                         -> all of these through the finaliser of SplitMix64
decimals                 as the text with all digits of their scale, like a string
strings, binary          BLAKE2b of the (UTF-8) bytes, 8 bytes long, read as little-endian
"""

from __future__ import annotations

import hashlib
import math
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.runtime import EPOCH_DAY
from indextables.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    MAX_PRECISION,
    TIME_TYPES,
    Value,
    decimal_size,
    holds_decimal,
    micros,
    unscaled,
)

Hashes: TypeAlias = "npt.NDArray[np.uint64]"

_INT64: Final = range(-(1 << 63), 1 << 63)


def hashes_of(values: pa.Array, kind: str) -> Hashes:
    """Hash the distinct values of a column of that type; nulls are left out."""
    values = pc.unique(pc.drop_null(values))
    if kind in ("string", "binary"):
        digests = b"".join(_digest(value) for value in values.cast(pa.binary()).to_pylist())
        return np.frombuffer(digests, "<u8").astype(np.uint64)
    if kind in FLOAT_TYPES:
        floats = np.asarray(values.cast(pa.float64()), np.float64) + 0.0  # the two zeros are equal
        return _mix(np.where(np.isnan(floats), np.nan, floats).view(np.uint64))
    if decimal_size(kind) is not None:
        texts = (format(value, "f").encode() for value in values.to_pylist())
        return np.frombuffer(b"".join(map(_digest, texts)), "<u8").astype(np.uint64)
    if kind == "date":
        values = values.cast(pa.int32())
    elif kind == "boolean":
        values = values.cast(pa.int8())
    return _mix(np.asarray(values.cast(pa.int64()), np.int64).view(np.uint64))


def hash_of(value: Value, kind: str) -> int | None:
    """Hash a literal that a column of that type is compared with; None for a literal of another type.

    >>> hash_of(7, "long") in hashes_of(pa.array([7], pa.int8()), "byte").tolist()
    True
    >>> hash_of("7", "long") is None
    True
    """
    if kind in ("string", "binary"):
        data = _bytes(value, kind)
        return None if data is None else int.from_bytes(_digest(data), "little")
    if (size := decimal_size(kind)) is not None:
        if not isinstance(value, Decimal) or not holds_decimal(value, *size):
            return None
        digits = Decimal(unscaled(value, size[1])).scaleb(-size[1], Context(prec=2 * MAX_PRECISION))
        return int.from_bytes(_digest(format(digits, "f").encode()), "little")
    number = _number(value, kind)
    return None if number is None else int(_mix(np.array([number]).view(np.uint64))[0])


def _bytes(value: Value, kind: str) -> bytes | None:
    if kind == "binary":
        return value if isinstance(value, bytes) else None
    try:
        return value.encode() if isinstance(value, str) else None
    except UnicodeEncodeError:  # a lone surrogate, which no column holds: left to evaluation
        return None


def _number(value: Value, kind: str) -> np.int64 | np.float64 | None:
    if kind == "boolean":
        return np.int64(value) if isinstance(value, bool) else None
    if kind == "date":
        if not isinstance(value, date) or isinstance(value, datetime):
            return None
        return np.int64((value - EPOCH_DAY).days)
    if kind in TIME_TYPES:
        is_alike = isinstance(value, datetime) and (value.tzinfo is None) == (kind == "timestamp_ntz")
        return np.int64(micros(value)) if is_alike else None  # type: ignore[arg-type]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind in FLOAT_TYPES:
        return _float(value)
    return np.int64(value) if kind in INTEGER_TYPES and isinstance(value, int) and value in _INT64 else None


def _float(value: float) -> np.float64 | None:
    try:
        number = float(value) + 0.0
    except OverflowError:
        return None
    return np.float64(math.nan if math.isnan(number) else number)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def _mix(bits: Hashes) -> Hashes:
    mixed = bits + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
