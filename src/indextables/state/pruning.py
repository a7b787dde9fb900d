"""What need not be read: manifests and blocks by their partition bounds, entries by their values and statistics.

Bounds go through the one engine of `predicates`. Entries are sifted column-wise first, a million at a time, by a
test that may only err by keeping; what it leaves becomes objects, and the engine has the last word on those.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.predicates import (
    And,
    Bounds,
    Compare,
    Constant,
    In,
    Or,
    Predicate,
    StringMatch,
    Value,
    bind,
    columns_of,
    may_match,
    normalize,
)
from indextables.schema import FLOAT_TYPES, INTEGER_TYPES, Field, TableSchema, decode_value, micros
from indextables.state.columns import map_column
from indextables.state.layout import is_content_named
from indextables.state.manifest import ManifestInfo, PartitionBounds, StatBounds
from indextables.state.statistics import ordered
from indextables.stats import CUT_LENGTH

_ISO_DATE: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


@dataclass(frozen=True)
class Filter:
    """A predicate and the table whose columns it names.

    `own_refs` are the mappings by which our own files are known. What other writers' statistics mean takes a
    closer look than can be had here: their files are left to the engine.

    >>> schema = TableSchema((Field("day", "date"), Field("n", "long")))
    >>> chosen = Filter(Compare("=", "day", date(2024, 5, 1)), schema, ["day"])
    >>> chosen.within({"day": PartitionBounds("2024-04-01", "2024-04-30")})
    False
    """

    predicate: Predicate
    schema: TableSchema
    partition_columns: Sequence[str]
    own_refs: Collection[str] = ()

    def prunes_blocks(self, info: ManifestInfo) -> bool:
        """Whether a look at the manifest's index of blocks may save reading some of them."""
        return not columns_of(self.predicate).isdisjoint({*self.partition_columns, *info.statistics})

    def within(
        self,
        bounds: Mapping[str, PartitionBounds],
        statistics: Mapping[str, StatBounds] = MappingProxyType({}),
    ) -> bool:
        """Whether anything within the bounds of partition columns and those of statistics can match."""

        def of(name: str) -> Bounds | None:
            column = self.schema.field(name)
            if name not in self.partition_columns:
                measured = statistics.get(column.name)
                return None if measured is None else measured.of(column)
            known = bounds.get(name)
            return None if known is None else _typed(known, column)

        return may_match(self.predicate, of)

    def manifest(self, info: ManifestInfo) -> bool:
        """Whether the manifest can hold an entry that matches."""
        if is_content_named(info.path):
            return self.within(info.partition_bounds or {}, info.statistics)
        if info.partition_bounds is None:
            return True
        return self.within({c: b for c, b in info.partition_bounds.items() if self._is_sure(c, b)})

    def _is_sure(self, name: str, bounds: PartitionBounds) -> bool:
        """Whether another writer's bounds hold: some compare numbers as text, or text as numbers.

        They agree with us on dates, and where there is one value only. They do not count empty text.
        """
        column = self.schema.get(name)
        if column is None or bounds.min is None or bounds.max is None:
            return False
        if column.type == "date":
            return bool(re.match(_ISO_DATE, bounds.min) and re.match(_ISO_DATE, bounds.max))
        return column.type != "string" and bounds.min == bounds.max

    def entries(self, entries: pa.Table) -> pa.Table:
        """The entries that may match, and some that may not."""
        mask = _Sieve(self, entries).keep(normalize(self.predicate))
        return entries if mask is None else entries.filter(mask)


def _typed(known: PartitionBounds, column: Field) -> Bounds | None:
    try:
        return Bounds(decode_value(known.min, column.type), decode_value(known.max, column.type))
    except SchemaError:
        return None


class _Sieve:
    """Answers for whole columns: a mask of what to keep, or None for all."""

    def __init__(self, chosen: Filter, entries: pa.Table) -> None:
        self._schema = chosen.schema
        self._partition_columns = set(chosen.partition_columns)
        self._entries = entries
        refs = pa.array(chosen.own_refs, pa.string())
        self._is_foreign = pc.invert(pc.is_in(entries.column("docMappingRef"), value_set=refs))
        self._columns: dict[tuple[str, str], pa.Array] = {}

    def keep(self, predicate: Predicate) -> pa.Array | None:
        match predicate:
            case Constant(True):
                return None
            case Constant():
                return pa.repeat(pa.scalar(False), self._entries.num_rows)
            case And(children):
                masks = [mask for child in children if (mask := self.keep(child)) is not None]
                return reduce(pc.and_, masks) if masks else None
            case Or(children):
                answers = [self.keep(child) for child in children]
                return None if any(mask is None for mask in answers) else reduce(pc.or_, answers)
        columns = columns_of(predicate)
        if len(columns) != 1:
            return None
        (name,) = columns
        if name in self._partition_columns:
            return self._by_value(predicate, name)
        mask = self._by_bounds(predicate, name)
        return None if mask is None else pc.or_(mask, self._is_foreign)

    def _by_value(self, leaf: Predicate, name: str) -> pa.Array | None:
        """A partition column has one value in all rows of a file, and few values in all files."""
        encoded = self._column("partitionValues", name).dictionary_encode(null_encoding="encode")
        kind = self._schema.field(name).type
        verdicts = pa.array(
            [_holds(leaf, name, text, kind) for text in encoded.dictionary.to_pylist()], pa.bool_()
        )
        return verdicts.take(encoded.indices)

    def _by_bounds(self, leaf: Predicate, name: str) -> pa.Array | None:
        kind = self._schema.field(name).type
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
        return True  # nothing can be told from it here; the reader of the file says what is wrong


def _unless(*reasons: pa.Array) -> pa.Array:
    """True but where a reason is: a bound that is not there (null) is no reason."""
    return pc.invert(reduce(pc.or_, (pc.fill_null(reason, fill_value=False) for reason in reasons)))


def _below(high: pa.Array, literal: str) -> pa.Array:
    """Where every value is below the literal. A maximum of the length at which others cut may go on after it."""
    prefixes = pa.array([literal[:length] for length in range(CUT_LENGTH, len(literal) + 1)], pa.string())
    return pc.and_(pc.less(high, literal), pc.invert(pc.is_in(high, value_set=prefixes)))


def _comparable(value: Value, kind: str) -> str | int | float | None:
    """The literal in the form that `ordered` gives bounds of this type, or None for what is left to the engine."""
    if kind == "string":
        return value if isinstance(value, str) else None
    if kind in INTEGER_TYPES:
        return value if type(value) is int and abs(value) < 1 << 62 else None
    if kind in FLOAT_TYPES:
        return float(value) if type(value) in (int, float) and value == value else None  # type: ignore[arg-type] # noqa: PLR0124
    if kind == "date":
        return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else None
    if kind == "timestamp":
        return micros(value) if isinstance(value, datetime) else None
    return None
