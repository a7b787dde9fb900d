"""The record of a cache entry's files, which reveals changes after the extraction.

It has size, modification time, change time, inode and CRC-32 of each file. If all but the checksum are unchanged, the
file is taken to be unchanged. Otherwise, as in a copy of the cache or after a file was touched, its content is read
once and compared with the checksum. The modification time of the record itself is when the entry was last used.
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
    """Write the record of the files in a directory. Return the sum of their sizes."""
    files = {name: [*_stamp((directory / name).lstat()), crc] for name, crc in checksums.items()}
    size = sum(length for length, *_ in files.values())
    # Other processes may read the record at the same time. They see the old one or the new one, because it is written
    # under another name and then renamed.
    fresh = directory / f"{RECORD}-{new_id().hex}"
    fresh.write_bytes(orjson.dumps({"size": size, "files": files}))
    fresh.replace(directory / RECORD)
    return size


def recorded_size(directory: Path) -> int:
    """Return the size of an entry from its record. ValueError or OSError if the record cannot be read."""
    try:
        return int(orjson.loads((directory / RECORD).read_bytes())["size"])
    except (KeyError, TypeError) as reason:
        raise ValueError(f"{directory} has a record without a size") from reason


def is_unchanged(directory: Path) -> bool:
    """Return True if the files of a directory are those of its record.

    FileNotFoundError if the directory, its record or one of the files does not exist.
    """
    try:
        if not stat.S_ISREG((directory / RECORD).lstat().st_mode):
            return False
        files = orjson.loads((directory / RECORD).read_bytes())["files"]
        checksums: dict[str, int] = {}
        touched: list[str] = []
        for name, (size, modified, changed, inode, crc) in files.items():
            status = (directory / name).lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size != size:
                return False
            checksums[name] = crc
            if _stamp(status) != [size, modified, changed, inode]:
                touched.append(name)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    if any(checksum(directory / name) != checksums[name] for name in touched):
        return False
    if touched:
        with contextlib.suppress(OSError):
            record_files(directory, checksums)
    return bool(checksums)


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
