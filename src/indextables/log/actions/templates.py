"""Vectorised decoding of adds: lines of one writer differ only in their values.

A `LineTemplate` is made from one line. It holds the text between the values (the gaps, which contain all names and all
punctuation) and, for each value, where it begins and ends as a distance from a quote or from the end of the line.
A line fits a template if it has the same gaps, byte for byte, and values of the same JSON types. Such a line has the
structure of the line the template was made from, so no parser has to look at it: its values are the text between its
gaps.

Why that is correct for any bytes: a `LineBlock` has no control characters and is valid UTF-8, so no string spans two
lines, and a quote ends a string unless an odd number of backslashes precedes it. A text value is what stands between
two consecutive unescaped quotes; if it has escapes, orjson decodes it. A number is accepted only if printing the parsed
number gives the same text. The caller parses all lines of which one does not fit.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions.fields import ADD_FIELDS, reads_range, reads_type
from indextables.log.actions.line_block import Flags, LineBlock, Positions
from indextables.state import ENTRY_SCHEMA

_MAX_TEMPLATES: Final = 16
"""Lines with more different shapes than this are parsed."""

_MAX_LINE_BYTES: Final = 1 << 18
_MAX_VALUES: Final = 256
"""A line that is longer, or has more values, is parsed: a column has a fixed cost, and few such lines fit a block."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+|true|false|null|[{}\[\],:]')
_REQUIRED: Final = frozenset({"path", "size"})
RE_ADDED: Final = "addedAtVersion"
"""The field of an add of a file that the table already had."""

_SUPPORTED: Final = (ADD_FIELDS.keys() & set(ENTRY_SCHEMA.names)) - {RE_ADDED}


@dataclass(frozen=True)
class AddGroup:
    """Adds of one shape: the numbers of their lines, ascending, and the columns of the fields that they have."""

    rows: Positions
    columns: dict[str, pa.Array]


def decode_adds(block: LineBlock, start: int, end: int) -> list[AddGroup] | None:
    """Return the adds in the lines from `start` up to `end`, grouped by shape; None if a line has to be parsed."""
    remaining = np.arange(start, end)
    groups: list[AddGroup] = []
    while len(remaining):
        template = _template_of(block.line(int(remaining[0])))
        if template is None or len(groups) == _MAX_TEMPLATES:
            return None
        try:
            group = template.decode(block, remaining)
        except _NotPlainError:
            return None
        groups.append(group)
        remaining = np.setdiff1d(remaining, group.rows, assume_unique=True)
    return groups


class _NotPlainError(Exception):
    """A value is not read as it stands, so its line has to be parsed."""


@dataclass(frozen=True)
class _Boundary:
    """A place in a line, as a distance from one of its quotes, or from its end if `quote` is None."""

    quote: int | None
    distance: int


@dataclass(frozen=True)
class _Field:
    """The values of one field of the add: a scalar has one, a map or a list may have any number of texts."""

    name: str
    kind: type
    values: tuple[int, ...]
    map_keys: tuple[str, ...] = ()


@dataclass
class LineTemplate:
    """What lines of one shape have in common. The line has `gaps[0]`, value 0, `gaps[1]`, value 1, and so on."""

    gaps: list[bytes] = field(default_factory=list)
    bounds: list[tuple[_Boundary, _Boundary]] = field(default_factory=list)
    scalars: list[int] = field(default_factory=list)
    """The values without quotes."""
    fields: list[_Field] = field(default_factory=list)
    quote_count: int = 0

    def decode(self, block: LineBlock, rows: Positions) -> AddGroup:
        """Return the adds of those lines that fit. _NotPlainError if a value needs a parser."""
        rows = rows[block.quote_counts[rows] == self.quote_count]
        offsets = self._offsets(block, rows)
        is_ordered: Flags = np.ones(len(rows), bool)
        for value in self.scalars:
            is_ordered &= offsets[:, 2 * value + 1] <= offsets[:, 2 * value + 2]
        if not is_ordered.all():
            rows, offsets = rows[is_ordered], offsets[is_ordered]
        pieces = _Pieces(block, offsets)
        fits = pieces.have_gaps(self.gaps)
        if not fits.all():
            rows, pieces = rows[fits], _Pieces(block, offsets[fits])
        if not len(rows):
            raise _NotPlainError
        return AddGroup(rows, {each.name: pieces.column(each) for each in self.fields})

    def _offsets(self, block: LineBlock, rows: Positions) -> npt.NDArray[np.int32]:
        """Return for each line, which has the template's number of quotes, its start, its bounds and its end."""
        ends = block.ends[rows]
        first_quotes = block.first_quotes[rows]
        offsets: npt.NDArray[np.int32] = np.empty((len(rows), 2 * len(self.bounds) + 2), np.int32)
        offsets[:, 0] = block.starts[rows]
        offsets[:, -1] = ends
        for column, bound in enumerate(itertools.chain.from_iterable(self.bounds), 1):
            anchor = ends if bound.quote is None else block.quotes[first_quotes + bound.quote]
            offsets[:, column] = anchor + bound.distance
        return offsets


