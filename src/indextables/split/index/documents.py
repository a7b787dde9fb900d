"""The documents of a batch of rows: one JSON object a row, made column by column with Arrow.

    {"__row":17,"service":"api","message":"timed out","__nulls":["4"],"__unindexed":["1"]}

The parts of a document are strings that all rows share, such as a key, and arrays with a part for each row. They are
joined at the end, by one kernel. Tantivy has no nulls: a null is an empty list or an absent key, and listed in the
field of nulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import path_values
from indextables.split.index.fields import NULLS, ROW, UNINDEXED, IndexField, IndexFields
from indextables.split.index.string_values import is_text, rows_with, strings
from indextables.split.index.values import index_array, index_values
from indextables.split.index.words import unindexed_rows

_Part: TypeAlias = str | pa.Array
_Mask: TypeAlias = npt.NDArray[np.bool_]

_WITHOUT_VALUES: Final = ("struct", "none")
"""Of columns of these kinds, the index knows only whether they are null."""

_NO_VALUE: Final = "[]"
_DISTINCT_SHARE: Final = 4
"""Values are framed once for each distinct one, if there are at least this many rows for each."""

_NARROW_BITS: Final = 16
_LARGE_BYTES: Final = 256 << 20
"""The documents of more rows, or of one such row, may have more bytes than a plain array of strings can hold."""

_BITS_AT_ONCE: Final = 40
_QUOTE, _BACKSLASH, _SPACE = ord('"'), ord("\\"), ord(" ")


def json_documents(fields: IndexFields, batch: pa.RecordBatch, first: int) -> list[str]:
    """Return the documents of the rows of a batch, whose ids begin with `first`.

    Bytes that are not UTF-8 are replaced.
    """
    columns = [(field, path_values(batch, field.mapped.name)) for field in fields.all]
    if batch.nbytes > _LARGE_BYTES:
        columns = [(field, _large(values)) for field, values in columns]
    try:
        return _documents(columns, batch.num_rows, first)
    except UnicodeDecodeError:  # in a column of strings: nothing else keeps such bytes
        return _documents([(field, _valid_text(values)) for field, values in columns], batch.num_rows, first)


def _documents(columns: Sequence[tuple[IndexField, pa.Array]], rows: int, first: int) -> list[str]:
    parts: list[_Part] = [f'{{"{ROW}":', pa.array(np.arange(first, first + rows)).cast(pa.string())]
    for field, values in columns:
        if field.mapped.kind not in _WITHOUT_VALUES:
            parts += _value_parts(field, values)
    parts += _null_parts(columns)
    parts += _unindexed_parts(columns, rows)
    return list(_join([*parts, "}"]).to_pylist())


def _value_parts(field: IndexField, values: pa.Array) -> list[_Part]:
    """Return the parts of a column: its key and its values."""
    key = f",{orjson.dumps(field.name).decode()}:"
    if pa.types.is_nested(values.type):
        lists = index_values(field.mapped, values)
        texts = [_NO_VALUE if value is None else orjson.dumps(value).decode() for value in lists]
        return [key, pa.array(texts, pa.string())]
    indexed = index_array(field.mapped, values)
    if field.mapped.kind != "text" and _is_narrow(values.type):
        coded = indexed.dictionary_encode(null_encoding="encode")
        if len(coded.dictionary) * _DISTINCT_SHARE <= len(values):
            return [_join(_frame(key, coded.dictionary)).take(coded.indices)]
    return _frame(key, indexed)


def _is_narrow(kind: pa.DataType) -> bool:
    """Return True for types whose values often repeat."""
    return is_text(kind) or bool(pa.types.is_date32(kind) or kind.bit_width <= _NARROW_BITS)


def _frame(key: str, values: pa.Array) -> list[_Part]:
    """Return the parts of a key with values, which are integers or strings."""
    if not is_text(values.type):
        digits = values.cast(pa.string())
        return [key, digits.fill_null(_NO_VALUE) if digits.null_count else digits]
    escaped = _escape(values)
    if not escaped.null_count:
        return [f'{key}"', escaped, '"']
    return [_join([f'{key}"', escaped, '"']).fill_null("")]


def _join(parts: Sequence[_Part]) -> pa.Array:
    """Join the parts of each row; neighbours that all rows share become one part first."""
    merged: list[_Part] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    has_large = any(isinstance(part, pa.Array) and pa.types.is_large_string(part.type) for part in merged)
    kind = pa.large_string() if has_large else pa.string()
    typed = [pa.scalar(part, kind) if isinstance(part, str) else part.cast(kind) for part in merged]
    return pc.binary_join_element_wise(*typed, pa.scalar("", kind))


def _escape(values: pa.Array) -> pa.Array:
    """Return strings as JSON has them between quotes."""
    rows = rows_with(values, _needs_escape)
    if not len(rows):
        return values
    mask = np.zeros(len(values), np.bool_)
    mask[rows] = True
    escaped = pc.replace_substring(values.take(pa.array(rows)), "\\", "\\\\")
    escaped = pc.replace_substring(escaped, '"', '\\"')
    controls = np.unique(np.frombuffer(escaped.buffers()[2], np.uint8))
    for control in controls[controls < _SPACE].tolist():
        escaped = pc.replace_substring(escaped, chr(control), f"\\u{control:04x}")
    return pc.replace_with_mask(values, mask, escaped)


def _needs_escape(data: npt.NDArray[np.uint8]) -> _Mask:
    return np.asarray((data == _QUOTE) | (data == _BACKSLASH) | (data < _SPACE), np.bool_)


def _null_parts(columns: Sequence[tuple[IndexField, pa.Array]]) -> list[_Part]:
    """Return the list of the null columns of each row. Few combinations occur in many rows: each is made once."""
    sparse = [(field.null_term, _null_mask(values)) for field, values in columns if values.null_count]
    if not sparse:
        return []
    codes = np.zeros(len(sparse[0][1]), np.int64)
    for number, (_, mask) in enumerate(sparse, start=1):
        codes = codes * 2 + mask
        if number % _BITS_AT_ONCE == 0:  # there are no more combinations than rows
            codes = np.unique(codes, return_inverse=True)[1]
    _, examples, code = np.unique(codes, return_index=True, return_inverse=True)
    lists = [_list_part(NULLS, [term for term, mask in sparse if mask[row]]) for row in examples.tolist()]
    return [pa.array(lists, pa.string()).take(pa.array(code))]


def _unindexed_parts(columns: Sequence[tuple[IndexField, pa.Array]], rows: int) -> list[_Part]:
    """Return the list of the columns in which a row has a word or value that is too long for the engine."""
    terms: dict[int, list[str]] = {}
    for field, values in columns:
        if field.mapped.kind in ("text", "string"):
            for row in unindexed_rows(field.mapped, values):
                terms.setdefault(row, []).append(field.unindexed_term)
    if not terms:
        return []
    return [pa.array([_list_part(UNINDEXED, terms.get(row, [])) for row in range(rows)], pa.string())]


def _list_part(key: str, terms: Sequence[str]) -> str:
    return f',"{key}":{orjson.dumps(terms).decode()}' if terms else ""


def _null_mask(values: pa.Array) -> _Mask:
    mask: _Mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return mask


def _valid_text(values: pa.Array) -> pa.Array:
    return pa.array(strings(values), values.type) if is_text(values.type) else values


def _large(values: pa.Array) -> pa.Array:
    return values.cast(pa.large_string()) if is_text(values.type) else values
