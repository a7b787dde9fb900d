"""The record of what is in an entry of the cache, by which a change after the extraction is noticed.

For each file: size, time of change, inode and CRC-32. Where all but the checksum are as they were, the file is taken to
be the same; a copy of the cache, or a file that was only touched, is read once to see that its content is. The time of
change of the record itself is when the entry was used last.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import orjson

from indextables.runtime import new_id

RECORD: Final = ".files"
_PIECE_BYTES: Final = 1 << 20


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            crc = zlib.crc32(piece, crc)
    return crc


def record_files(directory: Path, checksums: Mapping[str, int]) -> int:
    """Write the record of a directory that holds these files now. Return the sum of their sizes."""
    files = {name: [*_stamp((directory / name).lstat()), crc] for name, crc in checksums.items()}
    size = sum(length for length, *_ in files.values())
    # Under another name first: other processes may be reading the record.
    fresh = directory / f"{RECORD}-{new_id().hex}"
    fresh.write_bytes(orjson.dumps({"size": size, "files": files}))
    fresh.replace(directory / RECORD)
    return size


def recorded_size(directory: Path) -> int:
    """Return the size of an entry. ValueError or OSError if its record cannot be read."""
    try:
        return int(orjson.loads((directory / RECORD).read_bytes())["size"])
    except (KeyError, TypeError) as reason:
        raise ValueError(f"{directory} has a record without a size") from reason


def is_unchanged(directory: Path) -> bool:
    """Whether the directory holds what its record says. FileNotFoundError if it or its record is not there."""
    try:
        if not stat.S_ISREG((directory / RECORD).lstat().st_mode):
            return False
        files = orjson.loads((directory / RECORD).read_bytes())["files"]
        known: dict[str, int] = {}
        doubtful: list[str] = []
        for name, (size, modified, changed, inode, crc) in files.items():
            status = (directory / name).lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size != size:
                return False
            known[name] = crc
            if _stamp(status) != [size, modified, changed, inode]:
                doubtful.append(name)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    if any(checksum(directory / name) != known[name] for name in doubtful):
        return False
    if doubtful:
        with contextlib.suppress(OSError):
            record_files(directory, known)
    return bool(known)


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
