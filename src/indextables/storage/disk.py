"""Failures of this machine's disk as errors of this package: the action, the reason, and what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from indextables.errors import IndexTablesError, StorageDeniedError, StorageError, StorageFullError

_KINDS: Final[dict[int, tuple[type[StorageError], str]]] = {
    errno.ENOSPC: (StorageFullError, "free space on that disk"),
    errno.EDQUOT: (StorageFullError, "free space there, or raise the quota of this user"),
    errno.EFBIG: (StorageFullError, "raise the limit on the size of files (ulimit -f)"),
    errno.EACCES: (StorageDeniedError, "grant this user access"),
    errno.EPERM: (StorageDeniedError, "grant this user access"),
    errno.EROFS: (StorageDeniedError, "the file system is mounted read-only"),
    errno.EMFILE: (StorageError, "raise the limit on open files (ulimit -n), or read fewer tables at a time"),
    errno.ENFILE: (StorageError, "the whole machine has too many open files"),
    errno.ENOTDIR: (StorageError, "a part of the path is a file; remove it or choose another path"),
    errno.ENOMEM: (StorageError, "free memory, or give this process more"),
}
_IN_TEXT: Final = re.compile(r"\b(?:os error|code:|errno) (\d+)\b", re.IGNORECASE)
"""The number of the system error in messages of libraries that raise no OSError."""


def disk_error(action: str, name: str, reason: OSError, advice: str = "") -> StorageError:
    """Return the error for `reason`, which ended `action` on `name`; `advice` is what else the user can do.

    >>> disk_error("write", "/data/x", OSError(errno.ENOSPC, "No space left on device"))
    StorageFullError('cannot write /data/x: No space left on device; free space on that disk')
    """
    failure = system_error(reason) or reason
    kind, remedy = _KINDS.get(failure.errno or 0, (StorageError, ""))
    details = "; ".join(part for part in (failure.strerror or str(failure), remedy, advice) if part)
    return kind(f"cannot {action} {name}: {details}")


@contextmanager
def disk_errors(action: str, name: str, advice: str = "") -> Iterator[None]:
    """Raise every OSError of the block as an error of this package."""
    try:
        yield
    except IndexTablesError:
        raise
    except OSError as reason:
        raise disk_error(action, name, reason, advice) from reason


def system_error(reason: BaseException) -> OSError | None:
    """Return the failed system call behind an error, if it is one that is no sign of damaged bytes. Else None.

    >>> system_error(ValueError("IoError { io_error: Os { code: 28, message: 'No space left on device' } }"))
    OSError(28, 'No space left on device')
    >>> system_error(ValueError("the index has no meta.json"))
    """
    if isinstance(reason, OSError) and reason.errno in _KINDS:
        return reason
    match = _IN_TEXT.search(str(reason))
    number = int(match[1]) if match else 0
    return OSError(number, os.strerror(number)) if number in _KINDS else None
