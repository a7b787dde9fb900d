"""The Bloom filters of a split: one member for each, and `bloom.json`, which names the column of each.

They are asked before the index is opened. A filter that excludes a value makes it unnecessary to fetch the index and
the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from indextables.predicates import Bounds, Value
from indextables.runtime import lazy_property
from indextables.schema import Field, TableSchema
from indextables.split.container.bundle import BLOOM_COLUMNS, Bundle
from indextables.stats import BloomFilter, ColumnFilter


def bloom_members(filters: Mapping[str, BloomFilter]) -> tuple[dict[str, bytes], bytes]:
    """Return the members with a split's filters, and the content of `bloom.json`."""
    names = {column: f"bloom-{n}.filter" for n, column in enumerate(filters)}
    members = {names[column]: bloom.to_bytes() for column, bloom in filters.items()}
    return members, orjson.dumps(names)


class SplitBlooms:
    """The filters of an open split. Each is read when it is first used."""

    def __init__(self, bundle: Bundle, schema: TableSchema) -> None:
        """Read which columns have a filter. ValueError, TypeError or SchemaError if `bloom.json` is wrong."""
        names = orjson.loads(bundle.read(BLOOM_COLUMNS)) if BLOOM_COLUMNS in bundle.members else {}
        if not isinstance(names, dict):
            raise TypeError(f"{BLOOM_COLUMNS} is not a JSON object")
        self._bounds = {
            column: Bounds(members=_LazyFilter(bundle, str(member), schema.field(column)))
            for column, member in names.items()
        }

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def bounds(self, column: str) -> Bounds | None:
        """Return the filter of a column in the form that pruning takes, without minimum and maximum."""
        return self._bounds.get(column)


@dataclass(frozen=True)
class _LazyFilter:
    bundle: Bundle
    member: str
    column: Field

    def may_contain(self, value: Value) -> bool:
        return self._filter is None or self._filter.may_contain(value)

    @lazy_property
    def _filter(self) -> ColumnFilter | None:
        try:
            bloom = BloomFilter.from_bytes(self.bundle.read(self.member))
        except ValueError as reason:
            raise self.bundle.damaged(f"{self.member!r} is {reason}") from None
        return None if bloom is None else ColumnFilter(self.column, bloom)
