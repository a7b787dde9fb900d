"""A condition on the rows of a table, and what the bounds of a manifest or a block say of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from indextables.errors import SchemaError
from indextables.predicates import Bounds, Predicate, columns_of, may_match
from indextables.schema import Field, TableSchema, decode_value
from indextables.state.layout import is_content_named
from indextables.state.manifest import ManifestInfo, PartitionBounds, StatBounds

_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class Condition:
    """A predicate and the table whose columns it names.

    `own_refs` are the mappings by which this implementation recognises the files that it wrote. The statistics of
    other writers are weaker, and only the engine of `predicates` uses them.

    >>> from datetime import date
    >>> from indextables.predicates import Compare
    >>> schema = TableSchema((Field("day", "date"), Field("n", "long")))
    >>> condition = Condition(Compare("=", "day", date(2024, 5, 1)), schema, ["day"])
    >>> condition.may_hold_within({"day": PartitionBounds("2024-04-01", "2024-04-30")})
    False
    """

    predicate: Predicate
    schema: TableSchema
    partition_columns: Sequence[str]
    own_refs: Collection[str] = ()

    def may_hold_within(
        self,
        partitions: Mapping[str, PartitionBounds],
        statistics: Mapping[str, StatBounds] = MappingProxyType({}),
    ) -> bool:
        """Return False only if no row within these bounds of partition columns and of statistics can match."""

        def bounds_of(name: str) -> Bounds | None:
            column = self.schema.resolve(name)
            if column is None:
                raise SchemaError(f"no column {name!r}: the table has {', '.join(self.schema.names)}")
            if name not in self.partition_columns:
                measured = statistics.get(column.name)
                return None if measured is None else measured.of(column)
            bounds = partitions.get(name)
            return None if bounds is None else _decode(bounds, column)

        return may_match(self.predicate, bounds_of)

    def may_hold_in(self, info: ManifestInfo) -> bool:
        """Return False only if no row of the files in a manifest can match."""
        if is_content_named(info.path):
            return self.may_hold_within(info.partition_bounds or {}, info.statistics)
        if info.partition_bounds is None:
            return True
        reliable = {c: b for c, b in info.partition_bounds.items() if self._is_reliable(c, b)}
        return self.may_hold_within(reliable)

    def names_bounded_columns(self, info: ManifestInfo) -> bool:
        """Return True if the bounds of a manifest's blocks may rule some of them out."""
        return not columns_of(self.predicate).isdisjoint({*self.partition_columns, *info.statistics})

    def _is_reliable(self, name: str, bounds: PartitionBounds) -> bool:
        """Return True if another writer's bounds hold: some compare numbers as text, or text as numbers.

        All writers agree on dates, and where there is one value only. Some do not count empty text.
        """
        column = self.schema.get(name)
        if column is None or bounds.min is None or bounds.max is None:
            return False
        if column.type == "date":
            return bool(_ISO_DATE.fullmatch(bounds.min) and _ISO_DATE.fullmatch(bounds.max))
        return column.type != "string" and bounds.min == bounds.max


def _decode(bounds: PartitionBounds, column: Field) -> Bounds | None:
    try:
        return Bounds(decode_value(bounds.min, column.type), decode_value(bounds.max, column.type))
    except SchemaError:
        return None
