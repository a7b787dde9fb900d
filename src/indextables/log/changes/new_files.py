"""New data files of a table: a finished split is stored under a name of its own, and described for the log."""

from __future__ import annotations

from collections.abc import Mapping

from indextables.errors import StorageError
from indextables.log.actions import AddFile
from indextables.runtime import new_id
from indextables.schema import FieldMapping, mapping_hash, partition_path
from indextables.split import FinishedSplit
from indextables.storage import Store


def store_split(
    store: Store,
    split: FinishedSplit,
    *,
    partition_columns: tuple[str, ...],
    partition_values: Mapping[str, str | None],
    mapping: FieldMapping,
    num_merge_ops: int = 0,
) -> AddFile:
    """Store a split in the directory of its partition and return the action that adds it. No version names it yet.

    A split that is not the result of a merge has rows that the table did not have. Its modification time is that of the
    store: a commit compares it with the time of a purge, which is the store's as well (see `purge_fence`).
    """
    folder = partition_path(partition_values, partition_columns)
    path = f"{folder}/splits/split-{new_id()}.split".lstrip("/")
    store.put_file(path, split.path)
    return AddFile(
        path=path,
        partition_values={name: value for name, value in partition_values.items() if value is not None},
        size=split.size,
        modification_time=_stored_time_ms(store, path),
        data_change=num_merge_ops == 0,
        min_values=split.min_values or None,
        max_values=split.max_values or None,
        stats=split.stats,
        num_records=split.num_records,
        footer_start_offset=split.footer_start,
        footer_end_offset=split.footer_end,
        has_footer_offsets=True,
        num_merge_ops=num_merge_ops,
        doc_mapping_ref=mapping_hash(mapping.to_json()),
        uncompressed_size_bytes=split.uncompressed_size,
    )


def _stored_time_ms(store: Store, key: str) -> int:
    """Return the time at which the store has stored a file, or 0 if it does not say: then the commit looks again."""
    try:
        return store.head(key).modified_ms
    except StorageError:
        return 0
