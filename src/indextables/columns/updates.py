"""What a transaction changes, and the rules by which that becomes the next manifest: pure functions of values.

The order is milvus-storage's: columns are dropped, files are appended, column groups are added, indexes that no longer
cover their column are removed, then indexes, delta logs, statistics and large values are added. Two rules are added to
those of milvus-storage: a column is in one group only, and all groups have the same number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from indextables.columns.manifest import ColumnGroup, DeltaLog, Index, LobFile, Manifest, Statistics
from indextables.errors import InputError, SchemaError


@dataclass(frozen=True)
class Updates:
    """The updates of a transaction, in the order in which they were recorded. Paths are as a manifest stores them.

    >>> Updates(dropped_columns=("a",)).is_empty, Updates().is_empty
    (False, True)
    """

    dropped_columns: tuple[str, ...] = ()
    appended_files: tuple[tuple[ColumnGroup, ...], ...] = ()
    added_column_groups: tuple[ColumnGroup, ...] = ()
    added_delta_logs: tuple[DeltaLog, ...] = ()
    updated_stats: Mapping[str, Statistics] = field(default_factory=lambda: MappingProxyType({}))
    dropped_indexes: tuple[int, ...] = ()
    added_indexes: tuple[Index, ...] = ()
    added_lob_files: tuple[LobFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Updates()


def apply(base: Manifest, updates: Updates) -> Manifest:
    """Return `base` with the updates applied. Raises InputError, and nothing else, if they do not fit it.

    >>> one = ColumnGroup(("id",), "parquet")
    >>> apply(Manifest((one,)), Updates(added_column_groups=(ColumnGroup(("name", "id")),)))
    Traceback (most recent call last):
        ...
    indextables.errors.SchemaError: column 'id' exists already; drop it first, or add the group without it
    """
    groups = _without_columns(base.column_groups, updates.dropped_columns)
    for appended in updates.appended_files:
        groups = _with_files(groups, appended)
    for added in updates.added_column_groups:
        groups = _with_group(groups, added)
    return replace(
        base,
        column_groups=groups,
        delta_logs=(*base.delta_logs, *updates.added_delta_logs),
        stats={**base.stats, **updates.updated_stats},
        indexes=_indexes(base.indexes, updates),
        lob_files=(*base.lob_files, *updates.added_lob_files),
    )


def _without_columns(groups: Iterable[ColumnGroup], dropped: Sequence[str]) -> tuple[ColumnGroup, ...]:
    """Return the groups without these columns; a group with no other columns is removed, with its files."""
    if not dropped:
        return tuple(groups)
    gone = set(dropped)
    remaining = (
        replace(group, columns=tuple(name for name in group.columns if name not in gone))
        if gone.intersection(group.columns)
        else group
        for group in groups
    )
    return tuple(group for group in remaining if group.columns)


def replaces(new: Index, old: Index) -> bool:
    """Return True if both are builds of one index: the same id, or without one the same column and type."""
    if new.index_id:
        return new.index_id == old.index_id
    return not old.index_id and (new.column_name, new.index_type) == (old.column_name, old.index_type)


def _covered_columns(updates: Updates) -> set[str]:
    """Return the columns that get files by an append, which an older index does not cover."""
    return {
        name
        for appended in updates.appended_files
        for group in appended
        if group.files
        for name in group.columns
    }


def _with_files(
    groups: tuple[ColumnGroup, ...], appended: tuple[ColumnGroup, ...]
) -> tuple[ColumnGroup, ...]:
    """Append files to every group. Files that are appended to nothing define the groups."""
    _check_columns(appended)
    _check_rows(appended)
    if not groups:
        return appended
    if len(groups) != len(appended):
        raise SchemaError(
            f"the files to append are for {len(appended)} column groups, and the dataset has {len(groups)}: "
            f"{_shape(groups)}"
        )
    for number, (old, new) in enumerate(zip(groups, appended, strict=True)):
        if set(old.columns) != set(new.columns):
            raise SchemaError(
                f"column group {number} has columns {_names(old.columns)}; the files to append have "
                f"{_names(new.columns)}"
            )
        if old.format != new.format:
            raise SchemaError(
                f"column group {number} is made of {old.format} files; the files to append are {new.format}"
            )
    return tuple(
        replace(old, files=(*old.files, *new.files)) for old, new in zip(groups, appended, strict=True)
    )


def _with_group(groups: tuple[ColumnGroup, ...], added: ColumnGroup) -> tuple[ColumnGroup, ...]:
    _check_columns((added,))
    existing = {name for group in groups for name in group.columns}
    for name in added.columns:
        if name in existing:
            raise SchemaError(f"column {name!r} exists already; drop it first, or add the group without it")
    if groups and added.num_rows != groups[0].num_rows:
        raise InputError(
            f"the column group {_names(added.columns)} to add has {added.num_rows} rows and the dataset has "
            f"{groups[0].num_rows}; write one value for each row"
        )
    return (*groups, added)


def _check_columns(groups: Sequence[ColumnGroup]) -> None:
    for group in groups:
        if not group.columns:
            raise SchemaError("a column group has no columns; it needs at least one")
    counts = Counter(name for group in groups for name in group.columns)
    for name, count in counts.items():
        if count > 1:
            raise SchemaError(
                f"column {name!r} appears in {count} column groups; a column must be in exactly one"
            )


def _check_rows(groups: Sequence[ColumnGroup]) -> None:
    rows = {group.num_rows for group in groups}
    if len(rows) > 1:
        counts = ", ".join(f"{_names(group.columns)} has {group.num_rows}" for group in groups)
        raise InputError(
            f"the files to append have different numbers of rows ({counts}); every column group needs the same"
        )


def _indexes(base: Iterable[Index], updates: Updates) -> tuple[Index, ...]:
    stale = _covered_columns(updates).union(updates.dropped_columns)
    remaining = [
        index
        for index in base
        if index.column_name not in stale and index.index_id not in updates.dropped_indexes
    ]
    for new in updates.added_indexes:
        remaining = [*(old for old in remaining if not replaces(new, old)), new]
    return tuple(remaining)


def _shape(groups: Iterable[ColumnGroup]) -> str:
    return ", ".join(_names(group.columns) for group in groups)


def _names(columns: Sequence[str]) -> str:
    shown = ", ".join(columns[:8])
    return f"({shown}, and {len(columns) - 8} more)" if len(columns) > 8 else f"({shown})"
