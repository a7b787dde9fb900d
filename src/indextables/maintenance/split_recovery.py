"""Recovering a table from its splits alone, when the log is lost.

A split records its columns, how they are indexed, and its rows; the directories above it give its partition values.
Two things are lost: which splits had been removed and not yet purged, and the types of partition columns, which become
strings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings
from indextables.errors import CorruptTableError, ObjectNotFoundError, SchemaError
from indextables.log import LOG_DIRECTORY, AddFile, Metadata
from indextables.runtime import current, new_id
from indextables.schema import (
    NULL_DIRECTORY,
    REGISTRY_PREFIX,
    TYPEMAP_PREFIX,
    Field,
    FieldMapping,
    TableSchema,
    mapping_hash,
    unescape,
)
from indextables.split import open_bundle, open_split
from indextables.storage import ObjectInfo, Store

_SPLITS_AT_A_TIME: Final = 8

PartitionValues = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FoundSplit:
    """A split in the store, as described by its own bytes and its path."""

    info: ObjectInfo
    partition_values: PartitionValues
    mapping: FieldMapping
    num_rows: int
    footer_start: int

    @property
    def kind(self) -> tuple[FieldMapping, tuple[str, ...]]:
        """What all splits of one table have in common: the mapping and the partition columns."""
        return self.mapping, tuple(name for name, _ in self.partition_values)


@dataclass(frozen=True)
class RecoveredSplits:
    """The metadata and files of a table that was recovered from its splits, and the splits that do not fit."""

    metadata: Metadata
    adds: tuple[AddFile, ...]
    damaged: tuple[str, ...]


def recover_splits(store: Store, settings: Settings) -> RecoveredSplits | None:
    """Recover the table to which most of the splits below the root belong. Return None if there is no split."""
    infos = [info for info in store.list_from("") if _is_split(info.key)]
    inspected = list(
        current().threads.map(lambda info: _inspect(store, info, settings), infos, _SPLITS_AT_A_TIME)
    )
    splits = [split for split in inspected if isinstance(split, FoundSplit)]
    damaged = [reason for reason in inspected if isinstance(reason, str)]
    if not splits:
        if damaged:
            raise CorruptTableError(f"no split of {store.uri} can be read: {damaged[0]}")
        return None
    (mapping, columns), _ = Counter(split.kind for split in splits).most_common(1)[0]
    matching = [split for split in splits if split.kind == (mapping, columns)]
    damaged += [f"{split.info.key}: other columns than most" for split in splits if split not in matching]
    ref = mapping_hash(mapping.to_json())
    return RecoveredSplits(
        _metadata(mapping, columns, ref), tuple(_add(split, ref) for split in matching), tuple(damaged)
    )


def partition_values_of(key: str) -> PartitionValues:
    """Return the partition values that the directories of a split encode.

    >>> partition_values_of("day=2024-01-01/path=a%2Fb/splits/split-1.split")
    (('day', '2024-01-01'), ('path', 'a/b'))
    """
    pairs = (part.partition("=") for part in key.split("/")[:-1])
    return tuple((unescape(name), unescape(value)) for name, equals, value in pairs if equals)


def _is_split(key: str) -> bool:
    return key.endswith(".split") and not key.startswith(f"{LOG_DIRECTORY}/")


def _inspect(store: Store, info: ObjectInfo, settings: Settings) -> FoundSplit | str:
    try:
        footer_start = open_bundle(store, info.key, info.size).footer_start
        with open_split(store, info.key, info.size, settings=settings) as split:
            return FoundSplit(
                info=info,
                partition_values=partition_values_of(info.key),
                mapping=split.mapping,
                num_rows=split.num_rows,
                footer_start=footer_start,
            )
    except (CorruptTableError, SchemaError, ObjectNotFoundError) as reason:
        return f"{info.key}: {reason}"


def _metadata(mapping: FieldMapping, columns: tuple[str, ...], ref: str) -> Metadata:
    fields = [Field(mapped.name, mapped.spark_type) for mapped in mapping.fields]
    schema = TableSchema((*fields, *(Field(name, "string") for name in columns)))
    text = {f"{TYPEMAP_PREFIX}{mapped.name}": mapped.typemap for mapped in mapping.of_kind("text", "ip")}
    configuration = {f"{REGISTRY_PREFIX}{ref}": mapping.to_json(), **text}
    return Metadata(str(new_id()), schema.to_json(), partition_columns=columns, configuration=configuration)


def _add(split: FoundSplit, ref: str) -> AddFile:
    """Return the split as an action. It has no min/max, which would take reading every row, so it is never skipped."""
    return AddFile(
        path=split.info.key,
        partition_values={name: value for name, value in split.partition_values if value != NULL_DIRECTORY},
        size=split.info.size,
        modification_time=split.info.modified_ms,
        num_records=split.num_rows,
        footer_start_offset=split.footer_start,
        footer_end_offset=split.info.size,
        has_footer_offsets=True,
        doc_mapping_ref=ref,
        uncompressed_size_bytes=split.footer_start,
    )
