"""The MILV byte stream: a magic number, a version, then Avro's binary encoding without a container.

Numbers are zigzag varints, strings and bytes have their length in front, arrays (and maps, as arrays of
pairs) come in blocks of a count and that many items, closed by an empty block. The stream has no length and
no trailer: it ends where decoding does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from indextables.errors import CorruptTableError

T = TypeVar("T")

MAGIC: Final = 0x4D494C56
_MAX_VARINT_BYTES: Final = 10


class Encoder:
    def __init__(self) -> None:
        self._out = bytearray()

    def header(self, version: int) -> None:
        self.long(MAGIC)
        self.long(version)

    def long(self, value: int) -> None:
        rest = (value << 1) ^ (value >> 63)
        while rest > 0x7F:
            self._out.append((rest & 0x7F) | 0x80)
            rest >>= 7
        self._out.append(rest)

    def blob(self, value: bytes) -> None:
        self.long(len(value))
        self._out += value

    def string(self, value: str) -> None:
        # Paths are whatever bytes a file system gave: they pass through unharmed.
        self.blob(value.encode("utf-8", "surrogateescape"))

    def array(self, items: Sequence[T], write: Callable[[Encoder, T], None]) -> None:
        if items:
            self.long(len(items))
            for item in items:
                write(self, item)
        self.long(0)

    def to_bytes(self) -> bytes:
        return bytes(self._out)


class Decoder:
    """Reads what it is given with bounded work: no count or length is believed beyond the bytes that are left."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def header(self) -> int:
        if not self._raw:
            raise CorruptTableError("the manifest is empty")
        if self.long() != MAGIC:
            raise CorruptTableError("the bytes are not a manifest: they do not begin with its magic number")
        return self.long()

    def long(self) -> int:
        value = 0
        for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
            if self._at >= len(self._raw):
                raise self._truncated()
            byte = self._raw[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return _signed64((value >> 1) ^ -(value & 1))
        raise CorruptTableError(f"the manifest has a number of more than 64 bits at byte {self._at}")

    def blob(self) -> bytes:
        length = self.long()
        if length < 0 or length > len(self._raw) - self._at:
            raise self._truncated()
        start, self._at = self._at, self._at + length
        return self._raw[start : self._at]

    def string(self) -> str:
        return self.blob().decode("utf-8", "surrogateescape")

    def array(self, read: Callable[[Decoder], T]) -> list[T]:
        items: list[T] = []
        while count := self.long():
            if count < 0:  # a block that also gives its size in bytes, for readers that skip
                count = -count
                self.long()
            if count > len(self._raw) - self._at:  # every item takes a byte or more
                raise self._truncated()
            items.extend(read(self) for _ in range(count))
        return items

    def _truncated(self) -> CorruptTableError:
        return CorruptTableError(
            f"the manifest ends inside a value at byte {self._at} of {len(self._raw)}: truncated or damaged"
        )


def _signed64(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise CorruptTableError("the manifest has a number of more than 64 bits")
    return value
