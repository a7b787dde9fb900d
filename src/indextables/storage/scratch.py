"""Temporary directories of writers, and the removal of those that killed writers have left.

A directory holds a lock file, which its writer keeps locked while it lives. If another process can take the lock, the
writer is dead. Directories of older releases have no lock file: there only the age decides.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from indextables.config import Settings, keys
from indextables.storage.disk import disk_errors

SCRATCH_ADVICE: Final = f"or set {keys.TEMP_DIRECTORY.key} to another disk"
_PREFIX: Final = "indextables-scratch-"
_LEFTOVER: Final = re.compile(
    rf"{_PREFIX}[a-z0-9_]{{8}}|indextables-(?:columns-)?[a-z0-9_]{{8}}(?:\.jsonl|\.job)?"
)
_LOCK: Final = ".lock"
_STALE_SECONDS: Final = 24 * 3600


class ScratchDirectory:
    """A directory for files on their way into a table, deleted when it is closed."""

    def __init__(self, settings: Settings) -> None:
        parent = scratch_parent(settings)
        with disk_errors("make a temporary directory in", str(parent), SCRATCH_ADVICE):
            self._directory = tempfile.TemporaryDirectory(
                prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True
            )
            self.path = Path(self._directory.name)
            try:
                self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            except OSError:
                self.path.rmdir()  # needs no file descriptor, unlike `cleanup`, and there may be none left
                self._directory.cleanup()
                raise
            with contextlib.suppress(OSError):  # on a file system without locks the age decides
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_leftovers(settings)

    def cleanup(self) -> None:
        """Delete the directory. May be called more than once."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        with contextlib.suppress(OSError):
            self._directory.cleanup()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cleanup()


def scratch_parent(settings: Settings) -> Path:
    """Return the directory in which writers build splits."""
    return Path(settings.get(keys.TEMP_DIRECTORY) or tempfile.gettempdir())


def remove_leftovers(settings: Settings, seconds: float = _STALE_SECONDS) -> int:
    """Delete what killed writers of this user left in the temporary directory. Return how many entries were deleted.

    An entry is deleted if it was not changed for `seconds` and no living writer has locked it. Failures are ignored.
    """
    removed = 0
    for path in _leftovers(scratch_parent(settings), time.time() - seconds):
        with _if_dead(path) as is_dead:
            if is_dead:
                _remove(path)
                removed += not path.exists()
    return removed


def _leftovers(parent: Path, before: float) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not _LEFTOVER.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                is_ours = status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode)
                if is_ours and status.st_mtime < before:
                    yield Path(entry.path)


@contextlib.contextmanager
def _if_dead(path: Path) -> Iterator[bool]:
    """Yield True if no living writer owns the directory. The lock is held until the block ends."""
    try:
        fd = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
