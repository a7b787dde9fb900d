"""The part of Thrift's compact protocol that Parquet's page headers and footers need.

Damaged bytes raise ValueError or IndexError, in time that is bounded by their number.

A struct is fields of a header byte (distance to the last field id, and a type) and a value, closed by a zero byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

BOOLEANS: Final = (1, 2)  # their value is in the type
BYTE: Final = 3
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LISTS: Final = (9, 10)  # and sets
STRUCT: Final = 12

_VARINTS: Final = (4, I32, I64)
_LONGEST_VARINT: Final = 10
_DEEPEST: Final = 64


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return an unsigned number and where it ends."""
    value = shift = 0
    for _ in range(_LONGEST_VARINT):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a Thrift number of more than 64 bits")


def read_number(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return a signed number and where it ends."""
    value, at = read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def read_field(data: bytes | memoryview, at: int, last_id: int) -> tuple[int, int, int]:
    """Return the id and type of a struct's next field and where its value begins; type 0 at the end of the struct."""
    header = data[at]
    at += 1
    if not header:
        return last_id, 0, at
    if header >> 4:
        return last_id + (header >> 4), header & 15, at
    field_id, at = read_number(data, at)
    return field_id, header & 15, at


def read_list(data: bytes | memoryview, at: int) -> tuple[int, int, int]:
    """Return the number of items of a list, their type, and where the first one begins."""
    header = data[at]
    at += 1
    count = header >> 4
    if count == 15:
        count, at = read_varint(data, at)
    if count > len(data) - at:  # an item takes a byte at least
        raise ValueError(f"a Thrift list of {count} items in {len(data) - at} bytes")
    return count, header & 15, at


def read_binary(data: bytes | memoryview, at: int) -> tuple[bytes, int]:
    """Return the bytes of a string and where they end."""
    length, at = read_varint(data, at)
    if length > len(data) - at:
        raise ValueError(f"a Thrift string of {length} bytes in {len(data) - at} bytes")
    return bytes(data[at : at + length]), at + length


def skip(data: bytes | memoryview, at: int, kind: int, depth: int = 0) -> int:
    """Return where the value ends that begins at `at`."""
    if depth > _DEEPEST:
        raise ValueError(f"Thrift values nested more than {_DEEPEST} deep")
    if kind in BOOLEANS:
        return at
    if kind == BYTE:
        return at + 1
    if kind in _VARINTS:
        return read_varint(data, at)[1]
    if kind == DOUBLE:
        return at + 8
    if kind == BINARY:
        length, at = read_varint(data, at)
        return at + length
    if kind in LISTS:
        count, of, at = read_list(data, at)
        for _ in range(count):
            at = at + 1 if of in BOOLEANS else skip(data, at, of, depth + 1)
        return at
    if kind == STRUCT:
        field_id = 0
        while True:
            field_id, of, at = read_field(data, at, field_id)
            if not of:
                return at
            at = skip(data, at, of, depth + 1)
    raise ValueError(f"a Thrift value of unknown type {kind}")


class StructFields:
    """The fields of the struct at `at`, as pairs of id and type; `at` moves on with them.

    While a field is current, its value begins at `at`. A caller that reads the value sets `at` to its end. Iteration
    skips every other value. When it has ended, `at` is the end of the struct.
    """

    def __init__(self, data: bytes | memoryview, at: int, last_id: int = 0) -> None:
        self._data, self._last_id = data, last_id
        self.at = at

    def __iter__(self) -> Iterator[tuple[int, int]]:
        field_id = self._last_id
        while True:
            field_id, kind, start = read_field(self._data, self.at, field_id)
            self.at = start
            if not kind:
                return
            yield field_id, kind
            if self.at == start:
                self.skip(kind)

    def skip(self, kind: int) -> int:
        """Skip the current value, which has this type; return where it ends."""
        self.at = skip(self._data, self.at, kind)
        return self.at


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 63))


def struct_list(items: list[bytes]) -> bytes:
    """Encode a list of structs, each of which is encoded already."""
    return _list_header(len(items), STRUCT) + b"".join(items)


def binary_list(items: list[bytes]) -> bytes:
    """Encode a list of strings."""
    return _list_header(len(items), BINARY) + b"".join(varint(len(item)) + item for item in items)


def _list_header(count: int, kind: int) -> bytes:
    return bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)
