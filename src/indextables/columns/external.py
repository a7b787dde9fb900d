"""External tables: existing Parquet or Vortex files become rows of a dataset in place, nothing is copied."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from indextables.columns.arguments import expect
from indextables.columns.conformance import check_type
from indextables.columns.file_formats import FORMATS, PARQUET, VORTEX, FileRows, open_rows, unknown_format
from indextables.columns.manifest import ColumnGroup, ColumnGroupFile
from indextables.columns.parquet_files import footer_properties
from indextables.columns.stored_files import FILE_SIZE, Files, as_settings
from indextables.columns.transaction import Transaction
from indextables.columns.version_files import check_place
from indextables.config import Settings
from indextables.errors import InputError, SchemaError
from indextables.storage import table_uri

Source = str | os.PathLike[str]

_SUFFIXES: Final = {".parquet": PARQUET, ".pq": PARQUET, ".vortex": VORTEX}


def adopt(
    path: Source,
    sources: Source | Sequence[Source],
    *,
    columns: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - the manifest's word
    settings: Settings | Mapping[str, str] | None = None,
) -> int:
    """Make existing Parquet or Vortex files part of the dataset at `path`, in place; return the version that has them.

    `sources` are files, in the order of their rows, or directories, whose files are taken by name (not those of
    directories below). All are of one `format`, by default that of their names (`.parquet`, `.pq`, `.vortex`).

    A new dataset has one group of their `columns`, by default all. Of a dataset with the same columns they are further
    rows, and of one without any of them further columns, as many rows as it has.

    >>> import pyarrow.parquet as pq, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": [1, 2]}), f"{folder}/a.parquet")
    >>> adopt("memory:doc-adopt", folder)
    1
    >>> from indextables.columns import open_dataset
    >>> open_dataset("memory:doc-adopt").to_arrow().column("id").to_pylist()
    [1, 2]
    """
    adopt_settings = as_settings(settings)
    group = external_group(sources, columns=columns, format=format, settings=adopt_settings)
    with Transaction.open(path, resolver="merge", settings=adopt_settings) as transaction:
        stored = transaction.get_manifest().column_groups
        existing = {name for other in stored for name in other.columns}
        if not stored or existing.isdisjoint(group.columns):
            transaction.add_column_group(group)
        elif existing <= set(group.columns) if columns is None else existing == set(group.columns):
            # The same files in each group: a file may have more columns than its group names.
            transaction.append_files([ColumnGroup(old.columns, group.format, group.files) for old in stored])
        else:
            missing = sorted(existing.difference(group.columns))
            raise SchemaError(
                f"the files have some columns of {table_uri(path)} and not others ({', '.join(missing)}); "
                f"name the columns to adopt with columns=[...]"
            )
        return transaction.commit()


def external_group(
    sources: Source | Sequence[Source],
    *,
    columns: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - the manifest's word
    settings: Settings | Mapping[str, str] | None = None,
) -> ColumnGroup:
    """Return the column group of these files, with their rows counted from the footers. Commits nothing.

    The entry of a Parquet file has the checksum of its footer, by which a file that was replaced is noticed.
    """
    if format is not None and format not in FORMATS:
        raise unknown_format(format)
    files = Files(settings)
    addresses = list(_addresses(sources, files, format))
    if not addresses:
        raise InputError(
            f"there are no Parquet or Vortex files in {sources}; name files or directories that have some"
        )
    formats = sorted({of for _, of in addresses})
    if len(formats) > 1:
        raise InputError(f"the files have the formats {' and '.join(formats)}; choose one with format=...")
    entries: list[ColumnGroupFile] = []
    schema: pa.Schema | None = None
    for address, of in addresses:
        stored = files.open(address)
        rows = open_rows(of, stored)
        schema = _common(schema, rows, columns, address)
        count = int(rows.starts[-1])
        if count:
            properties = {FILE_SIZE: str(stored.size), **(footer_properties(stored) if of == PARQUET else {})}
            entries.append(ColumnGroupFile(address, 0, count, properties=properties))
    assert schema is not None
    return ColumnGroup(tuple(schema.names), formats[0], tuple(entries))


def _addresses(
    sources: Source | Sequence[Source], files: Files, wanted: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the files with their formats; of a directory, only files whose names have the requested format."""
    expect(sources, (str, os.PathLike, Sequence), "sources", "a path or a list of paths")
    for source in [sources] if isinstance(sources, str | os.PathLike) else sources:
        address = table_uri(check_place(source))
        named = _format_of(address)
        if named is not None:
            yield address, wanted or named
            continue
        for info in files.store(address).list_from(""):
            of = _format_of(info.key)
            hidden = info.key.startswith(("_", "."))
            if "/" not in info.key and not hidden and of is not None and of == (wanted or of):
                yield f"{address}/{info.key}", of


def _format_of(name: str) -> str | None:
    return next((of for suffix, of in _SUFFIXES.items() if name.endswith(suffix)), None)


def _common(first: pa.Schema | None, rows: FileRows, columns: Sequence[str] | None, name: str) -> pa.Schema:
    """Return the columns that are adopted, in the types of the first file."""
    columns_of_file = first.names if first is not None else columns or rows.schema.names
    for column in columns_of_file:
        if column not in rows.schema.names:
            raise SchemaError(
                f"{name} has no column {column!r}, which the other files have or columns=... names"
            )
    schema = pa.schema([rows.schema.field(column) for column in columns_of_file])
    if first is None:
        return schema
    for field in first:
        check_type(schema.field(field.name).type, field, name)
    return first
