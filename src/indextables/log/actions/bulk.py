"""Decoding of version files with many actions: adds in a row become columns.

There are three ways to decode lines, and they give the same actions: `templates` for adds that look alike, by whole
columns; `_Run` for other adds in a row, parsed and then transposed; `fields` for everything else, one object each.
`fields` defines what a value means. The first two leave to the next one whatever they cannot take, and if `fields`
refuses a line, decoding ends with its error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa

from indextables.log.actions.adds import DEFAULTS, MAPS, ActionParts, Adds, default_array
from indextables.log.actions.entries import FIELDS_WITHOUT_COLUMN
from indextables.log.actions.fields import ADD_FIELDS, FieldError, from_document, read_column
from indextables.log.actions.line_block import LineBlock
from indextables.log.actions.model import Action
from indextables.log.actions.templates import RE_ADDED, decode_adds
from indextables.state import ENTRY_SCHEMA

_BLOCK_BYTES: Final = 4 << 20
"""The text is decoded in blocks of this size, which bounds the memory for positions in it."""

_BATCH_LINES: Final = 256
"""So many lines are parsed together: their JSON objects stay in the processor's cache."""

_MIN_COLUMN_ROWS: Final = 64
"""Fewer adds in a row are decoded to objects: columns have a fixed cost."""

_REQUIRED: Final = ("path", "size")
_NULL: Final = type(None)
_PLAIN_FIELDS: Final = ADD_FIELDS.keys() & set(ENTRY_SCHEMA.names)


def decode_in_bulk(text: bytes) -> ActionParts:
    """Return the actions of a version file's text, with many adds in a row as columns.

    Raises FieldError or orjson.JSONDecodeError if a line may be invalid. The errors do not say which line it is: the
    caller decodes line by line to find it.
    """
    parts: list[Action | Adds] = []
    for block in _blocks(text):
        lines = _line_block(block)
        if lines is None:
            _parse_lines(block.split(b"\n"), parts)
            continue
        for start, end, are_adds in lines.runs_of_adds():
            adds = (
                _adds_by_template(lines, start, end) if are_adds and end - start >= _MIN_COLUMN_ROWS else None
            )
            if adds is not None:
                parts.append(adds)
            else:
                _parse_lines([lines.line(row) for row in range(start, end)], parts)
    return ActionParts(parts)