class _Pieces:
    """The gaps and values of lines, as strings that alternate: the offsets of the lines delimit them in the text."""

    def __init__(self, block: LineBlock, offsets: npt.NDArray[np.int32]) -> None:
        self._has_escapes = block.has_escapes
        self._lines, self._width = offsets.shape
        self._firsts = np.arange(self._lines) * self._width
        buffers = [None, pa.py_buffer(offsets.copy()), pa.py_buffer(block.text)]
        self._strings = pa.Array.from_buffers(pa.string(), max(0, offsets.size - 1), buffers)

    def have_gaps(self, gaps: list[bytes]) -> Flags:
        """Return for each line whether its gaps are these."""
        have: Flags = np.ones(self._lines, bool)
        for place, gap in enumerate(gaps):
            is_equal = pc.equal(self._strings.take(pa.array(self._firsts + 2 * place)), gap.decode())
            if not pc.all(is_equal).as_py():
                have &= np.asarray(is_equal)
        return have

    def column(self, field: _Field) -> pa.Array:
        """Return the column of a field. _NotPlainError if a value needs a parser."""
        kind = ENTRY_SCHEMA.field(field.name).type
        if field.kind is str:
            return self._texts(field.values)
        if field.kind is int:
            return self._numbers(field).cast(kind)
        if field.kind is bool:
            return self._truths(field)
        per_line = len(field.values)
        ends = pa.array(np.arange(self._lines + 1, dtype=np.int32) * per_line)
        if field.kind is list:
            return pa.ListArray.from_arrays(ends, self._texts(field.values), type=kind)
        numbers = np.tile(np.arange(per_line), self._lines)
        map_keys = pa.array(field.map_keys, pa.string()).take(pa.array(numbers))
        return pa.MapArray.from_arrays(ends, map_keys, self._texts(field.values), type=kind)

    def _raw(self, values: tuple[int, ...]) -> pa.StringArray:
        """Return values as they stand in the text, line by line."""
        places = self._firsts[:, None] + (2 * np.array(values, np.int64) + 1)
        return self._strings.take(pa.array(places.ravel()))

    def _texts(self, values: tuple[int, ...]) -> pa.StringArray:
        raw = self._raw(values)
        if not self._has_escapes:
            return raw
        has_escape = pc.match_substring(raw, "\\")
        if not pc.any(has_escape).as_py():
            return raw
        escaped = raw.filter(has_escape).to_pylist()
        try:
            texts = orjson.loads('["' + '","'.join(escaped) + '"]')
        except orjson.JSONDecodeError:
            raise _NotPlainError from None
        return pc.replace_with_mask(raw, has_escape, pa.array(texts, pa.string()))

    def _numbers(self, field: _Field) -> pa.Int64Array:
        raw = self._raw(field.values)
        try:
            numbers = raw.cast(pa.int64())
        except pa.ArrowInvalid:
            raise _NotPlainError from None
        # The cast takes more than JSON does, such as leading zeros.
        if not pc.all(pc.equal(numbers.cast(pa.string()), raw)).as_py():
            raise _NotPlainError
        limits = pc.min_max(numbers)
        if not reads_range(ADD_FIELDS[field.name], limits["min"].as_py(), limits["max"].as_py()):
            raise _NotPlainError
        return numbers

    def _truths(self, field: _Field) -> pa.BooleanArray:
        raw = self._raw(field.values)
        is_true = pc.equal(raw, "true")
        if not pc.all(pc.or_(is_true, pc.equal(raw, "false"))).as_py():
            raise _NotPlainError
        return is_true


