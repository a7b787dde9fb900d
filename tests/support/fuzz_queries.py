"""The fuzz target for the query language: any text is bound to columns of every kind, and counted in a small split."""

from __future__ import annotations

import atexit
import datetime as dt
import functools
import shutil
import tempfile
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import QueryError
from indextables.predicates import TextQuery
from indextables.schema import FieldMapping, TableSchema
from indextables.split import SplitReader, SplitWriter, check_text_query, open_split
from support.faults import MemoryStore

Target = Callable[[bytes], None]

_ROWS = 12
_KINDS = pa.schema(
    {
        "t": pa.string(),
        "s": pa.string(),
        "n": pa.int64(),
        "f": pa.float64(),
        "b": pa.bool_(),
        "d": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "price": pa.decimal128(8, 2),
        "wide": pa.decimal128(38, 4),
        "ip": pa.string(),
        "tags": pa.list_(pa.string()),
        "times": pa.list_(pa.timestamp("us")),
        "user": pa.struct({"name": pa.string(), "at": pa.timestamp("us", "UTC")}),
        "attrs": pa.map_(pa.string(), pa.string()),
        "seen": pa.map_(pa.string(), pa.timestamp("us")),
        "bytes": pa.binary(),
    }
)
_SCHEMA = TableSchema.from_arrow(_KINDS)
_EVERY_KIND = FieldMapping.of(_SCHEMA, (), {"t": "text", "ip": "ip"})
_ASKED = [
    (op, column)
    for op, columns in {
        "TEXTSEARCH": ["t", "*"],
        "FIELDMATCH": ["s", "ip", "attrs", "*"],
        "INDEXQUERY": [*_KINDS.names, "user.name", "user.at", "attrs.k", "seen.k", "*"],
    }.items()
    for column in columns
]


def query_text(data: bytes) -> None:
    """Bind any text by every operator to a column of every kind, and to all columns. Raise if all refuse it.

    Two of those that bind, which the text chooses, are counted: all would leave few inputs in the time of a run.
    """
    text, refusals, accepted = data.decode(errors="replace"), [], []
    for op, column in _ASKED:
        query = TextQuery(op, column, text, now=0)
        try:
            check_text_query(query, _EVERY_KIND, max_all_fields=10)
        except QueryError as refusal:
            refusals.append(refusal)
        else:
            accepted.append(query)
    chosen = zlib.crc32(data)
    for query in {accepted[(chosen + at) % len(accepted)] for at in (0, 7)} if accepted else ():
        with _split() as split:
            assert 0 <= split.count(query) <= _ROWS, query
    if not accepted:
        raise refusals[-1]


@functools.cache
def _split() -> SplitReader:
    """Return a split of few rows. It can be used again after a `with` block, which drops the results of searches."""
    root = Path(tempfile.mkdtemp(prefix="indextables-fuzz-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    settings = Settings({keys.CACHE_DIRECTORY.key: str(root / "cache")})
    writer = SplitWriter(_SCHEMA, _EVERY_KIND, settings=settings, directory=root)
    writer.write(pa.RecordBatch.from_pylist([_row(n) for n in range(_ROWS)], _KINDS))
    store = MemoryStore()
    store.put("kinds.split", writer.finish().path.read_bytes())
    return open_split(store, "kinds.split", settings=settings, mapping=_EVERY_KIND)


def _row(n: int) -> dict[str, object]:
    """Return a row with values that the seeds ask for; in some, columns are null."""
    moment = dt.datetime(2024, 5, 1 + n, 12)
    row: dict[str, object] = {
        "t": f"alpha beta{n} gamma a b foo",
        "s": f"v{n % 3}",
        "n": n,
        "f": n / 4,
        "b": n % 2 == 0,
        "d": moment.date(),
        "ts": moment.replace(tzinfo=dt.UTC),
        "local": moment,
        "price": Decimal(n) / 4,
        "wide": Decimal(10) ** 30 + n,
        "ip": f"10.0.0.{n}",
        "tags": ["abc", f"x{n}"],
        "times": [moment],
        "user": {"name": f"\\\\server\\share\\dir{n}", "at": moment.replace(tzinfo=dt.UTC)},
        "attrs": [("k", f"a{n}")],
        "seen": [("k", moment)],
        "bytes": bytes([n]),
    }
    return {name: None if (n + at) % 7 == 0 else value for at, (name, value) in enumerate(row.items())}


QUERY_SEEDS: dict[Target, list[bytes]] = {
    query_text: [
        b'alpha AND (beta* OR -gamma) "a b"~2 t:[a TO c} x^2.5',
        b"t:IN [a b] foo~1 NOT bar t:* it\\(s 'it'",
        b'ip:10.0.0.0/8 OR price:[1 TO 2.5} OR seen.k:"2024-05-01T12:00:00" OR local:2024-05 OR ts:>=now-1d/d',
        b'n:>5 b:true d:2024-01-31||+1M user.name:"\\\\server\\share\\dir" attrs.k: IN [a b] tags:/a(b|c)/ s:"C:\\x*"',
    ],
}
