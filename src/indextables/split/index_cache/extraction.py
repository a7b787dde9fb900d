"""Extracting the index of a split into a directory, and verifying it: Tantivy opens directories only.

Splits that this package wrote have the checksums of their members. In splits of other writers, each file of a segment
ends with Tantivy's footer, whose checksum Tantivy does not verify when it opens the file:

    [content][JSON with "crc"][length of the JSON u32][magic u32]
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import orjson
import pyarrow as pa

from indextables.split.container import Bundle, Member
from indextables.split.index_cache import document_store_check, fast_field_check

_INDEX_MEMBER: Final = re.compile(r"meta\.json|\.managed\.json|[0-9a-f]{32}\.[a-z0-9.]+")
_WINDOW_BYTES: Final = 32 << 20
_FOOTER_END: Final = struct.Struct("<II")
_FOOTER_MAGIC: Final = 1337


def extract_members(bundle: Bundle, directory: Path, *, documents: bool) -> dict[str, int]:
    """Write the files of the index, and return the CRC-32 of each.

    Without `documents`, the file of stored documents is replaced by an empty one. CorruptTableError if a file is
    damaged.
    """
    members = _index_members(bundle)
    if not members:
        raise bundle.damaged("it has no index: no member is a file of one")
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
                checksums[member.name] = _write_empty_store(directory / member.name)
    return checksums


def index_bytes(bundle: Bundle) -> int:
    """Return the size of the files of the index, extracted with their documents."""
    return sum(member.content_length for member in _index_members(bundle))


def _index_members(bundle: Bundle) -> list[Member]:
    """Return the files of the index, in their order in the split."""
    members = (member for member in bundle.members.values() if _INDEX_MEMBER.fullmatch(member.name))
    return sorted(members, key=lambda member: member.offset)


def verify_members(bundle: Bundle) -> None:
    """Read all members that have a checksum. CorruptTableError if one is wrong."""
    window = _Window(bundle, bundle.size)
    for member in sorted(bundle.members.values(), key=lambda member: member.offset):
        crc = done = 0
        while member.crc32 is not None and done < member.length:
            piece = window.read(member.offset + done, member.length - done)
            done, crc = done + len(piece), zlib.crc32(piece, crc)
        if member.crc32 is not None and crc != member.crc32:
            raise bundle.damaged(f"the checksum of {member.name!r} is wrong")


def _check_lengths(bundle: Bundle, path: Path, check: Callable[[Path], None]) -> None:
    """Check the lengths in a file: the engine aborts the process if it cannot allocate as much as one claims."""
    try:
        check(path)
    except ValueError as reason:
        raise bundle.damaged(f"{path.name!r} cannot be read: {reason}") from reason


def _write_empty_store(path: Path) -> int:
    raw = document_store_check.empty_store()
    path.write_bytes(raw)
    return zlib.crc32(raw)


def _extract_member(bundle: Bundle, member: Member, window: _Window, target: Path) -> int:
    """Write the content of a member to a file, verify its checksum if the split has one, and return the CRC-32."""
    crc = 0
    expected = member.crc32 if member.frames is None else member.frames.crc32
    with target.open("wb") as out:
        for piece in _content(bundle, member, window):
            out.write(piece)
            crc = zlib.crc32(piece, crc)
    if expected is not None and crc != expected:
        raise bundle.damaged(f"the checksum of {member.name!r} is wrong")
    return crc


def _content(bundle: Bundle, member: Member, window: _Window) -> Iterator[memoryview | pa.Buffer]:
    """Yield the content of a member in pieces."""
    if member.frames is not None:
        for start, length, size in member.frames:
            yield bundle.frame(member, window.read_whole(member.offset + start, length), size)
        return
    done = 0
    while done < member.length:
        piece = window.read(member.offset + done, member.length - done)
        done += len(piece)
        yield piece


def _check_footer(bundle: Bundle, member: Member, path: Path) -> None:
    """Verify the checksum in Tantivy's footer."""
    with path.open("rb") as file:
        try:
            file.seek(-_FOOTER_END.size, 2)
            length, magic = _FOOTER_END.unpack(file.read())
            content = member.length - _FOOTER_END.size - length
            file.seek(content)
            expected = orjson.loads(file.read(length))["crc"]
        except (OSError, ValueError, KeyError, TypeError) as reason:
            raise bundle.damaged(f"{member.name!r} has no valid footer of an index file") from reason
        file.seek(0)
        crc, remaining = 0, content
        while piece := file.read(min(remaining, _WINDOW_BYTES)):
            crc, remaining = zlib.crc32(piece, crc), remaining - len(piece)
    if magic != _FOOTER_MAGIC or crc != expected:
        raise bundle.damaged(f"the checksum of {member.name!r} is wrong")


class _Window:
    """Reads ahead: the members of an index are adjacent, and stores are fastest with few large requests."""

    def __init__(self, bundle: Bundle, end: int) -> None:
        self._bundle = bundle
        self._end = end
        self._start = 0
        self._data = memoryview(b"")

    def read(self, offset: int, length: int) -> memoryview:
        """Return bytes from `offset` on: at most `length`, at least one."""
        at = offset - self._start
        if not 0 <= at < len(self._data):
            fetched = self._bundle.range(offset, min(_WINDOW_BYTES, self._end - offset))
            self._start, self._data, at = offset, memoryview(fetched), 0
        return self._data[at : at + length]

    def read_whole(self, offset: int, length: int) -> memoryview | bytes:
        """Return all bytes of a range, which must be short."""
        first = self.read(offset, length)
        if len(first) == length:
            return first
        return bytes(first) + self.read_whole(offset + len(first), length - len(first))