def _template_of(line: bytes) -> LineTemplate | None:
    """Return the template of the lines that are like this one; None if it has something that must be parsed."""
    if len(line) > _MAX_LINE_BYTES:
        return None
    spans = [match.span() for match in _TOKEN.finditer(line)]
    ends = [end for _, end in spans]
    if [start for start, _ in spans] != [0, *ends[:-1]] or ends[-1] != len(line):
        return None
    try:
        orjson.loads(line)
        return _TemplateScan(line, spans).template()
    except (orjson.JSONDecodeError, _NotPlainError):
        return None


class _TemplateScan:
    """The reading of one line, which is valid JSON without white space, token by token."""

    def __init__(self, line: bytes, spans: list[tuple[int, int]]) -> None:
        self._line = line
        self._tokens = [line[start:end] for start, end in spans]
        self._spans = spans
        self._next = 0
        self._template = LineTemplate()
        self._quotes: list[int] = []
        for (start, end), token in zip(spans, self._tokens, strict=True):
            if token.startswith(b'"'):
                self._quotes += (start, end - 1)
        self._gap_start = 0

    def template(self) -> LineTemplate:
        """Return the template of the line. _NotPlainError if it is not an add whose values can be read by columns."""
        template = self._template
        template.quote_count = len(self._quotes)
        if self._take(4) != [b"{", b'"add"', b":", b"{"]:
            raise _NotPlainError
        for name in self._names():
            self._field(name)
        if self._take(2) != [b"}"] or not template.fields:
            raise _NotPlainError
        names = [each.name for each in template.fields]
        if not _REQUIRED.issubset(names):
            raise _NotPlainError
        template.gaps.append(self._line[self._gap_start :])
        return template

    def _take(self, count: int = 1) -> list[bytes]:
        tokens = self._tokens[self._next : self._next + count]
        self._next += count
        return tokens

    def _names(self) -> Iterator[str]:
        """Yield the names of an object whose brace was taken; the caller takes the value of each."""
        names: set[str] = set()
        while (token := self._take()[0]) != b"}":
            if token == b",":
                continue
            name = orjson.loads(token)
            if name in names:
                raise _NotPlainError
            names.add(name)
            self._take()
            yield name

    def _field(self, name: str) -> None:
        if name not in _SUPPORTED:
            raise _NotPlainError
        (token,) = self._take()
        kind: type
        values: list[int] = []
        map_keys: list[str] = []
        if token == b"null":
            return
        if token == b"{":
            kind = dict
            for key in self._names():
                (item,) = self._take()
                if item != b"null":
                    map_keys.append(key)
                    values.append(self._text(item))
        elif token == b"[":
            kind = list
            while (item := self._take()[0]) != b"]":
                if item != b",":
                    values.append(self._text(item))
        elif token.startswith(b'"'):
            kind = str
            values.append(self._text(token))
        else:
            kind = bool if token in (b"true", b"false") else int
            values.append(self._scalar())
        if not reads_type(ADD_FIELDS[name], kind):
            raise _NotPlainError
        self._template.fields.append(_Field(name, kind, tuple(values), tuple(map_keys)))

    def _text(self, token: bytes) -> int:
        """Note that the token just taken is a text whose content may differ from line to line."""
        if not token.startswith(b'"'):
            raise _NotPlainError
        start, end = self._spans[self._next - 1]
        quote = bisect.bisect_left(self._quotes, start)
        return self._value(start + 1, end - 1, _Boundary(quote, 1), _Boundary(quote + 1, 0))

    def _scalar(self) -> int:
        start, end = self._spans[self._next - 1]
        after = bisect.bisect_left(self._quotes, start)
        before = after - 1
        number = self._value(
            start,
            end,
            _Boundary(before, start - self._quotes[before]),
            _Boundary(after, end - self._quotes[after])
            if after < len(self._quotes)
            else _Boundary(None, end - len(self._line)),
        )
        self._template.scalars.append(number)
        return number

    def _value(self, start: int, end: int, start_bound: _Boundary, end_bound: _Boundary) -> int:
        template = self._template
        if len(template.bounds) == _MAX_VALUES:
            raise _NotPlainError
        template.gaps.append(self._line[self._gap_start : start])
        template.bounds.append((start_bound, end_bound))
        self._gap_start = end
        return len(template.bounds) - 1
