"""Avro's binary encoding: how numbers, bytes, text, arrays and maps become bytes, and back.

A reader takes the bytes and a position in them, and returns the value and the position after it. The bytes may come
from any writer: no count and no length is trusted beyond the bytes that remain, so the work is bounded by their number.
A reader that runs off the end raises IndexError or AvroError; `reading` turns both into an error that names the file.
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


class AvroError(ValueError):
    """Bytes or a schema that are not valid Avro. The message does not name the file: `reading` does."""


class reading:  # noqa: N801 - a context manager is used like a function
    """Turn what readers raise for damaged input into a CorruptTableError that begins with the name of the file."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, reason: BaseException | None, _trace: object) -> None:
        if isinstance(reason, IndexError):
            raise CorruptTableError(
                f"{self._name}: the bytes end inside a value: truncated or damaged"
            ) from None
        if isinstance(reason, AvroError):
            raise CorruptTableError(f"{self._name}: {reason}") from reason


def read_long(raw: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag number of at most 64 bits.

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
    """Read text as it is: bytes that are not UTF-8 become surrogates, and are written as they were."""
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
    """Return a reader of arrays, which are blocks of a count and that many items of at least one byte each."""

    def read_array(raw: bytes, at: int) -> tuple[tuple[T, ...], int]:
        items: list[T] = []
        append = items.append
        while True:
            count, at = read_block_count(raw, at)
            if not count:
                return tuple(items), at
            for _ in range(count):
                item, at = read(raw, at)
                append(item)

    return read_array


def map_of(read: Read[T]) -> Read[dict[str, T]]:
    """Return a reader of maps, which are arrays of keys and values."""

    def read_map(raw: bytes, at: int) -> tuple[dict[str, T], int]:
        entries: dict[str, T] = {}
        while True:
            count, at = read_block_count(raw, at)
            if not count:
                return entries, at
            for _ in range(count):
                key, at = read_string(raw, at)
                entries[key], at = read(raw, at)

    return read_map


read_string_map: Final = map_of(read_string)


def read_block_count(raw: bytes, at: int) -> tuple[int, int]:
    """Read how many items the next block of an array or map has; 0 at its end."""
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
        raise InputError(f"the number {value} does not fit into the 64 bits that Avro has for it")
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)


def encode_long(value: int) -> bytes:
    """Encode one number.

    >>> encode_long(-1).hex(), encode_long(300).hex()
    ('01', 'd804')
    """
    out = bytearray()
    write_long(out, value)
    return bytes(out)


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
    """Write one block with all items."""
    if items:
        write_long(out, len(items))
        for item in items:
            write(out, item)
    out.append(0)


def write_map(out: bytearray, entries: Iterable[tuple[str, T]], write: Write[T]) -> None:
    """Write the entries in the given order."""

    def write_entry(out: bytearray, entry: tuple[str, T]) -> None:
        write_string(out, entry[0])
        write(out, entry[1])

    write_array(out, list(entries), write_entry)


def truncated(raw: bytes, at: int) -> AvroError:
    return AvroError(f"the bytes end inside a value at byte {at} of {len(raw)}: truncated or damaged")


def _too_long(at: int) -> AvroError:
    return AvroError(f"a number of more than 64 bits before byte {at}")
