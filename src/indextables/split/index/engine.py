"""Errors of the search engine, Tantivy, as errors of this package that name the split.

A damaged or crafted index can make any call into the engine fail. A failed assertion inside the engine is a panic,
which is a BaseException in Python, so that `except Exception` does not catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from indextables.config import keys
from indextables.errors import IndexTablesError, QueryError, StorageError
from indextables.split.container import Bundle
from indextables.storage import disk_error, system_error

P = ParamSpec("P")
R = TypeVar("R")

_FAILURES: Final = (ValueError, OSError, OverflowError)


class _OfSplit(Protocol):
    _bundle: Bundle


S = TypeVar("S", bound=_OfSplit)


def is_engine_failure(error: BaseException) -> bool:
    """Return True for an error that the engine raises: a built-in exception or a panic."""
    return isinstance(error, _FAILURES) or _is_panic(error)


def engine_errors(bundle: Bundle, what: str = "its index cannot be searched") -> AbstractContextManager[None]:
    """Raise a failure of the engine as an error of this package.

    QueryError if a pattern of the query is too broad or too complex for the engine, StorageError if the operating
    system failed, else CorruptTableError.
    """

    def translate(failure: BaseException) -> IndexTablesError:
        if "max expansions" in str(failure):
            return QueryError("a pattern in the query matches too many different words: make it longer")
        if "Invalid regex" in str(failure):
            return QueryError(f"a pattern in the query is too complex, use fewer wildcards: {failure}")
        cause = system_error(failure)
        if cause is not None:
            return disk_error("search", bundle.name, cause)
        return bundle.damaged(f"{what}: {failure}")

    return _translate_failures(translate)


def engine_call(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[S, P], R]:
    """Decorate a method that calls the engine, so that it raises errors of this package only."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with engine_errors(self._bundle):
            return method(self, *args, **named)

    return guarded


def building_errors(directory: Path) -> AbstractContextManager[None]:
    """Raise a failure to build an index in a directory as a StorageError."""

    def translate(failure: BaseException) -> IndexTablesError:
        cause = system_error(failure)
        if cause is not None:
            advice = f"or set {keys.TEMP_DIRECTORY.key} to another disk"
            return disk_error("build an index in", str(directory), cause, advice)
        return StorageError(f"cannot build an index in {directory}: {failure}")

    return _translate_failures(translate)


@contextmanager
def _translate_failures(translate: Callable[[BaseException], IndexTablesError]) -> Iterator[None]:
    """Raise what `translate` makes of a failure of the engine; let all other exceptions pass."""
    try:
        yield
    except IndexTablesError:
        raise
    except BaseException as failure:
        if not is_engine_failure(failure):
            raise
        raise translate(failure) from failure


def _is_panic(error: Any) -> bool:
    kind = type(error)
    return (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")
