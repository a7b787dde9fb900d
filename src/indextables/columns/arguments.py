"""Checks of arguments: a value of another type raises an InputError that says what is expected.

Without them, a mistake is an AttributeError in the middle of a write, or a text is taken for the list of its letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.columns.manifest import ColumnGroup, DeltaLogType
from indextables.errors import InputError
from indextables.rows import RowIds


def expect(value: object, kind: type | tuple[type, ...], name: str, expected: str) -> None:
    """Raise InputError unless the value is of this kind. A bool is not a number.

    >>> expect("3", int, "retry_limit", "an int")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: retry_limit is '3'; it takes an int
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise _misfit(value, name, expected)


def names(values: Any, name: str, *, one: bool = False) -> tuple[str, ...]:
    """Return a sequence of texts as it is. A single text is one name if `one` is allowed, and not its letters.

    >>> names("id", "columns")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: columns is 'id'; it takes a list of names: ['id']
    """
    if isinstance(values, str):
        if one:
            return (values,)
        raise _misfit(values, name, f"a list of names: [{values!r}]")
    items = _items(values, name, "a list of names")
    for item in items:
        if not isinstance(item, str):
            raise _misfit(values, name, "a list of names")
    return items


def column_groups(values: Any) -> tuple[ColumnGroup, ...]:
    """Return column groups, given as one or several."""
    if isinstance(values, ColumnGroup):
        return (values,)
    expected = "a Manifest or a list of ColumnGroup, such as Writer.close() returns"
    groups = _items(values, "the source of rows", expected)
    for item in groups:
        expect(item, ColumnGroup, "a column group", "a ColumnGroup, such as Writer.close() returns")
    return groups


def check_files(groups: Iterable[ColumnGroup]) -> None:
    """Raise InputError for a file without a path, or with a range of rows that ends before it begins."""
    for group in groups:
        for file in group.files:
            if not file.path:
                raise InputError(f"a file of column group {group.columns} has no path")
            if file.end_index < file.start_index:
                raise InputError(
                    f"{file.path} has the row range {file.start_index} to {file.end_index}, which ends before it "
                    f"begins; give start_index <= end_index"
                )


def delta_log_type(value: int, name: str) -> DeltaLogType:
    """Return the type for a member or its number. Raises InputError, with the types, for any other number."""
    try:
        return DeltaLogType(value)
    except ValueError:
        kinds = ", ".join(f"{kind.name} ({kind.value})" for kind in DeltaLogType)
        raise InputError(f"{name} is of type {value!r:.100}; there are {kinds}") from None


def positions(indices: Sequence[int] | npt.NDArray[np.int64] | pa.Array) -> RowIds:
    """Return row numbers as an array. Raises InputError for anything but a flat list of whole numbers."""
    try:
        values = np.asarray(indices)
    except (ValueError, TypeError, OverflowError):
        raise _not_positions(indices) from None
    if values.ndim != 1 or (values.size and not np.issubdtype(values.dtype, np.integer)):
        raise _not_positions(indices)
    return values.astype(np.int64)


def check_parallelism(parallelism: int) -> None:
    expect(parallelism, int, "parallelism", "1 or more")
    if parallelism < 1:
        raise InputError(f"parallelism is {parallelism}; it takes 1 or more")


def row_span(rows: Any) -> tuple[int, int]:
    """Return the first row and the one after the last."""
    span = _items(rows, "rows", "a pair of row numbers")
    if len(span) != 2 or not all(isinstance(row, int) for row in span):
        raise _misfit(rows, "rows", "a pair of row numbers")
    return span[0], span[1]


def _items(values: Iterable[Any], name: str, expected: str) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise _misfit(values, name, expected) from None


def _not_positions(indices: object) -> InputError:
    return InputError(
        f"the rows to take are {indices!r:.100}; take needs a list of whole numbers, counted from 0"
    )


def _misfit(value: object, name: str, expected: str) -> InputError:
    return InputError(f"{name} is {value!r:.100}; it takes {expected}")
