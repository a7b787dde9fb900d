"""Files on the driver's disk that hold a command while its tasks run: JSON of plain values, for this user only.

The JVM sends the name of the file back in a request, and anyone who can write SQL can write a request (see
`spark.request`). So only a file of this kind and of this user is read. Its contents are checked by the job that it is
of.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from indextables.storage import disk_errors

MAX_BYTES: Final = 1 << 30
"""About eight million splits."""

_NAME: Final = re.compile(r"indextables-[a-z0-9_]+\.job")


def save(document: Mapping[str, Any]) -> str | None:
    """Write the file and return its name, or None if it would be too large."""
    contents = orjson.dumps(document)
    if len(contents) > MAX_BYTES:
        return None
    with disk_errors("save a job in", tempfile.gettempdir()):
        handle, path = tempfile.mkstemp(prefix="indextables-", suffix=".job")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(contents)
        except BaseException:
            Path(path).unlink()
            raise
    return path


def load(file: str) -> Any:
    """Return the document in a file. OSError or ValueError for any file that `save` did not write."""
    directory, name = os.path.split(file)
    if directory != os.path.abspath(tempfile.gettempdir()) or not _NAME.fullmatch(name):  # noqa: PTH100
        raise ValueError("a job is a file indextables-*.job in the temporary directory")
    # Do not follow a link to another file, and do not wait for a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(file, flags), "rb") as source:
        info = os.fstat(source.fileno())
        is_private = stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077 and info.st_nlink == 1
        if not is_private or info.st_uid != os.geteuid():
            raise ValueError("it is not a file that only this user can read and write")
        if info.st_size > MAX_BYTES:
            raise ValueError(f"it has {info.st_size} bytes; the maximum is {MAX_BYTES}")
        return orjson.loads(source.read(MAX_BYTES))


def remove(file: str) -> None:
    """Delete the file. Only for one that `load` has accepted."""
    Path(file).unlink(missing_ok=True)
