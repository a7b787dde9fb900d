"""Version files as bytes: JSON lines, one action each, plain or compressed.

Written as raw gzip. Read as plain text, raw gzip, and gzip behind the two bytes 01 01 of an older writer.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from typing import Final

import orjson

from indextables.errors import CorruptTableError
from indextables.log.actions import Action
from indextables.log.fields import FieldError, from_document, to_document

MAX_INFLATED: Final = 512 << 20
"""A version file that inflates to more is refused: no honest one does, and a hostile one must not fill memory."""

_GZIP: Final = b"\x1f\x8b"
_OLD_PREFIX: Final = b"\x01\x01"
_CHUNK: Final = 1 << 20


def encode_version(actions: Iterable[Action], *, compress: bool = True, marked: bool = False) -> bytes:
    r"""The bytes of a version file; `marked`: gzip as older readers know it, behind 01 01.

    >>> from indextables.log.actions import Txn
    >>> encode_version([Txn("app", 3)], compress=False)
    b'{"txn":{"appId":"app","version":3}}\n'
    """
    text = b"".join(orjson.dumps(to_document(action), option=orjson.OPT_APPEND_NEWLINE) for action in actions)
    # No time in the header: equal actions give equal bytes.
    return (_OLD_PREFIX if marked else b"") + gzip.compress(text, 6, mtime=0) if compress else text


def decode_version(data: bytes, name: str, *, max_inflated: int = MAX_INFLATED) -> list[Action]:
    """The actions in file order. CorruptTableError names the file, and the line where there is one.

    >>> decode_version(b'{"add": 1}', "7.json")
    Traceback (most recent call last):
        ...
    indextables.errors.CorruptTableError: 7.json, line 1: add is not a JSON object
    """
    actions: list[Action] = []
    for number, line in enumerate(inflate(data, name, max_inflated).split(b"\n"), 1):
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
    """The first action alone, without inflating or parsing the rest; None if it does not fit into a chunk."""
    start = data.find(_GZIP, 0, len(_OLD_PREFIX) + len(_GZIP))
    try:
        head = data if start < 0 else zlib.decompressobj(wbits=31).decompress(data[start:], _CHUNK)
    except zlib.error as reason:
        raise CorruptTableError(f"{name}: damaged gzip stream ({reason})") from reason
    line, newline, _ = head.partition(b"\n")
    return next(iter(decode_version(line, name)), None) if newline else None


def inflate(data: bytes, name: str, limit: int) -> bytes:
    if data.startswith(_OLD_PREFIX):
        data = data[len(_OLD_PREFIX) :]
        if not data.startswith(_GZIP):
            raise CorruptTableError(f"{name}: no gzip stream after the compression mark 01 01")
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
                    raise CorruptTableError(f"{name}: inflates to more than {limit >> 20} MB")
                if not piece and not data and not member.eof:
                    raise CorruptTableError(f"{name}: the gzip stream is cut off")
                pieces.append(piece)
        except zlib.error as reason:
            raise CorruptTableError(f"{name}: damaged gzip stream ({reason})") from reason
        data = member.unused_data.lstrip(b"\0")  # zero padding after the last member is allowed
    return b"".join(pieces)
