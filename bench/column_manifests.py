"""Manifests of column groups to bytes and back, against fastavro with the same schema, from and to plain records."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import fastavro

from bench.measure import Comparison, timed
from indextables.columns import ColumnGroup, ColumnGroupFile, Manifest
from indextables.columns.codec import decode, encode
from indextables.columns.schemas import schema

FILES = (10, 1_000, 100_000)
GROUPS = 2


def measure(
    say: Callable[[str], None], *, repeat: int, sizes: Iterable[int] = FILES, work: int = 10_000
) -> list[Comparison]:
    """Version 6, two column groups; small manifests are coded again and again, to `work` files in a run."""
    found = []
    for files in sizes:
        say(f"coding manifests of {files:,} files")
        manifest = _manifest(files)
        raw = encode(manifest)
        record = _read(raw)
        times = max(1, work // files)
        assert decode(raw) == manifest
        assert decode(_written(record)) == manifest

        def encode_ours(manifest: Manifest = manifest, times: int = times) -> None:
            for _ in range(times):
                encode(manifest)

        def encode_theirs(record: dict[str, Any] = record, times: int = times) -> None:
            for _ in range(times):
                _written(record)

        def decode_ours(raw: bytes = raw, times: int = times) -> None:
            for _ in range(times):
                decode(raw)

        def decode_theirs(raw: bytes = raw, times: int = times) -> None:
            for _ in range(times):
                _read(raw)

        note = f"{len(raw) / 1e6:,.3f} MB" + (f", {times:,} times" if times > 1 else "")
        for what, ours, theirs in (
            ("encode", encode_ours, encode_theirs),
            ("decode", decode_ours, decode_theirs),
        ):
            mine, its = timed(ours, repeat=repeat), timed(theirs, repeat=repeat)
            found.append(Comparison(f"{what} a manifest of {files:,} files", mine, "fastavro", its, note))
    return found


def _manifest(files: int) -> Manifest:
    """As a writer leaves it: files with random names, of known sizes."""

    def group(number: int, *columns: str) -> ColumnGroup:
        each = (
            ColumnGroupFile(
                f"{number}_{n * 0x9E3779B97F4A7C15 % (1 << 128):032x}.parquet",
                0,
                100_000,
                properties={"file_size": str(10_000_000 + n), "footer_size": "4096"},
            )
            for n in range(files // GROUPS)
        )
        return ColumnGroup(columns, "parquet", tuple(each))

    return Manifest((group(0, "id", "day", "level"), group(1, "vector")))


_SCHEMA = fastavro.parse_schema(schema(6))


def _written(record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, _SCHEMA, [record])
    return out.getvalue()


def _read(raw: bytes) -> dict[str, Any]:
    record: dict[str, Any] = next(fastavro.reader(io.BytesIO(raw)))
    return record
