"""Avro's binary encoding of values: how numbers, text, lists and maps become bytes, and come back.

A reader takes the bytes and a place in them, and gives the value and the place behind it. The bytes may be
anybody's: no count and no length is believed beyond the bytes that are left, so the work is bounded by their
number. A reader that runs off the end raises IndexError or CorruptTableError; `codec` makes one of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

from indextables.errors import CorruptTableError, InputError

T = TypeVar("T")
Read: TypeAlias = Callable[[bytes, int], tuple[T, int]]
Write: TypeAlias = Callable[[bytearray, T], None]

_LIMIT: Final = 1 << 63
_LONGEST_SHIFT: Final = 63


def read_long(raw: bytes, at: int) -> tuple[int, int]:
    """A zigzag number of at most 64 bits.

    >>> read_long(bytes.fromhex("d804"), 0)
    (300, 2)
    """
    byte = raw[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    value, shift = byte & 0x7F, 7
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > _LONGEST_SHIFT:
            raise _too_long(at)
    if value >> 64:
        raise _too_long(at)
    return (value >> 1) ^ -(value & 1), at


def read_bytes(raw: bytes, at: int) -> tuple[bytes, int]:
    length, start = read_long(raw, at)
    end = start + length
    if length < 0 or end > len(raw):
        raise truncated(raw, at)
    return raw[start:end], end


def read_string(raw: bytes, at: int) -> tuple[str, int]:
    """Text as it is: bytes that are not UTF-8 survive as surrogates, and are written as they were."""
    length = raw[at]
    if length < 0x80 and not length & 1:  # nearly every string: shorter than 64 bytes
        start = at + 1
        end = start + (length >> 1)
        if end > len(raw):
            raise truncated(raw, at)
        return raw[start:end].decode("utf-8", "surrogateescape"), end
    value, end = read_bytes(raw, at)
    return value.decode("utf-8", "surrogateescape"), end


def array_of(read: Read[T]) -> Read[tuple[T, ...]]:
    """A list, in blocks of a count and that many items. An item has to take a byte or more."""

    def read_array(raw: bytes, at: int) -> tuple[tuple[T, ...], int]:
        items: list[T] = []
        append = items.append
        while True:
            count, at = read_block(raw, at)
            if not count:
                return tuple(items), at
            for _ in range(count):
                item, at = read(raw, at)
                append(item)

    return read_array


def map_of(read: Read[T]) -> Read[dict[str, T]]:
    """A map: as a list, of keys and values."""

    def read_map(raw: bytes, at: int) -> tuple[dict[str, T], int]:
        entries: dict[str, T] = {}
        while True:
            count, at = read_block(raw, at)
            if not count:
                return entries, at
            for _ in range(count):
                key, at = read_string(raw, at)
                entries[key], at = read(raw, at)

    return read_map


read_string_map: Final = map_of(read_string)


def read_block(raw: bytes, at: int) -> tuple[int, int]:
    """How many items the next block of a list or map has; none at its end."""
    count, at = read_long(raw, at)
    if count < 0:  # a block that also gives its size in bytes, for readers that skip it
        count = -count
        _, at = read_long(raw, at)
    if count > len(raw) - at:
        raise truncated(raw, at)
    return count, at


def write_long(out: bytearray, value: int) -> None:
    if 0 <= value < 64:
        out.append(value << 1)
        return
    if not -_LIMIT <= value < _LIMIT:
        raise InputError(f"a manifest cannot hold {value}: numbers have 64 bits")
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)


def write_bytes(out: bytearray, value: bytes) -> None:
    write_long(out, len(value))
    out += value


def write_string(out: bytearray, value: str) -> None:
    encoded = value.encode("utf-8", "surrogateescape")
    size = len(encoded)
    if size < 64:
        out.append(size << 1)
    else:
        write_long(out, size)
    out += encoded


def write_array(out: bytearray, items: Sequence[T], write: Write[T]) -> None:
    """One block with all items, as milvus-storage writes lists."""
    if items:
        write_long(out, len(items))
        for item in items:
            write(out, item)
    out.append(0)


def write_map(out: bytearray, entries: Iterable[tuple[str, T]], write: Write[T]) -> None:
    """The entries in the order given."""

    def write_entry(out: bytearray, entry: tuple[str, T]) -> None:
        write_string(out, entry[0])
        write(out, entry[1])

    write_array(out, list(entries), write_entry)


def truncated(raw: bytes, at: int) -> CorruptTableError:
    return CorruptTableError(
        f"the manifest ends inside a value at byte {at} of {len(raw)}: truncated or damaged"
    )


def _too_long(at: int) -> CorruptTableError:
    return CorruptTableError(f"the manifest has a number of more than 64 bits before byte {at}")
