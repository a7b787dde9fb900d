"""Bloom filters: whether a column of a split may hold a value. "No" is certain, "yes" may be wrong.

A filter as bytes: `ITBF`, version 1, the number k of probes, then the bits, the first of a byte being its lowest.
Value h (see `hashing`) sets the bits (h mod 2^32 + i * (h div 2^32 | 1)) mod m for i below k, of m bits in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.schema import Field, TableSchema, Value
from indextables.stats.hashing import Hashes, hash_of, hashes_of

_MAGIC: Final = b"ITBF"
_VERSION: Final = 1
_HEADER: Final = len(_MAGIC) + 2
_MAX_PROBES: Final = 32
_MIN_BYTES: Final = 32
"""With fewer bytes, too many values would set the same bits: positions are hashes modulo the number of bits."""

_LOW: Final = np.uint64(0xFFFFFFFF)
_PENDING: Final = 1 << 20


@dataclass(frozen=True)
class BloomFilter:
    """The bits of a filter.

    >>> bloom = BloomFilter.of(hashes_of(pa.array(["a", "b"]), "string"), fpp=0.01)
    >>> bloom.has(hash_of("a", "string")), bloom.has(hash_of("z", "string"))
    (True, False)
    """

    probes: int
    bits: bytes

    @classmethod
    def of(cls, hashes: Hashes, fpp: float) -> BloomFilter:
        """Build the smallest filter of these hashes with at most that false positive probability."""
        count = len(hashes)
        if not count:
            return cls(1, b"\0")
        size = max(_MIN_BYTES, math.ceil(-count * math.log(fpp) / math.log(2) ** 2 / 8))
        probes = min(_MAX_PROBES, max(1, round(-math.log2(fpp))))
        mask: npt.NDArray[np.bool_] = np.zeros(size * 8, np.bool_)
        low, step = hashes & _LOW, (hashes >> np.uint64(32)) | np.uint64(1)
        for i in range(probes):
            mask[(low + np.uint64(i) * step) % np.uint64(size * 8)] = True
        return cls(probes, np.packbits(mask, bitorder="little").tobytes())

    def has(self, hashed: int) -> bool:
        low, step, size = hashed & 0xFFFFFFFF, hashed >> 32 | 1, len(self.bits) * 8
        places = ((low + i * step) % size for i in range(self.probes))
        return all(self.bits[place >> 3] >> (place & 7) & 1 for place in places)

    def to_bytes(self) -> bytes:
        return _MAGIC + bytes([_VERSION, self.probes]) + self.bits

    @classmethod
    def from_bytes(cls, data: bytes) -> BloomFilter | None:
        """Decode a filter; None for one of a later version. ValueError for bytes that are not a filter."""
        if data[: len(_MAGIC)] != _MAGIC or len(data) <= _HEADER:
            raise ValueError("not a Bloom filter")
        version, probes = data[len(_MAGIC) : _HEADER]
        if version != _VERSION:
            return None
        if not 1 <= probes <= _MAX_PROBES:
            raise ValueError(f"a Bloom filter with {probes} probes")
        return cls(probes, data[_HEADER:])


@dataclass(frozen=True)
class ColumnFilter:
    """A filter of the values of a column."""

    column: Field
    bloom: BloomFilter

    def may_contain(self, value: Value) -> bool:
        hashed = hash_of(value, self.column.type)
        return hashed is None or self.bloom.has(hashed)


class BloomCollector:
    """Collects the values of some columns batch by batch, and builds their filters at the end."""

    def __init__(self, schema: TableSchema, columns: Iterable[str], fpp: float) -> None:
        self._columns = [schema.field(name) for name in columns]
        self._fpp = fpp
        self._seen: dict[str, list[Hashes]] = {column.name: [] for column in self._columns}

    def add(self, batch: pa.RecordBatch) -> None:
        for column in self._columns:
            seen = self._seen[column.name]
            seen.append(hashes_of(batch.column(column.name), column.type))
            if sum(map(len, seen[1:])) > max(_PENDING, len(seen[0])):
                seen[:] = [
                    np.unique(np.concatenate(seen))
                ]  # what is kept grows with the distinct values only

    def filters(self) -> dict[str, BloomFilter]:
        return {name: BloomFilter.of(_distinct(seen), self._fpp) for name, seen in self._seen.items()}


def _distinct(parts: list[Hashes]) -> Hashes:
    """Return each hash once. Sorting is several times as fast as numpy's `unique`, which hashes them again."""
    in_order: Hashes = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))
    return in_order[np.concatenate([[True], in_order[1:] != in_order[:-1]])] if len(in_order) else in_order
