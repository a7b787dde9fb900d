"""A condition on many files at once: column-wise masks that may only err by keeping a file.

Entries are in Arrow, up to a million of them, and become Python values only once the masks have dropped most of them.
"""

from __future__ import annotations

from datetime import date, datetime
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.predicates import (
    And,
    Compare,
    Constant,
    In,
    Or,
    Predicate,
    StringMatch,
    Value,
    bind,
    columns_of,
    normalize,
)
from indextables.schema import FLOAT_TYPES, INTEGER_TYPES, TIME_TYPES, decode_value, micros
from indextables.state.conditions import Condition
from indextables.state.map_columns import map_column
from indextables.state.statistics import ordered
from indextables.stats import CUT_LENGTH


class ColumnMasks:
    """The masks of some entries; None stands for a mask that keeps all of them."""

    def __init__(self, condition: Condition, entries: pa.Table) -> None:
        self._predicate = normalize(condition.predicate)
        self._schema = condition.schema
        self._partition_columns = set(condition.partition_columns)
        self._entries = entries
        own_refs = pa.array(condition.own_refs, pa.string())
        self._is_foreign = pc.invert(pc.is_in(entries.column("docMappingRef"), value_set=own_refs))
        self._columns: dict[tuple[str, str], pa.Array] = {}
        self._value_masks: dict[int, pa.Array] = {}

    def by_partition_values(self) -> pa.Array | None:
        """Return the mask by partition values alone."""
        return self._mask(self._predicate, with_bounds=False)

    def by_bounds(self) -> pa.Array | None:
        """Return the mask by partition values and by minima and maxima, which keeps none that the other drops."""
        return self._mask(self._predicate, with_bounds=True)

    def _mask(self, predicate: Predicate, *, with_bounds: bool) -> pa.Array | None:
        match predicate:
            case Constant(True):
                return None
            case Constant():
                return pa.repeat(pa.scalar(False), self._entries.num_rows)
            case And(children):
                answers = [self._mask(child, with_bounds=with_bounds) for child in children]
                masks = [mask for mask in answers if mask is not None]
                return reduce(pc.and_, masks) if masks else None
            case Or(children):
                answers = [self._mask(child, with_bounds=with_bounds) for child in children]
                return None if any(mask is None for mask in answers) else reduce(pc.or_, answers)
        columns = columns_of(predicate)
        if len(columns) != 1:
            return None
        (name,) = columns
        if name in self._partition_columns:
            return self._by_value(predicate, name)
        mask = self._by_bounds(predicate, name) if with_bounds else None
        return None if mask is None else pc.or_(mask, self._is_foreign)

    def _by_value(self, leaf: Predicate, name: str) -> pa.Array:
        """Return the mask of a test on a partition column, which has one value in a file and few in all files."""
        if id(leaf) not in self._value_masks:
            encoded = self._column("partitionValues", name).dictionary_encode(null_encoding="encode")
            kind = self._schema.field(name).type
            verdicts = [_holds(leaf, name, text, kind) for text in encoded.dictionary.to_pylist()]
            self._value_masks[id(leaf)] = pa.array(verdicts, pa.bool_()).take(encoded.indices)
        return self._value_masks[id(leaf)]

    def _by_bounds(self, leaf: Predicate, name: str) -> pa.Array | None:
        column = self._schema.get(name)
        if column is None:
            return None  # a field of a struct, which has no bounds
        kind = column.type
        match leaf:
            case In(_, values):
                answers = [self._compare("=", name, kind, value) for value in values if value is not None]
                if not answers:
                    return pa.repeat(pa.scalar(False), self._entries.num_rows)
                return None if any(mask is None for mask in answers) else reduce(pc.or_, answers)
            case Compare(op, _, value) if value is not None:
                return self._compare(op, name, kind, value)
            case StringMatch("starts_with", _, prefix) if kind == "string":
                low, high = self._column("minValues", name), self._column("maxValues", name)
                too_high = pc.and_(pc.greater(low, prefix), pc.invert(pc.starts_with(low, prefix)))
                return _unless(too_high, _below(high, prefix))
            case _:
                return None

    def _compare(self, op: str, name: str, kind: str, value: Value) -> pa.Array | None:
        literal = _comparable(value, kind)
        if literal is None:
            return None
        low, high = (ordered(self._column(side, name), kind) for side in ("minValues", "maxValues"))
        below = _below(high, literal) if isinstance(literal, str) else pc.less(high, literal)
        match op:
            case "=" | "<=>":
                return _unless(pc.greater(low, literal), below)
            case "<":
                return _unless(pc.greater_equal(low, literal))
            case "<=":
                return _unless(pc.greater(low, literal))
            case ">" | ">=":
                return _unless(below)
            case _:
                return None

    def _column(self, side: str, name: str) -> pa.Array:
        if (side, name) not in self._columns:
            self._columns[side, name] = map_column(self._entries.column(side), name)
        return self._columns[side, name]


def _holds(leaf: Predicate, name: str, text: str | None, kind: str) -> bool:
    try:
        return bind(leaf, {name: decode_value(text, kind)}) == Constant(value=True)
    except SchemaError:
        return True  # the value does not have the type of its column; a later stage raises the error


def _unless(*reasons: pa.Array) -> pa.Array:
    """Return True except where a reason to drop is True; null, where there is no bound, is no reason."""
    return pc.invert(reduce(pc.or_, (pc.fill_null(reason, fill_value=False) for reason in reasons)))


def _below(high: pa.Array, literal: str) -> pa.Array:
    """Return where every value is below the literal; a maximum that may be truncated can go on after its end."""
    prefixes = pa.array([literal[:length] for length in range(CUT_LENGTH, len(literal) + 1)], pa.string())
    return pc.and_(pc.less(high, literal), pc.invert(pc.is_in(high, value_set=prefixes)))


def _comparable(value: Value, kind: str) -> str | int | float | None:
    """Return the literal in the form that `ordered` gives bounds of this type, or None to leave it to later stages."""
    if kind == "string":
        return value if isinstance(value, str) else None
    if kind in INTEGER_TYPES:
        return value if type(value) is int and abs(value) < 1 << 62 else None
    if kind in FLOAT_TYPES:
        return float(value) if type(value) in (int, float) and value == value else None  # type: ignore[arg-type] # noqa: PLR0124
    if kind == "date":
        return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else None
    if kind in TIME_TYPES:
        return micros(value) if isinstance(value, datetime) else None
    return None
