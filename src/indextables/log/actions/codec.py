"""Version files as bytes: JSON lines, one action each, plain or compressed.

The writer produces raw gzip. The reader takes plain text, raw gzip, and gzip behind the two bytes 01 01 that an older
writer puts in front. If the text names a checksum, the reader verifies it (see `checksums`).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import orjson

from indextables.errors import CorruptTableError, InputError
from indextables.log.actions.bulk import decode_in_bulk
from indextables.log.actions.checksums import REPAIR_ADVICE, check_version, seal_version
from indextables.log.actions.fields import FieldError, from_document, to_document
from indextables.log.actions.model import Action

MAX_INFLATED: Final = 512 << 20
"""The largest text that is written or inflated, so that a small file cannot fill memory.

The original implementation has the same limit.
"""

MAX_STORED: Final = 1 << 30
"""A larger file is not read at all. This is the only limit for plain text, which is not inflated."""

_GZIP: Final = b"\x1f\x8b"
_OLD_PREFIX: Final = b"\x01\x01"
_CHUNK: Final = 1 << 20
_MANY_LINES: Final = 64
"""Shorter texts are decoded line by line: columns have a fixed cost."""


def max_text_bytes() -> int:
    """Return the size of the largest text that writers write and readers accept."""
    return MAX_INFLATED


def encode_text(actions: Iterable[Action]) -> bytes:
    r"""Return the text of a version file, one action a line.

    Raises InputError if JSON cannot represent a value.

    >>> from indextables.log.actions.model import Txn
    >>> encode_text([Txn("app", 3)])
    b'{"txn":{"appId":"app","version":3}}\n'
    """
    try:
        return b"".join(
            orjson.dumps(to_document(action), option=orjson.OPT_APPEND_NEWLINE) for action in actions
        )
    except orjson.JSONEncodeError as reason:
        raise InputError(f"an action cannot be written to the log: {reason}") from None


def group_by_text_size(actions: Iterable[Action], limit: int) -> Iterator[list[Action]]:
    """Yield the actions in groups whose texts have up to `limit` bytes; a larger action is a group of its own."""
    group: list[Action] = []
    size = 0
    for action in actions:
        length = len(encode_text([action]))
        if group and size + length > limit:
            yield group
            group, size = [], 0
        group.append(action)
        size += length
    if group:
        yield group


def pack(text: bytes, *, compress: bool = True, marked: bool = False) -> bytes:
    """Return the bytes to store for a text; `marked` puts 01 01 before the gzip, which older readers require."""
    # No time in the gzip header: equal actions give equal bytes.
    return (_OLD_PREFIX if marked else b"") + gzip.compress(text, 6, mtime=0) if compress else text


def encode_version(actions: Iterable[Action], *, compress: bool = True, marked: bool = False) -> bytes:
    """Return the bytes of a version file, with its checksum if the commitInfo at the start has a place for it."""
    text, _ = seal_version(encode_text(actions))
    return pack(text, compress=compress, marked=marked)


def decode_version(data: bytes, name: str, *, max_inflated: int | None = None) -> list[Action]:
    """Return the actions in file order.

    Raises CorruptTableError, which names the file and, if one line is at fault, that line.

    >>> decode_version(b'{"add": 1}', "7.json")
    Traceback (most recent call last):
        ...
    indextables.errors.CorruptTableError: 7.json, line 1: add is not a JSON object
    """
    return _parse(_checked_text(data, name, max_inflated), name)


def decode_parts(data: bytes, name: str) -> Sequence[Action]:
    """Return the actions of `decode_version`, or raise its errors, with many adds in a row as columns (see `bulk`)."""
    text = _checked_text(data, name)
    if len(text.split(b"\n", _MANY_LINES)) <= _MANY_LINES:
        return _parse(text, name)
    try:
        return decode_in_bulk(text)
    except (orjson.JSONDecodeError, FieldError):
        return _parse(text, name)  # to name the line, or because columns cannot hold a value


def _checked_text(data: bytes, name: str, max_inflated: int | None = None) -> bytes:
    if not data or data.isspace():
        # No writer produces an empty file, not even for a commit without actions: a crash truncated it.
        raise CorruptTableError(f"{name} is empty, so the actions of its commit are lost; {REPAIR_ADVICE}")
    text = inflate(data, name, MAX_INFLATED if max_inflated is None else max_inflated)
    check_version(text, name)
    return text


def _parse(text: bytes, name: str) -> list[Action]:
    actions: list[Action] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line or line.isspace():
            continue
        try:
            actions += from_document(orjson.loads(line))
        except orjson.JSONDecodeError as reason:
            raise CorruptTableError(f"{name}, line {number}: not valid JSON ({reason})") from reason
        except FieldError as reason:
            raise CorruptTableError(f"{name}, line {number}: {reason}") from None
    return actions


def first_action(data: bytes, name: str) -> Action | None:
    """Return the first action without inflating or parsing the others; None if it does not fit into one chunk."""
    start = data.find(_GZIP, 0, len(_OLD_PREFIX) + len(_GZIP))
    try:
        head = data if start < 0 else zlib.decompressobj(wbits=31).decompress(data[start:], _CHUNK)
    except zlib.error as reason:
        raise CorruptTableError(f"{name}: damaged gzip stream ({reason})") from reason
    line, newline, _ = head.partition(b"\n")
    return next(iter(_parse(line, name)), None) if newline else None


def inflate(data: bytes, name: str, limit: int) -> bytes:
    """Return the text of a stored file. Raises CorruptTableError if it is damaged or larger than `limit` bytes."""
    if data.startswith(_OLD_PREFIX):
        data = data[len(_OLD_PREFIX) :]
        if not data.startswith(_GZIP):
            raise CorruptTableError(
                f"{name}: no gzip stream follows the compression mark 01 01; {REPAIR_ADVICE}"
            )
    if not data.startswith(_GZIP):
        return data
    pieces: list[bytes] = []
    size = 0
    while data:  # a gzip file may hold several members
        member = zlib.decompressobj(wbits=31)
        try:
            while not member.eof:
                piece = member.decompress(data, _CHUNK)
                data = member.unconsumed_tail
                size += len(piece)
                if size > limit:
                    raise CorruptTableError(
                        f"{name}: inflates to more than {limit >> 20} MB, the limit of all readers"
                    )
                if not piece and not data and not member.eof:
                    raise CorruptTableError(f"{name}: the gzip stream is truncated; {REPAIR_ADVICE}")
                pieces.append(piece)
        except zlib.error as reason:
            raise CorruptTableError(f"{name}: damaged gzip stream ({reason})") from reason
        data = member.unused_data.lstrip(b"\0")  # zero padding after the last member is allowed
    return b"".join(pieces)
