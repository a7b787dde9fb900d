"""Adds of a version file as columns: a file of many adds is decoded without an object for each of them.

`Adds` holds consecutive add actions in the columns of a state's entries. What it means is defined by `fields`: every
column is read by the reader of its field, and whatever does not fit makes the caller decode line by line instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, overload

import numpy as np
import orjson
import pyarrow as pa

from indextables.log.actions.entries import REST_FIELDS, from_entries
from indextables.log.actions.fields import ADD_FIELDS, FieldError, from_document, read_column
from indextables.log.actions.model import Action, AddFile
from indextables.state import ENTRY_SCHEMA, KEY, LIVE_SCHEMA

_AT_ONCE: Final = 256
"""So many lines are parsed together: their JSON objects stay in the processor's cache."""

_WORTHWHILE: Final = 64
"""Fewer adds in a row are decoded to objects: columns have a price of their own."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    "partitionValues": {},
    "modificationTime": 0,
    "dataChange": True,
    "hasFooterOffsets": False,
}
_REQUIRED: Final = ("path", "size")
_NULL: Final = type(None)
_MAPS: Final = frozenset(field.name for field in ENTRY_SCHEMA if pa.types.is_map(field.type))
_PLAIN_FIELDS: Final = ADD_FIELDS.keys() & set(ENTRY_SCHEMA.names)
_ADDED_AT: Final = ("addedAtVersion", "addedAtTimestamp")


class Adds:
    """Consecutive add actions of one version, in the order of the file."""

    def __init__(self, paths: list[str], columns: Mapping[str, pa.Array]) -> None:
        self.paths = paths
        self._columns = columns

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[AddFile]:
        return (added.file for _, added in from_entries(self.entries(self.paths, 0, 0)))

    def entries(self, keys: list[str], version: int, timestamp_ms: int) -> pa.Table:
        """Return the files in LIVE_SCHEMA, as they came with a version."""
        moments = {"addedAtVersion": version, "addedAtTimestamp": timestamp_ms}
        columns = dict(self._columns)
        for name, value in moments.items():
            columns[name] = pa.array(np.full(len(self), value, np.int64))
        columns[KEY] = columns["path"] if keys is self.paths else pa.array(keys, pa.string())
        return pa.Table.from_arrays([columns[name] for name in LIVE_SCHEMA.names], schema=LIVE_SCHEMA)


class ActionParts(Sequence[Action]):
    """The actions of a version, of which many adds in a row are in columns. Objects are made when asked for."""

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
        if index == 0 and self.parts and not isinstance(self.parts[0], Adds):
            return self.parts[0]
        return list(self)[index]


def parts_of(actions: Sequence[Action]) -> Sequence[Action | Adds]:
    """Return the actions in order, with those that were decoded to columns left in them."""
    return actions.parts if isinstance(actions, ActionParts) else actions


def decode_in_bulk(lines: Sequence[bytes]) -> Sequence[Action]:
    """Return the actions of the lines. FieldError or orjson.JSONDecodeError if a line may not be what it should be.

    The errors do not say which line it is: the caller decodes line by line to find it.
    """
    parts: list[Action | Adds] = []
    run = _Run(parts)
    for start in range(0, len(lines), _AT_ONCE):
        documents = [orjson.loads(line) for line in lines[start : start + _AT_ONCE] if line]
        if (bodies := _only_adds(documents)) is not None:
            run.bodies += bodies
            documents = []
        for document in documents:
            if type(document) is dict and len(document) == 1 and type(document.get("add")) is dict:
                run.bodies.append(document["add"])
            else:
                run.end()
                parts += from_document(document)
        run.advance()
    run.end()
    return ActionParts(parts)


def _only_adds(documents: list[Any]) -> list[dict[str, Any]] | None:
    """Return the bodies if all documents are adds and nothing else."""
    if set(map(type, documents)) != {dict} or set(map(len, documents)) != {1}:
        return None
    bodies = [document.get("add") for document in documents]
    return bodies if set(map(type, bodies)) == {dict} else None


class _Run:
    """Adds that follow each other."""

    def __init__(self, parts: list[Action | Adds]) -> None:
        self._parts = parts
        self._begin()

    def _begin(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._columns: dict[str, list[Any]] = {}
        self._maps: dict[str, _Maps] = {}
        self._rows = 0

    def end(self) -> None:
        """Put the adds so far into the parts."""
        if self._rows == 0 and len(self.bodies) < _WORTHWHILE:
            for body in self.bodies:
                self._parts += from_document({"add": body})
        else:
            self._to_columns()
            self._parts.append(self._adds())
        if self.bodies or self._rows:
            self._begin()

    def advance(self) -> None:
        """Let go of the JSON objects so far, if they are enough to be worth columns."""
        if self._rows or len(self.bodies) >= _WORTHWHILE:
            self._to_columns()

    def _to_columns(self) -> None:
        bodies = self.bodies
        if not bodies:
            return
        columns = _transposed(bodies)
        kinds = {name: set(map(type, column)) for name, column in columns.items()}
        if any(_NULL in kinds.get(name, {_NULL}) for name in _REQUIRED):
            raise FieldError("add has no path or size")
        read = {
            name: read_column(ADD_FIELDS[name], column, kinds[name])
            for name, column in columns.items()
            if name in ADD_FIELDS
        }
        if not columns.keys() <= _PLAIN_FIELDS:
            read["extra"] = _extra(bodies, read)
        for name, column in read.items():
            if name in _PLAIN_FIELDS or name == "extra":
                has_null = column is not columns.get(name) or _NULL in kinds[name]
                self._extend(name, column, has_null=has_null)
        self._rows += len(bodies)
        self.bodies = []

    def _extend(self, name: str, column: Sequence[Any], *, has_null: bool) -> None:
        if name in _MAPS:
            if name not in self._maps:
                self._maps[name] = _Maps(name, self._rows)
            self._maps[name].extend(column, self._rows, has_null=has_null)
            return
        default = _DEFAULTS.get(name)
        if default is not None and has_null:
            column = [default if value is None else value for value in column]
        so_far = self._columns.setdefault(name, [])
        so_far.extend(itertools.repeat(default, self._rows - len(so_far)))
        so_far.extend(column)

    def _adds(self) -> Adds:
        arrays = {}
        for field in ENTRY_SCHEMA:
            name = field.name
            default = _DEFAULTS.get(name)
            if name in _ADDED_AT:
                continue
            if name in self._maps or name == "partitionValues":
                arrays[name] = self._maps.get(name, _Maps(name, 0)).array(self._rows)
            elif name in self._columns:
                column = self._columns[name]
                column.extend(itertools.repeat(default, self._rows - len(column)))
                arrays[name] = pa.array(column, field.type)
            elif default is None:
                arrays[name] = pa.nulls(self._rows, field.type)
            else:
                arrays[name] = pa.repeat(pa.scalar(default, field.type), self._rows)
        return Adds(self._columns["path"], arrays)


class _Maps:
    """A column of maps, as all their keys and all their values."""

    def __init__(self, name: str, rows: int) -> None:
        self._absent = 0 if _DEFAULTS.get(name) is not None else None
        self._sizes: list[int | None] = [self._absent] * rows
        self._keys: list[str] = []
        self._values: list[str] = []

    def extend(self, maps: Sequence[Mapping[str, str] | None], row: int, *, has_null: bool) -> None:
        """Append the maps of the rows from `row` on; those before that have none yet are absent."""
        self._pad(row)
        if has_null:
            self._sizes += [self._absent if each is None else len(each) for each in maps]
            maps = [each or {} for each in maps]
        else:
            self._sizes += map(len, maps)  # type: ignore[arg-type]
        self._keys += itertools.chain.from_iterable(maps)  # type: ignore[arg-type]
        self._values += itertools.chain.from_iterable(map(dict.values, maps))  # type: ignore[arg-type]

    def array(self, rows: int) -> pa.MapArray:
        self._pad(rows)
        absent = None
        sizes = self._sizes
        if None in sizes:
            absent = np.array([*(size is None for size in sizes), False])
            sizes = [size or 0 for size in sizes]
        ends = np.cumsum([0, *sizes])
        offsets = pa.array(ends.astype(np.int32), mask=absent)
        return pa.MapArray.from_arrays(
            offsets, pa.array(self._keys, pa.string()), pa.array(self._values, pa.string())
        )

    def _pad(self, rows: int) -> None:
        self._sizes += [self._absent] * (rows - len(self._sizes))


def _transposed(bodies: list[dict[str, Any]]) -> dict[str, Sequence[Any]]:
    names = list(bodies[0])
    width = len(names)
    in_order = list(itertools.chain.from_iterable(bodies)) == names * len(bodies)
    if in_order and set(map(len, bodies)) == {width}:
        values = list(itertools.chain.from_iterable(map(dict.values, bodies)))
        return {name: values[place::width] for place, name in enumerate(names)}
    every = dict.fromkeys(itertools.chain.from_iterable(bodies))
    return {name: [body.get(name) for body in bodies] for name in every}


def _extra(bodies: Sequence[Mapping[str, Any]], read: Mapping[str, Sequence[Any]]) -> list[str | None]:
    """Return what the adds have beside the fields of an entry, as `entries` writes it."""
    texts: list[str | None] = []
    rest = [name for name in REST_FIELDS if name in read]
    for row, body in enumerate(bodies):
        extra = {name: value for name, value in body.items() if name not in ADD_FIELDS}
        extra |= {name: read[name][row] for name in rest if read[name][row] is not None}
        try:
            text = orjson.dumps(extra)
            if orjson.loads(text) != extra:
                raise FieldError("add has a field that cannot be written back")
        except (orjson.JSONEncodeError, orjson.JSONDecodeError) as reason:
            raise FieldError(f"add has a field that cannot be written back ({reason})") from None
        texts.append(text.decode() if extra else None)
    return texts
