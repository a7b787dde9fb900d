"""Add actions as columns, so that a version with many of them needs no object for each.

`Adds` holds consecutive adds in the columns of a state's entries, and `ActionParts` is a sequence of actions some of
which are `Adds`. The decoder in `bulk` makes them; replaying a log puts their columns into the live files as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.log.actions.entries import from_entries
from indextables.log.actions.model import Action, AddFile
from indextables.runtime import lazy_property
from indextables.state import ENTRY_SCHEMA, KEY, LIVE_SCHEMA

DEFAULTS: Final[Mapping[str, Any]] = {
    "partitionValues": {},
    "modificationTime": 0,
    "dataChange": True,
    "hasFooterOffsets": False,
}
"""The values of fields that an add may lack; those of other fields are null."""

MAPS: Final = frozenset(field.name for field in ENTRY_SCHEMA if pa.types.is_map(field.type))
"""The columns that hold maps."""

_ADDED_AT: Final = ("addedAtVersion", "addedAtTimestamp")


PerFile: TypeAlias = int | npt.NDArray[np.int64]
"""A number that holds for all files, or one for each of them."""


class Adds:
    """Consecutive add actions of one version, in the order of the file."""

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        """Take the columns of ENTRY_SCHEMA by name; those of `addedAt` are not among them, and others may be missing.

        A missing column has the default value of its field in every row.
        """
        self._columns = columns

    @lazy_property
    def paths(self) -> list[str]:
        """The paths as the log names them."""
        paths: list[str] = self._columns["path"].to_numpy(zero_copy_only=False).tolist()
        return paths

    def __len__(self) -> int:
        return len(self._columns["path"])

    def __iter__(self) -> Iterator[AddFile]:
        return (added.file for _, added in from_entries(self.entries(self.paths, 0, 0)))

    def entries(self, keys: list[str], version: PerFile, timestamp_ms: PerFile) -> pa.Table:
        """Return the files in LIVE_SCHEMA, with their keys and the version and time at which they were added."""
        columns = dict(self._columns)
        for name, value in zip(_ADDED_AT, (version, timestamp_ms), strict=True):
            columns[name] = pa.array(np.array(np.broadcast_to(value, len(self)), np.int64))
        columns[KEY] = columns["path"] if keys is self.paths else pa.array(keys, pa.string())
        arrays = [
            columns[field.name] if field.name in columns else default_array(field, len(self))
            for field in LIVE_SCHEMA
        ]
        return pa.Table.from_arrays(arrays, schema=LIVE_SCHEMA)


def default_array(field: pa.Field, rows: int) -> pa.Array:
    """Return a column of a field that no add has."""
    default = DEFAULTS.get(field.name)
    if default is None:
        return pa.nulls(rows, field.type)
    if field.name in MAPS:
        no_texts = pa.array([], pa.string())
        return pa.MapArray.from_arrays(pa.array(np.zeros(rows + 1, np.int32)), no_texts, no_texts)
    return pa.repeat(pa.scalar(default, field.type), rows)


class ActionParts(Sequence[Action]):
    """The actions of a version or checkpoint, many adds in a row as columns; iterating makes objects of them."""

    def __init__(self, parts: Sequence[Action | Adds]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(len(part) if isinstance(part, Adds) else 1 for part in self.parts)

    def __iter__(self) -> Iterator[Action]:
        for part in self.parts:
            if isinstance(part, Adds):
                yield from part
            else:
                yield part

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> list[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | list[Action]:
        if index == 0 and self.parts:
            return next(iter(self))
        return list(self)[index]


def parts_of(actions: Sequence[Action]) -> Sequence[Action | Adds]:
    """Return the actions in order, those that were decoded to columns as `Adds`."""
    return actions.parts if isinstance(actions, ActionParts) else actions
