"""The figures of a task: what it has counted goes to the JVM in the last row, which the jar removes.

That row has text in a column of its own, and nulls in the others. In all other rows this column is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import orjson
import pyarrow as pa

from indextables.runtime import current, difference
from indextables.split import CacheLooks
from indextables.storage import request_figures
from indextables.table import ROWS_FETCHED, SPLITS_SEARCHED

NAME: Final = "__figures"
_EMPTY: Final = {pa.string(): "", pa.int64(): 0}
"""What the row of the figures has in columns that are never null: those that name a row."""


def with_figures(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a task, all of this schema, with the column of figures, and then the row that has them.

    A worker of Spark runs one task at a time, so what its process counts is of this task. A reader that stops
    before the last row, because it has enough rows, gets no figures.
    """
    extended = schema.append(figures_column(schema))
    before = current().counters.values()
    for batch in batches:
        nulls = pa.nulls(batch.num_rows, pa.string())
        yield pa.RecordBatch.from_arrays([*batch.columns, nulls], schema=extended)
    counts = difference(current().counters.values(), before)
    figures = orjson.dumps({"counts": counts, "metrics": metrics(counts)}).decode()
    empty = [
        pa.nulls(1, column.type) if column.nullable else pa.array([_EMPTY[column.type]], column.type)
        for column in schema
    ]
    yield pa.RecordBatch.from_arrays([*empty, pa.array([figures], pa.string())], schema=extended)


def figures_column(schema: pa.Schema) -> pa.Field:
    """Return the column of figures. The jar finds the same name: it gets underscores while a column has it already.

    >>> figures_column(pa.schema({"__Figures": pa.int64()})).name
    '__figures_'
    """
    taken = {name.lower() for name in schema.names}
    name = NAME
    while name in taken:
        name += "_"
    return pa.field(name, pa.string())


def metrics(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the metrics of a scan by their names in Spark's UI, from what a task has counted.

    >>> metrics({"scan.rows_fetched": 3, "storage.get.fetched": 512, "storage.map.fetched": 8})
    {'splitsSearched': 0, 'rowsFetched': 3, 'bytesRead': 520, 'cacheHits': 0, 'cacheMisses': 0}
    """
    looks = CacheLooks.of(counts)
    return {
        "splitsSearched": counts.get(SPLITS_SEARCHED, 0),
        "rowsFetched": counts.get(ROWS_FETCHED, 0),
        "bytesRead": sum(figures.bytes_fetched for figures in request_figures(counts)),
        "cacheHits": looks.hits,
        "cacheMisses": looks.misses,
    }
