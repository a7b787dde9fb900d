"""The columns of a dataset and their types, which are in its files and not in the manifest.

`columns.write` stores the schema too, as the one file of the statistic `indextables.schema`, with its checksum. It has
the order of the columns. It also has the types of groups without a file, and of groups that still begin with the file
that they began with when the schema was stored: no file of these groups is opened.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.columns.file_formats import open_rows
from indextables.columns.layout import STATS_DIR
from indextables.columns.manifest import ColumnGroup, ColumnGroupFile, Manifest, Statistics
from indextables.columns.stored_files import Files
from indextables.errors import SchemaError
from indextables.runtime import new_id
from indextables.storage import Store

SCHEMA_STAT: Final = "indextables.schema"
_FIRST_FILES: Final = "first_files"
_CHECKSUM: Final = "crc32"


@dataclass(frozen=True)
class _Noted:
    fields: Mapping[str, pa.Field]
    first_files: frozenset[str]


def store_schema(store: Store, schema: pa.Schema, groups: Iterable[ColumnGroup]) -> Statistics:
    """Store the schema; return the statistic that names it.

    Its metadata has the checksum of the file, and the names of the files that the groups begin with.
    """
    key = f"{STATS_DIR}/schema-{new_id()}.arrow"
    raw = schema.serialize().to_pybytes()
    store.put(key, raw)
    first = ",".join(_name(group.files[0]) for group in groups if group.files)
    return Statistics((f"{store.uri}/{key}",), {_FIRST_FILES: first, _CHECKSUM: f"{zlib.crc32(raw):08x}"})


def dataset_schema(manifest: Manifest, files: Files) -> pa.Schema:
    """Return the schema of a version, whose paths are addresses."""
    noted = _read_notes(manifest, files)
    fields: dict[str, pa.Field] = {}
    for group in manifest.column_groups:
        fields |= _of_group(group, files, noted)
    stored = [name for name in noted.fields if name in fields]
    ordered = stored + [name for name in fields if name not in noted.fields]
    return pa.schema([fields[name] for name in ordered])


def _of_group(group: ColumnGroup, files: Files, noted: _Noted) -> dict[str, pa.Field]:
    unknown = [name for name in group.columns if name not in noted.fields]
    if group.files and (unknown or _name(group.files[0]) not in noted.first_files):
        first = group.files[0]
        stored = open_rows(group.format, files.open(first.path, first.properties)).schema
        missing = [name for name in group.columns if name not in stored.names]
        if missing:
            raise SchemaError(f"{first.path} has no column {missing[0]!r}, though the manifest names it")
        # Other files of the group may have nulls where the first has none.
        return {name: pa.field(name, stored.field(name).type) for name in group.columns}
    if unknown:
        raise SchemaError(
            f"the type of column {unknown[0]!r} is unknown, as no file has it; open the dataset with schema=..."
        )
    return {name: noted.fields[name] for name in group.columns}


def _read_notes(manifest: Manifest, files: Files) -> _Noted:
    statistics = manifest.stats.get(SCHEMA_STAT)
    if statistics is None or not statistics.paths:
        return _Noted({}, frozenset())
    file = files.open(statistics.paths[0])
    raw = file.range(0, file.size)
    checksum = statistics.metadata.get(_CHECKSUM)
    if checksum is not None and checksum != f"{zlib.crc32(raw):08x}":
        raise file.damaged("its checksum is wrong")
    with file.decoding():
        schema = pa.ipc.read_schema(pa.py_buffer(raw))
        fields = {field.name: pa.field(field.name, field.type) for field in schema}
    return _Noted(fields, frozenset(statistics.metadata.get(_FIRST_FILES, "").split(",")))


def _name(file: ColumnGroupFile) -> str:
    return file.path.rpartition("/")[2]
