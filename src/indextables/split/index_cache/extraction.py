"""The index members of a bundle as files of a directory, checked on the way: Tantivy opens directories only.

Splits of ours carry the checksums of their members. In others each file of a segment ends in Tantivy's footer, which
has one that Tantivy itself does not look at when it opens the file:

    [content][JSON with "crc"][length of the JSON u32][magic u32]
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import orjson

from indextables.split.container import Bundle, Member
from indextables.split.index_cache import document_store_check, fast_field_check

_INDEX_MEMBER: Final = re.compile(r"meta\.json|\.managed\.json|[0-9a-f]{32}\.[a-z0-9.]+")
_WINDOW_BYTES: Final = 32 << 20
_FOOTER_END: Final = struct.Struct("<II")
_FOOTER_MAGIC: Final = 1337


def extract_members(bundle: Bundle, directory: Path, *, documents: bool) -> dict[str, int]:
    """Write the files of the index, and return the CRC-32 of each; without `documents`, none are stored."""
    members = sorted(
        (member for member in bundle.members.values() if _INDEX_MEMBER.fullmatch(member.name)),
        key=lambda member: member.offset,
    )
    if not members:
        raise bundle.damaged("it has no index")
    window = _Window(bundle, members[-1].offset + members[-1].length)
    checksums = {}
    for member in members:
        checksums[member.name] = _extract_member(bundle, member, window, directory / member.name)
        if member.crc32 is None and not member.name.endswith(".json"):
            _check_footer(bundle, member, directory / member.name)
        if member.name.endswith(fast_field_check.SUFFIX):
            _check_lengths(bundle, directory / member.name, fast_field_check.check_fast_fields)
        if member.name.endswith(document_store_check.SUFFIX):
            if documents:
                _check_lengths(bundle, directory / member.name, document_store_check.check_store)
            else:
                checksums[member.name] = _without_documents(directory / member.name)
    return checksums


def _check_lengths(bundle: Bundle, path: Path, check: Callable[[Path], None]) -> None:
    """The engine ends the process when it does not get the memory that a length asks for."""
    try:
        check(path)
    except ValueError as reason:
        raise bundle.damaged(f"{path.name!r} cannot be read: {reason}") from reason


def _without_documents(path: Path) -> int:
    raw = document_store_check.empty_store()
    path.write_bytes(raw)
    return zlib.crc32(raw)


def _extract_member(bundle: Bundle, member: Member, window: _Window, target: Path) -> int:
    crc, done = 0, 0
    with target.open("wb") as out:
        while done < member.length:
            piece = window.read(member.offset + done, member.length - done)
            out.write(piece)
            crc = zlib.crc32(piece, crc)
            done += len(piece)
    if member.crc32 is not None and crc != member.crc32:
        raise bundle.damaged(f"the checksum of {member.name!r} is wrong")
    return crc


def _check_footer(bundle: Bundle, member: Member, path: Path) -> None:
    with path.open("rb") as file:
        try:
            file.seek(-_FOOTER_END.size, 2)
            length, magic = _FOOTER_END.unpack(file.read())
            content = member.length - _FOOTER_END.size - length
            file.seek(content)
            wanted = orjson.loads(file.read(length))["crc"]
        except (OSError, ValueError, KeyError, TypeError) as reason:
            raise bundle.damaged(f"{member.name!r} does not end as a file of an index does") from reason
        file.seek(0)
        crc, left = 0, content
        while piece := file.read(min(left, _WINDOW_BYTES)):
            crc, left = zlib.crc32(piece, crc), left - len(piece)
    if magic != _FOOTER_MAGIC or crc != wanted:
        raise bundle.damaged(f"the checksum of {member.name!r} is wrong")


class _Window:
    """Reads ahead: the members of an index lie side by side, and a store answers few large requests best."""

    def __init__(self, bundle: Bundle, end: int) -> None:
        self._bundle = bundle
        self._end = end
        self._start = 0
        self._data = memoryview(b"")

    def read(self, offset: int, length: int) -> memoryview:
        """Bytes from `offset`: up to `length` of them, at least one."""
        at = offset - self._start
        if not 0 <= at < len(self._data):
            fetched = self._bundle.range(offset, min(_WINDOW_BYTES, self._end - offset))
            self._start, self._data, at = offset, memoryview(fetched), 0
        return self._data[at : at + length]
