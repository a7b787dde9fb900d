"""Which columns are stored together: decided once, before the first row of a write is stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from indextables.columns.arguments import expect
from indextables.columns.arguments import names as texts
from indextables.columns.manifest import ColumnGroup
from indextables.errors import InputError, SchemaError


@dataclass(frozen=True)
class Single:
    """Every column in one group."""


@dataclass(frozen=True)
class SchemaBased:
    """A group for each pattern: the columns whose whole name it matches and no earlier one did.

    Columns that none matches form a last group. `formats` are those of the patterns' files; by default the writer's.
    """

    patterns: tuple[str, ...]
    formats: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SizeBased:
    """Wide columns in groups of their own, the others in groups of at most `max_columns_in_group`.

    Wide is a column whose values take `max_avg_column_size` bytes or more on average in the first rows written.
    """

    max_avg_column_size: int = 1024
    max_columns_in_group: int = 64


@dataclass(frozen=True)
class AsStored:
    """The groups that a dataset has already, for rows that are appended to it."""

    groups: tuple[ColumnGroup, ...]


Policy: TypeAlias = Single | SchemaBased | SizeBased | AsStored

SINGLE: Final = Single()


@dataclass(frozen=True)
class GroupPlan:
    columns: tuple[str, ...]
    format: str


def plan_groups(
    policy: Policy, schema: pa.Schema, file_format: str, first_rows: pa.RecordBatch | None
) -> tuple[GroupPlan, ...]:
    """Return the groups of a write; every column is in exactly one of them, and none is empty.

    Without first rows, which only `SizeBased` looks at, no column counts as wide.

    >>> columns = pa.schema([("id", pa.int64()), ("v1", pa.float32()), ("v2", pa.float32())])
    >>> [group.columns for group in plan_groups(SchemaBased(("v.*",)), columns, "parquet", None)]
    [('v1', 'v2'), ('id',)]
    """
    match policy:
        case Single():
            groups = [GroupPlan(tuple(schema.names), file_format)]
        case SchemaBased(patterns, formats):
            groups = _by_name(schema.names, patterns, formats, file_format)
        case SizeBased():
            groups = [GroupPlan(names, file_format) for names in _by_size(policy, schema, first_rows)]
        case AsStored(stored):
            groups = [GroupPlan(group.columns, group.format) for group in stored]
            named = sorted(name for group in groups for name in group.columns)
            if named != sorted(schema.names):
                raise SchemaError(
                    f"the rows have the columns {', '.join(schema.names)}, but the dataset has {', '.join(named)}; "
                    f"append rows with the columns of the dataset"
                )
    return tuple(group for group in groups if group.columns)


def _by_name(
    names: Sequence[str], patterns: tuple[str, ...], formats: tuple[str, ...] | None, file_format: str
) -> list[GroupPlan]:
    patterns = texts(patterns, "patterns")
    if formats is not None and len(texts(formats, "formats")) != len(patterns):
        raise InputError(f"there are {len(patterns)} patterns and {len(formats)} formats; give one for each")
    try:
        compiled = [re.compile(pattern) for pattern in patterns]
    except re.error as reason:
        raise InputError(f"{reason.pattern!r} is not a regular expression: {reason}") from None
    remaining = list(names)
    groups = []
    for i, pattern in enumerate(compiled):
        matching = [name for name in remaining if pattern.fullmatch(name)]
        remaining = [name for name in remaining if name not in matching]
        groups.append(GroupPlan(tuple(matching), file_format if formats is None else formats[i]))
    return [*groups, GroupPlan(tuple(remaining), file_format)]


def _by_size(
    policy: SizeBased, schema: pa.Schema, first_rows: pa.RecordBatch | None
) -> list[tuple[str, ...]]:
    expect(policy.max_columns_in_group, int, "max_columns_in_group", "a number from 1 on")
    expect(policy.max_avg_column_size, int, "max_avg_column_size", "a number from 1 on")
    if policy.max_columns_in_group < 1 or policy.max_avg_column_size < 1:
        raise InputError(
            f"max_columns_in_group is {policy.max_columns_in_group} and max_avg_column_size is "
            f"{policy.max_avg_column_size}; both take 1 or more"
        )
    groups: list[tuple[str, ...]] = []
    narrow: list[str] = []
    for name in schema.names:
        if first_rows is not None and _average_size(first_rows, name) >= policy.max_avg_column_size:
            groups.append((name,))
            continue
        narrow.append(name)
        if len(narrow) == policy.max_columns_in_group:
            groups.append(tuple(narrow))
            narrow = []
    return [*groups, tuple(narrow)]


def _average_size(rows: pa.RecordBatch, name: str) -> float:
    size: int = rows.column(name).nbytes
    return float(size / max(1, rows.num_rows))
