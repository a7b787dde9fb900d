"""Calls into the engine: whatever a damaged or hostile index makes of them, the caller learns which split it is in.

A failed check inside the engine is a panic, which Python sees as a BaseException that `except Exception` lets pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from indextables.config import keys
from indextables.errors import IndexTablesError, QueryError, StorageError
from indextables.split.container.bundle import Bundle
from indextables.storage.disk import disk_error, system_error

P = ParamSpec("P")
R = TypeVar("R")

_FAILURES: Final = (ValueError, OSError, OverflowError)


class _OfSplit(Protocol):
    _bundle: Bundle


S = TypeVar("S", bound=_OfSplit)


def is_engine_failure(error: BaseException) -> bool:
    """Whether an error is one that the engine raises: an error of Python's own kinds, or a panic."""
    return isinstance(error, _FAILURES) or _is_panic(error)


@contextmanager
def engine_errors(bundle: Bundle, what: str = "its index cannot be searched") -> Iterator[None]:
    """Raise every failure of the engine as an error of this package: CorruptTableError, unless the system failed."""
    try:
        yield
    except IndexTablesError:
        raise
    except BaseException as reason:
        if not is_engine_failure(reason):
            raise
        if "max expansions" in str(reason):
            raise QueryError(
                "a pattern in the query fits too many different words: make it longer"
            ) from reason
        if "Invalid regex" in str(reason):
            raise QueryError(f"a pattern in the query is too complex: {reason}") from reason
        failed = system_error(reason)
        if failed is not None:
            raise disk_error("search", bundle.name, failed) from reason
        raise bundle.damaged(f"{what}: {reason}") from reason


def engine_call(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[S, P], R]:
    """Make a method that uses the engine raise errors of this package only."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with engine_errors(self._bundle):
            return method(self, *args, **named)

    return guarded


@contextmanager
def building_errors(directory: Path) -> Iterator[None]:
    """Raise every failure to build an index in a directory as a StorageError."""
    advice = f"or set {keys.TEMP_DIRECTORY.key} to another disk"
    try:
        yield
    except IndexTablesError:
        raise
    except BaseException as reason:
        if not is_engine_failure(reason):
            raise
        failed = system_error(reason)
        if failed is not None:
            raise disk_error("build an index in", str(directory), failed, advice) from reason
        raise StorageError(f"cannot build an index in {directory}: {reason}") from reason


def _is_panic(error: Any) -> bool:
    kind = type(error)
    return (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")
