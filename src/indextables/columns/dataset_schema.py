"""The columns of a dataset and their types, which a manifest does not tell: the files do.

Rows that are written through `columns.write` leave their schema beside them, as the one file of the statistic
`indextables.schema`. It gives the order of the columns, and the types of those that have no file yet.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from indextables.columns.formats import open_rows
from indextables.columns.layout import STATS_DIR
from indextables.columns.manifest import ColumnGroup, Manifest
from indextables.columns.stored_files import Files
from indextables.errors import SchemaError
from indextables.storage import Store

SCHEMA_STAT: Final = "indextables.schema"


def store_schema(store: Store, schema: pa.Schema) -> str:
    """Put the schema into the store; its address, for the statistic."""
    key = f"{STATS_DIR}/schema-{uuid.uuid4()}.arrow"
    store.put(key, schema.serialize().to_pybytes())
    return f"{store.uri}/{key}"


def dataset_schema(manifest: Manifest, files: Files) -> pa.Schema:
    """The schema of a version, whose paths are addresses. Files tell a column's type; all but that is a hint."""
    noted = _noted(manifest, files)
    found: dict[str, pa.Field] = {}
    for group in manifest.column_groups:
        found |= _of_group(group, files, noted)
    ordered = [name for name in noted if name in found] + [name for name in found if name not in noted]
    return pa.schema([found[name] for name in ordered])


def _of_group(group: ColumnGroup, files: Files, noted: Mapping[str, pa.Field]) -> dict[str, pa.Field]:
    if group.files:
        first = group.files[0]
        stored = open_rows(group.format, files.open(first.path, first.properties)).schema
        missing = [name for name in group.columns if name not in stored.names]
        if missing:
            raise SchemaError(f"{first.path} has no column {missing[0]!r}, and the manifest says it has")
        # Other files of the group may have nulls where the first has none.
        return {name: pa.field(name, stored.field(name).type) for name in group.columns}
    unknown = [name for name in group.columns if name not in noted]
    if unknown:
        raise SchemaError(
            f"no file tells the type of column {unknown[0]!r}; open the dataset with schema=..."
        )
    return {name: noted[name] for name in group.columns}


def _noted(manifest: Manifest, files: Files) -> dict[str, pa.Field]:
    statistics = manifest.stats.get(SCHEMA_STAT)
    if statistics is None or not statistics.paths:
        return {}
    file = files.open(statistics.paths[0])
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(file.range(0, file.size)))
    except (pa.ArrowException, OSError, ValueError) as reason:
        raise file.damaged(reason) from reason
    return {field.name: pa.field(field.name, field.type) for field in schema}
