"""Checksums of the files that hold rows, checked before a file format decodes a byte.

A file that is written here ends with its tail: the CRC-32s of the pieces before it, which are read alone, and the
format's own footer. The checksums lie where Parquet and Vortex allow bytes that no offset points to, so that every
other reader opens the file as before. The manifest has the length and the CRC-32 of the tail, in the property
`indextables.tail` of the file. One read of the tail thus checks the footer, and gives the checksums of everything else.

For an adopted file only the footer is known: its tail has no checksums in it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TAIL: Final = "indextables.tail"
"""The property of a file in a manifest: the length of the tail, a colon, its CRC-32 in hexadecimal."""

_TAIL_TEXT: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{8})", re.ASCII)


@dataclass(frozen=True)
class Tail:
    """The last bytes of a file: how many, and what they must sum to.

    >>> tail = Tail.of(b"footer")
    >>> Tail.stated({TAIL: tail.text()}) == tail, tail.is_whole(b"f0oter")
    (True, False)
    """

    length: int
    crc32: int

    @classmethod
    def of(cls, data: bytes) -> Tail:
        return cls(len(data), zlib.crc32(data))

    @classmethod
    def stated(cls, properties: Mapping[str, str]) -> Tail | None:
        """Return the tail that the properties of a file state, or None. Raise ValueError for one that is not a tail."""
        text = properties.get(TAIL)
        if text is None:
            return None
        match = _TAIL_TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"the manifest has {text!r:.50} for the length and checksum of its tail")
        return cls(int(match[1]), int(match[2], 16))

    def text(self) -> str:
        return f"{self.length}:{self.crc32:08x}"

    def is_whole(self, data: bytes) -> bool:
        return len(data) == self.length and zlib.crc32(data) == self.crc32


def seal(path: Path, checksums: bytes, footer_size: int) -> Tail:
    """Insert the checksums of a finished file before its last `footer_size` bytes; return the tail that it has then."""
    with path.open("r+b") as file:
        file.seek(-footer_size, 2)
        at = file.tell()
        tail = checksums + file.read()
        file.seek(at)
        file.write(tail)
    return Tail.of(tail)
