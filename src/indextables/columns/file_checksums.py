"""Checksums of the files that hold rows, verified before a file format decodes a byte.

A file that is written here ends with sections that the file format knows nothing of, and its own footer:

    rows | page directory | checksums | footer

The checksums are the CRC-32s of the pieces of the rows that are read alone: the column chunks of Parquet, the blocks
of Vortex. Checksums and footer together are the tail. The manifest has the length and the CRC-32 of the tail in the
property `indextables.tail` of the file, and those of the page directory, which only Parquet files have, in
`indextables.pages`. One read verifies the footer, and returns the checksums of everything else.

Parquet and Vortex allow bytes that no offset points to, so that every other reader opens the file as before. For an
adopted file only the footer is known: its tail has no checksums in it. Files of earlier releases have no directory.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TAIL: Final = "indextables.tail"
PAGES: Final = "indextables.pages"
"""Properties of a file in a manifest: the length of a section, a colon, its CRC-32 in hexadecimal."""

_SECTION_TEXT: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{8})", re.ASCII)


@dataclass(frozen=True)
class Section:
    """Bytes near the end of a file: how many, and their CRC-32.

    >>> tail = Section.of(b"footer")
    >>> Section.stated({TAIL: tail.text()}, TAIL) == tail, tail.is_whole(b"f0oter")
    (True, False)
    """

    length: int
    crc32: int

    @classmethod
    def of(cls, data: bytes) -> Section:
        return cls(len(data), zlib.crc32(data))

    @classmethod
    def stated(cls, properties: Mapping[str, str], key: str) -> Section | None:
        """Return the section that a property of a file states, or None. Raises ValueError for any other text."""
        text = properties.get(key)
        if text is None:
            return None
        match = _SECTION_TEXT.fullmatch(text)
        if match is None:
            raise ValueError(
                f"its property {key} in the manifest is {text!r:.50}, not a length and a checksum"
            )
        return cls(int(match[1]), int(match[2], 16))

    def text(self) -> str:
        return f"{self.length}:{self.crc32:08x}"

    def is_whole(self, data: bytes) -> bool:
        return len(data) == self.length and zlib.crc32(data) == self.crc32


def add_sections(
    path: Path, footer_size: int, checksums: bytes, pages: bytes | None = None
) -> dict[str, str]:
    """Insert sections before the footer of a finished file; return the properties that state them."""
    with path.open("r+b") as file:
        file.seek(-footer_size, 2)
        at = file.tell()
        tail = checksums + file.read()
        file.seek(at)
        file.write((pages or b"") + tail)
    stated = {TAIL: Section.of(tail).text()}
    return stated if pages is None else {**stated, PAGES: Section.of(pages).text()}
