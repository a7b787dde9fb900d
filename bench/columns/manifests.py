"""Manifests of column groups to bytes and back, against fastavro with the same schema.

fastavro works in C, on dictionaries. It is timed twice: with what it takes to get from and to the same objects, and
alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import partial
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
        raw, record = encode(manifest), _record(manifest)
        times = max(1, work // files)
        assert decode(raw) == _to_objects(raw) == manifest
        assert decode(_written(record)) == manifest
        note = f"{len(raw) / 1e6:,.3f} MB" + (f", {times:,} times" if times > 1 else "")
        for what, other, ours, theirs in (
            ("encode", "fastavro, objects", partial(encode, manifest), partial(_from_objects, manifest)),
            ("encode", "fastavro, dicts", partial(encode, manifest), partial(_written, record)),
            ("decode", "fastavro, objects", partial(decode, raw), partial(_to_objects, raw)),
            ("decode", "fastavro, dicts", partial(decode, raw), partial(_read, raw)),
        ):
            mine, its = (timed(_again(action, times), repeat=repeat) for action in (ours, theirs))
            found.append(Comparison(f"{what} a manifest of {files:,} files", mine, other, its, note))
    return found


def _again(action: Callable[[], object], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            action()

    return run


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


def _record(manifest: Manifest) -> dict[str, Any]:
    groups = [
        {
            "columns": list(group.columns),
            "files": [
                {
                    "path": file.path,
                    "start_index": file.start_index,
                    "end_index": file.end_index,
                    "properties": file.properties,
                }
                for file in group.files
            ],
            "format": group.format,
        }
        for group in manifest.column_groups
    ]
    return {"column_groups": groups, "delta_logs": [], "stats": {}, "indexes": [], "lob_files": []}


def _from_objects(manifest: Manifest) -> bytes:
    return _written(_record(manifest))


def _to_objects(raw: bytes) -> Manifest:
    groups = (
        ColumnGroup(
            tuple(group["columns"]),
            group["format"],
            tuple(
                ColumnGroupFile(
                    file["path"], file["start_index"], file["end_index"], properties=file["properties"]
                )
                for file in group["files"]
            ),
        )
        for group in _read(raw)["column_groups"]
    )
    return Manifest(tuple(groups))
