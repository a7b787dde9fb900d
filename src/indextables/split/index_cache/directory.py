"""The directory of the index cache: it belongs to this user, and no other user can write to it.

A cached index is opened without comparing it with its split. A user who could write to the cache could forge answers.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import ConfigError
from indextables.runtime import CacheSpec, current
from indextables.storage import disk_errors

ADVICE: Final = f"or set {keys.CACHE_DIRECTORY.key} to another disk"
_NAME: Final = "indextables"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

_OWN: Final = CacheSpec[str, Path]("directory of this process", entries=1, after_fork="drop")
"""Dropped after a fork: a forked child must not use or delete the directory of its parent."""


def cache_directory(settings: Settings) -> Path:
    """Return the directory of the cache, and create it if it does not exist.

    It is the one in the settings; else one in XDG_CACHE_HOME or ~/.cache; else, if there is no writable home, one in
    the temporary directory. If other users can write to the directory in the settings, the cache is a private directory
    inside it. ConfigError if another user owns a directory of that name there. If that happens in the temporary
    directory, which the user did not choose, this process uses a directory of its own.
    """
    configured = settings.get(keys.CACHE_DIRECTORY)
    if configured:
        return _private_directory(Path(configured))
    for candidate in _homes():
        if _is_private(candidate):
            return candidate
    return _of_this_process()


def _homes() -> Iterator[Path]:
    """Yield the directories to try without a setting, in order."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises if there is none
    if Path(cache_home).is_absolute():
        yield Path(cache_home) / _NAME
    elif home.is_absolute() and _owner(home) == os.geteuid():
        yield home / ".cache" / _NAME
    yield Path(tempfile.gettempdir()) / _private_name()


def _private_directory(directory: Path) -> Path:
    """Return the directory if it is private, else a private one inside it."""
    if _is_private(directory):
        return directory
    inner = directory / _private_name()
    if _is_private(inner):
        return inner
    with disk_errors("keep indexes in", str(inner), ADVICE):
        inner.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=inner):
            pass
    raise ConfigError(
        f"{inner} belongs to another user, or others may write to it, so that indexes in it cannot be trusted: "
        f"remove it, {ADVICE}"
    )


def _private_name() -> str:
    return f"{_NAME}-cache-{os.geteuid()}"


def _is_private(path: Path) -> bool:
    """Create the directory if needed, and return True if this user, and no other, can write to it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except OSError:
        return False
    is_ours = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
    return stat.S_ISDIR(status.st_mode) and is_ours and os.access(path, os.R_OK | os.W_OK | os.X_OK)


def _owner(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except OSError:
        return None


def _of_this_process() -> Path:
    return current().cache(_OWN).make_once("index cache", _make_own)


def _make_own() -> Path:
    with disk_errors("keep indexes in", tempfile.gettempdir(), ADVICE):
        path = Path(tempfile.mkdtemp(prefix=f"{_NAME}-cache-"))
    atexit.register(_remove_own, path, os.getpid())
    return path


def _remove_own(path: Path, process: int) -> None:
    """Delete the directory, unless this process is a forked child, which inherits the registered call."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
