"""Splits as other writers make them: a Quickwit bundle of an index that stores its documents."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import tantivy

FIXTURES = Path(__file__).resolve().parents[3] / "shared" / "fixtures" / "indextables-0.5.4"
TABLES = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()) if FIXTURES.is_dir() else []

FOOTER = struct.Struct("<II")
U32 = struct.Struct("<I")


def pack(files: Iterable[tuple[str, bytes]], target: Path, hotcache: bytes = b"hot") -> Path:
    """One bundle of the files, without the checksums that this package adds."""
    table, content = {}, b""
    for name, data in files:
        table[name] = {"start": len(content), "end": len(content) + len(data)}
        content += data
    meta = FOOTER.pack(403881646, 1) + orjson.dumps({"files": table})
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content + meta + U32.pack(len(meta)) + hotcache + U32.pack(len(hotcache)))
    return target


def write_foreign(
    target: Path,
    schema: tantivy.Schema,
    segments: list[list[dict[str, Any]]],
    *,
    delete: tuple[str, Any] | None = None,
) -> Path:
    """A split with one segment for each list of documents; `delete` is a field and a value to delete by."""
    directory = target.parent / f".{target.name}"
    directory.mkdir(parents=True)
    index = tantivy.Index(schema, str(directory))
    writer = index.writer(15_000_000, 1)
    for documents in segments:
        for document in documents:
            writer.add_document(tantivy.Document.from_dict(document, schema))
        writer.commit()
    if delete is not None:
        writer.delete_documents_by_term(*delete)
        writer.commit()
    writer.wait_merging_threads()
    names = [path.name for path in sorted(directory.iterdir()) if not path.name.endswith(".lock")]
    files = [(name, (directory / name).read_bytes()) for name in names]
    return pack([*files, ("split_fields", b"")], target)
