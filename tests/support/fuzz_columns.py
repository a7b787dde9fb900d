"""Fuzz targets for the readers of a dataset: Parquet files, their footers, delta logs and schemas.

Some targets take the bytes of the whole file, others make its checksums valid, so that those do not stop the fuzzer.
The targets for manifests are in `fuzz_targets`. There is none for damaged Vortex files without checksums, because some
of them end the process inside Vortex; `damaged_dataset` damages those with checksums byte by byte.
"""

from __future__ import annotations

import io
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Manifest,
    Reader,
    Statistics,
)
from indextables.columns.dataset_schema import SCHEMA_STAT, dataset_schema
from indextables.columns.file_checksums import PAGES, TAIL, Section
from indextables.columns.stored_files import FILE_SIZE, Files
from indextables.rows import checksums_and_pages, footer_size, page_options
from indextables.storage import open_store

ROWS = pa.table(
    {
        "id": pa.array(range(12), pa.int64()),
        "word": ["red", "green", None] * 4,
        "vector": pa.array([[float(n), 0.5] for n in range(12)], pa.list_(pa.float32())),
        "pair": [{"a": n, "b": b"x"} for n in range(12)],
    }
)


def _parquet(**options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(ROWS, out, row_group_size=5, **options)
    return out.getvalue()


def _read(path: str, properties: dict[str, str], file_format: str = "parquet") -> None:
    group = ColumnGroup(
        tuple(ROWS.schema.names), file_format, (ColumnGroupFile(path, 0, 12, b"", properties),)
    )
    reader = Reader(Manifest((group,)), ROWS.schema)
    reader.to_table("id > 3 AND word = 'red'", columns=["vector"]).to_pylist()
    reader.take([11, 0]).to_pylist()


def _stored(data: bytes, name: str) -> str:
    """Put the bytes into a store in memory, always at the same key, so that only the last input is kept."""
    store = open_store("memory:fuzz-columns")
    store.put(name, data)
    return f"{store.uri}/{name}"


def parquet_of_others(data: bytes) -> None:
    """Read any bytes as a Parquet file without noted properties."""
    _read(_stored(data, "a.parquet"), {})


def parquet_with_checked_footer(data: bytes) -> None:
    """Read a Parquet file with damaged rows, whose footer was noted when it was adopted."""
    footer = _PLAIN[-footer_size(_PLAIN, len(_PLAIN)) :]
    raw = data[: len(_PLAIN) - len(footer)].ljust(len(_PLAIN) - len(footer), b"\0") + footer
    _read(_stored(raw, "b.parquet"), {FILE_SIZE: str(len(raw)), TAIL: Section.of(footer).text()})


def parquet_footer(data: bytes) -> None:
    """Read a Parquet file with any bytes as its footer after valid rows."""
    rows = _PLAIN[: -footer_size(_PLAIN, len(_PLAIN))]
    parquet_of_others(rows + data + len(data).to_bytes(4, "little") + b"PAR1")


def page_directory(data: bytes) -> None:
    """A page directory whose checksum fits, in a file that is as it was otherwise."""
    footer = _PAGED[-footer_size(_PAGED, len(_PAGED)) :]
    raw = _PAGED[: -len(footer)] + data + footer
    stated = {TAIL: Section.of(footer).text(), PAGES: Section.of(data).text()}
    _read(_stored(raw, "p.parquet"), {FILE_SIZE: str(len(raw)), **stated})


def tail_property(data: bytes) -> None:
    _read(_stored(_PLAIN, "c.parquet"), {TAIL: data.decode("utf-8", "surrogateescape")})


def delta_log(data: bytes) -> None:
    """Read a delta log with any content and a valid checksum; the first byte chooses its type."""
    raw = data[1:]
    path = _stored(raw, f"d.crc32-{zlib.crc32(raw):08x}.parquet")
    try:
        kind = DeltaLogType(data[0] % len(DeltaLogType) if data else 0)
        manifest = Manifest((_GROUP,), (DeltaLog(path, 2, kind),))
        Reader(manifest, ROWS.schema, apply_deltas=True).to_table(columns=["id"])
    finally:
        open_store("memory:fuzz-columns").delete(path.rpartition("/")[2])


def schema_file(data: bytes) -> None:
    path = _stored(data, "schema.arrow")
    dataset_schema(Manifest((_GROUP,), (), {SCHEMA_STAT: Statistics((path,))}), Files())


def _deltas() -> list[bytes]:
    logs = []
    for kind, table in (
        (DeltaLogType.PRIMARY_KEY, pa.table({"id": [1, 3]})),
        (DeltaLogType.POSITIONAL, pa.table({"pos": [0, 4]})),
        (DeltaLogType.EQUALITY, pa.table({"id": [2, 3], "word": ["a", None]})),
    ):
        out = io.BytesIO()
        pq.write_table(table, out)
        logs.append(bytes([kind]) + out.getvalue())
    return logs


def _directory() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paged.parquet"
        path.write_bytes(_PAGED)
        _, directory = checksums_and_pages(path, 2)
    assert directory is not None
    return directory


_PAGED = _parquet(compression="none", use_dictionary=False, data_page_version="2.0", **page_options(2))
_PLAIN = _parquet(compression="none", use_dictionary=False, write_page_checksum=True)
_GROUP = ColumnGroup(
    tuple(ROWS.schema.names), "parquet", (ColumnGroupFile(_stored(_PLAIN, "rows.parquet"), 0, 12),)
)
SEEDS: dict[Callable[[bytes], None], list[bytes]] = {
    parquet_of_others: [_PLAIN, _parquet(), _parquet(data_page_version="2.0", compression="snappy")],
    parquet_with_checked_footer: [_PLAIN],
    parquet_footer: [_PLAIN[-footer_size(_PLAIN, len(_PLAIN)) : -8]],
    page_directory: [_directory()],
    tail_property: [Section.of(_PLAIN[-footer_size(_PLAIN, len(_PLAIN)) :]).text().encode()],
    delta_log: _deltas(),
    schema_file: [ROWS.schema.serialize().to_pybytes()],
}
