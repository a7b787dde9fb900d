"""The sizes of the parts of splits: what of a table is index, what is rows, and what the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson
import pyarrow as pa

from indextables.log import Snapshot
from indextables.predicates import TRUE, Predicate
from indextables.runtime import current
from indextables.split import components, open_bundle
from indextables.state import KEY
from indextables.storage import Store

COMPONENT_SCHEMA: Final = pa.schema(
    {
        "split_path": pa.string(),
        "partition_values": pa.string(),
        "component_key": pa.string(),
        "size_bytes": pa.int64(),
        "component_type": pa.string(),
        "field_name": pa.string(),
        "percent": pa.float64(),
    }
)
_READERS: Final = 16


def component_sizes(store: Store, snapshot: Snapshot, predicate: Predicate = TRUE) -> pa.Table:
    """Return one row for each part of each split that may hold a row for which the predicate is TRUE.

    One request, of the end of the file, is made for each split. CorruptTableError if a split cannot be read.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-components", pa.table({"n": [1]}))
    >>> sizes = it.open("memory://doc-components").component_sizes()
    >>> sorted(set(sizes.column("component_type").to_pylist()))[:4]
    ['fastfield', 'fieldnorm', 'footer', 'metadata']
    """
    files = snapshot.prune(predicate).entries.select([KEY, "size", "partitionValues"]).to_pylist()

    def rows(file: Mapping[str, object]) -> list[dict[str, object]]:
        key, size = str(file[KEY]), file["size"]
        bundle = open_bundle(store, key, size if isinstance(size, int) else None)
        values = file["partitionValues"]
        partition = orjson.dumps(dict(values) if isinstance(values, list) else {}).decode()
        return [
            {
                "split_path": key,
                "partition_values": partition,
                "component_key": part.key,
                "size_bytes": part.size,
                "component_type": part.type,
                "field_name": part.field_name,
                "percent": 100 * part.size / bundle.size,
            }
            for part in components(bundle)
        ]

    batches = [
        pa.RecordBatch.from_pylist(part, schema=COMPONENT_SCHEMA)
        for part in current().threads.map(rows, files, _READERS)
    ]
    return pa.Table.from_batches(batches, schema=COMPONENT_SCHEMA)
