"""The sources of a merge: splits in a store, and reading all of their rows.

A source that cannot be read must not stop the merge of the others. Every error that is the fault of one source is
therefore an UnreadableSplitError with the path of that source. Errors of the store and of the local disk are not: they
would hit any split.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import SchemaError, TableError, UnreadableSplitError
from indextables.schema import FieldMapping, TableSchema, conform
from indextables.split.deleted_rows import DeltaLogRef
from indextables.split.output import RowRequest
from indextables.split.reader import SplitReader, open_split
from indextables.storage import Store


@dataclass(frozen=True)
class MergeSource:
    """A split to merge, and what the log records about it; None where the log does not say.

    Rows that its delta log deletes are left out of the merged split.
    """

    store: Store
    path: str
    size: int | None = None
    num_records: int | None = None
    delta_log: DeltaLogRef | None = None


def source_rows(
    source: MergeSource, *, mapping: FieldMapping, schema: TableSchema, settings: Settings
) -> Iterator[pa.RecordBatch]:
    """Yield all rows of a source that are not deleted in their order, as the columns of `schema`.

    UnreadableSplitError if they cannot be read, or if the source has another number of rows than the log records.
    """
    with (
        source_errors(source),
        open_split(
            source.store,
            source.path,
            source.size,
            settings=settings,
            mapping=mapping,
            delta_log=source.delta_log,
        ) as split,
    ):
        check_rows(split.num_rows, source.num_records)
        yield from split_rows(split, schema)


def split_rows(split: SplitReader, schema: TableSchema) -> Iterator[pa.RecordBatch]:
    """Yield all rows of an open split that are not deleted. TableError if they are not as many as it claims."""
    rows = 0
    columns = tuple(_stored_name(split.schema, name) for name in schema.names)
    for batch in split.rows(RowRequest(columns)):
        rows += batch.num_rows
        yield conform(batch, schema)
    check_rows(rows, split.num_live)


@contextmanager
def source_errors(source: MergeSource) -> Iterator[None]:
    """Raise the errors that are the fault of a source as UnreadableSplitError."""
    try:
        yield
    except (TableError, SchemaError) as reason:
        raise UnreadableSplitError(
            f"cannot merge split {source.store.uri}/{source.path}: {reason}", path=source.path
        ) from reason


def _stored_name(schema: TableSchema, name: str) -> str:
    column = schema.get(name)
    if column is None:
        raise SchemaError(f"it has no column {name!r}; it has {', '.join(schema.names) or 'none'}")
    return column.name


def check_rows(rows: int, expected: int | None) -> None:
    """Raise TableError if a split has another number of rows than expected; None expects any."""
    if expected is not None and rows != expected:
        raise TableError(f"it has {rows} rows instead of {expected}")