def _blocks(text: bytes) -> Iterator[bytes]:
    """Cut a text into blocks of whole lines, without the line feed at the end of each."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + _BLOCK_BYTES)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _line_block(block: bytes) -> LineBlock | None:
    """Return the lines with their delimiters; None if they have to be parsed."""
    if len(block) > 2 * _BLOCK_BYTES:
        return (
            None  # a line of this length is no add, and the positions in it may take eight times its memory
        )
    try:
        return LineBlock(block)
    except ValueError:
        return None


def _adds_by_template(lines: LineBlock, start: int, end: int) -> Adds | None:
    """Return the adds of these lines; None if they have to be parsed."""
    groups = decode_adds(lines, start, end)
    if groups is None:
        return None
    if len(groups) == 1:
        return Adds(groups[0].columns)
    order = pa.array(np.argsort(np.concatenate([group.rows for group in groups])))
    names = {name for group in groups for name in group.columns}
    columns = {
        field.name: pa.concat_arrays(
            [
                group.columns[field.name]
                if field.name in group.columns
                else default_array(field, len(group.rows))
                for group in groups
            ]
        ).take(order)
        for field in ENTRY_SCHEMA
        if field.name in names
    }
    return Adds(columns)


def _parse_lines(lines: Sequence[bytes], parts: list[Action | Adds]) -> None:
    """Parse the lines and append their actions to the parts."""
    run = _Run(parts)
    for start in range(0, len(lines), _BATCH_LINES):
        documents = [orjson.loads(line) for line in lines[start : start + _BATCH_LINES] if line]
        if (bodies := _bodies_if_all_adds(documents)) is not None:
            run.bodies += bodies
            documents = []
        for document in documents:
            if _is_new_add(document):
                run.bodies.append(document["add"])
            else:
                run.end()
                parts += from_document(document)
        run.advance()
    run.end()


def _bodies_if_all_adds(documents: list[Any]) -> list[dict[str, Any]] | None:
    """Return the bodies of the adds if every document is an add and nothing else."""
    if set(map(type, documents)) != {dict} or set(map(len, documents)) != {1}:
        return None
    bodies = [document.get("add") for document in documents]
    if set(map(type, bodies)) != {dict} or any(RE_ADDED in body for body in bodies):
        return None
    return bodies


def _is_new_add(document: Any) -> bool:
    """Return True for an add that columns can hold: a file that is added again keeps its own version and time."""
    if type(document) is not dict or len(document) != 1:
        return False
    body = document.get("add")
    return type(body) is dict and RE_ADDED not in body


class _Run:
    """A run of consecutive adds that is being parsed."""

    def __init__(self, parts: list[Action | Adds]) -> None:
        self._parts = parts
        self._begin()

    def _begin(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._columns: dict[str, list[Any]] = {}
        self._maps: dict[str, _Maps] = {}
        self._rows = 0

    def end(self) -> None:
        """Append the adds of the run to the parts and begin the next run."""
        if self._rows == 0 and len(self.bodies) < _MIN_COLUMN_ROWS:
            for body in self.bodies:
                self._parts += from_document({"add": body})
        else:
            self._to_columns()
            self._parts.append(self._adds())
        if self.bodies or self._rows:
            self._begin()

    def advance(self) -> None:
        """Convert the JSON objects so far to columns if they are enough for it, which frees their memory."""
        if self._rows or len(self.bodies) >= _MIN_COLUMN_ROWS:
            self._to_columns()

    def _to_columns(self) -> None:
        bodies = self.bodies
        if not bodies:
            return
        columns = _transpose(bodies)
        kinds = {name: set(map(type, column)) for name, column in columns.items()}
        if any(_NULL in kinds.get(name, {_NULL}) for name in _REQUIRED):
            raise FieldError("add has no path or size")
        read = {
            name: read_column(ADD_FIELDS[name], column, kinds[name])
            for name, column in columns.items()
            if name in ADD_FIELDS
        }
        if not columns.keys() <= _PLAIN_FIELDS:
            read["extra"] = _encode_extra(bodies, read)
        for name, column in read.items():
            if name in _PLAIN_FIELDS or name == "extra":
                has_null = column is not columns.get(name) or _NULL in kinds[name]
                self._extend(name, column, has_null=has_null)
        self._rows += len(bodies)
        self.bodies = []

    def _extend(self, name: str, column: Sequence[Any], *, has_null: bool) -> None:
        if name in MAPS:
            if name not in self._maps:
                self._maps[name] = _Maps(name, self._rows)
            self._maps[name].extend(column, self._rows, has_null=has_null)
            return
        default = DEFAULTS.get(name)
        if default is not None and has_null:
            column = [default if value is None else value for value in column]
        values = self._columns.setdefault(name, [])
        values.extend(itertools.repeat(default, self._rows - len(values)))
        values.extend(column)

    def _adds(self) -> Adds:
        arrays = {name: maps.array(self._rows) for name, maps in self._maps.items()}
        for name, column in self._columns.items():
            column.extend(itertools.repeat(DEFAULTS.get(name), self._rows - len(column)))
            arrays[name] = pa.array(column, ENTRY_SCHEMA.field(name).type)
        return Adds(arrays)


class _Maps:
    """A column of maps, as all their keys and all their values."""

    def __init__(self, name: str, rows: int) -> None:
        self._absent = 0 if DEFAULTS.get(name) is not None else None
        self._sizes: list[int | None] = [self._absent] * rows
        self._keys: list[str] = []
        self._values: list[str] = []

    def extend(self, maps: Sequence[Mapping[str, str] | None], row: int, *, has_null: bool) -> None:
        """Append the maps of the rows from `row` on; earlier rows without a map have an absent one."""
        self._pad(row)
        if has_null:
            self._sizes += [self._absent if each is None else len(each) for each in maps]
            maps = [each or {} for each in maps]
        else:
            self._sizes += map(len, maps)  # type: ignore[arg-type]
        self._keys += itertools.chain.from_iterable(maps)  # type: ignore[arg-type]
        self._values += itertools.chain.from_iterable(map(dict.values, maps))  # type: ignore[arg-type]

    def array(self, rows: int) -> pa.MapArray:
        """Return the column, which has this many rows."""
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


def _transpose(bodies: list[dict[str, Any]]) -> dict[str, Sequence[Any]]:
    """Return the values by name; None where a body lacks the name."""
    names = list(bodies[0])
    width = len(names)
    in_order = list(itertools.chain.from_iterable(bodies)) == names * len(bodies)
    if in_order and set(map(len, bodies)) == {width}:
        values = list(itertools.chain.from_iterable(map(dict.values, bodies)))
        return {name: values[place::width] for place, name in enumerate(names)}
    all_names = dict.fromkeys(itertools.chain.from_iterable(bodies))
    return {name: [body.get(name) for body in bodies] for name in all_names}


def _encode_extra(
    bodies: Sequence[Mapping[str, Any]], columns: Mapping[str, Sequence[Any]]
) -> list[str | None]:
    """Return for each add the fields that have no column of their own, as `entries` writes them.

    `columns` are the values of fields as they were read. Raises FieldError if orjson cannot write a value.
    """
    texts: list[str | None] = []
    names = [name for name in FIELDS_WITHOUT_COLUMN if name in columns]
    for row, body in enumerate(bodies):
        extra = {name: value for name, value in body.items() if name not in ADD_FIELDS}
        extra |= {name: columns[name][row] for name in names if columns[name][row] is not None}
        try:
            text = orjson.dumps(extra)
            if orjson.loads(text) != extra:
                raise FieldError("add has a field that cannot be written back")
        except (orjson.JSONEncodeError, orjson.JSONDecodeError) as reason:
            raise FieldError(f"add has a field that cannot be written back ({reason})") from None
        texts.append(text.decode() if extra else None)
    return texts
