"""Merging the indexes of splits without indexing: their segments in one directory, which the engine merges into one.

The engine has no call to merge segments. It merges segments by its policy: those of a similar number of documents, if
one of them has more deleted documents than documents. So every segment gets a file of deletes in which no document is
deleted, and an entry in `meta.json` that claims as many deleted documents as make the number of the others, which the
policy computes modulo 2^32, the same for all segments. What the merge really does follows the file. The result is
verified: one segment, and one document for each row id.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import tantivy

from indextables.rows import RowIds
from indextables.split.index import (
    META,
    MIN_HEAP_BYTES,
    ROW,
    BuiltIndex,
    IndexFields,
    RowRuns,
    built_index,
    is_engine_failure,
    register_tokenizers,
)
from indextables.storage import SCRATCH_ADVICE, disk_error, system_error

_MANAGED: Final = ".managed.json"
_FOOTER: Final = struct.Struct("<II")
_FOOTER_MAGIC: Final = 1337
_ENGINE: Final = {"major": 0, "minor": 27, "patch": 0, "index_format_version": 7}
_DELETES_STAMP: Final = 1
_MAX_DOCUMENTS: Final = 10_000_000
"""The policy leaves segments of more documents alone."""

_IDS_AT_ONCE: Final = 1 << 16


class CannotLinkError(Exception):
    """The splits cannot be merged without indexing their rows again; the message says why."""


def link_indexes(
    directories: Sequence[Path], target: Path, fields: IndexFields, row_runs: RowRuns
) -> BuiltIndex:
    """Merge indexes, which are moved from their directories, into one segment in `target`.

    CannotLinkError if they differ, or if the result is not an index with one document for each row id.
    """
    with _engine_failures(target):
        _link_segments(directories, target)
        opened = tantivy.Index.open(str(target))
        register_tokenizers(opened, fields)
        writer = opened.writer(MIN_HEAP_BYTES, 1)
        writer.commit()
        writer.wait_merging_threads()
        index = built_index(target, fields, row_runs.num_rows)
        _check_ids(tantivy.Index.open(str(target)).searcher(), row_runs)
    return index


def _link_segments(directories: Sequence[Path], target: Path) -> None:
    """Move the files of all segments to `target` under new names, and describe them in one `meta.json`."""
    metas = [orjson.loads((directory / META).read_bytes()) for directory in directories]
    if any(_settings(meta) != _settings(metas[0]) for meta in metas):
        raise CannotLinkError("their indexes have different fields or settings")
    documents = [segment["max_doc"] for meta in metas for segment in meta["segments"]]
    if max(documents) >= _MAX_DOCUMENTS:
        raise CannotLinkError(f"one of their segments has {max(documents)} rows")
    claimed = max(documents) + 1
    entries: list[dict[str, Any]] = []
    for directory, meta in zip(directories, metas, strict=True):
        for segment in meta["segments"]:
            if segment.get("deletes"):
                raise CannotLinkError("one of their indexes has deleted documents")
            name, old = uuid.uuid4(), segment["segment_id"].replace("-", "")
            for file in directory.glob(f"{old}.*"):
                file.rename(target / f"{name.hex}{file.name.removeprefix(old)}")
            count = segment["max_doc"]
            (target / f"{name.hex}.{_DELETES_STAMP}.del").write_bytes(_no_deletes(count))
            deletes = {"num_deleted_docs": (1 << 32) + count - claimed, "opstamp": _DELETES_STAMP}
            entries.append({**segment, "segment_id": str(name), "deletes": deletes})
    names = [path.name for path in target.iterdir()]
    (target / META).write_bytes(
        orjson.dumps({**metas[0], "segments": entries, "opstamp": _DELETES_STAMP + 1})
    )
    (target / _MANAGED).write_bytes(orjson.dumps([*names, META]))


def _settings(meta: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in meta.items() if key in ("index_settings", "schema")}


def _no_deletes(documents: int) -> bytes:
    """Return a file of deletes in which all documents are alive: their number, a bit for each, Tantivy's footer."""
    words = np.full(-(-documents // 64), 0xFFFFFFFFFFFFFFFF, dtype="<u8")
    if documents % 64:
        words[-1] = (1 << documents % 64) - 1
    content = documents.to_bytes(4, "little") + words.tobytes()
    footer = orjson.dumps({"version": _ENGINE, "crc": zlib.crc32(content)})
    return content + footer + _FOOTER.pack(len(footer), _FOOTER_MAGIC)


def _check_ids(searcher: tantivy.Searcher, row_runs: RowRuns) -> None:
    """Check that the documents have the ids of all rows, each once."""
    rows = row_runs.num_rows
    if searcher.num_docs != rows or searcher.num_segments != 1:
        raise CannotLinkError(
            f"the merged index has {searcher.num_segments} segments and {searcher.num_docs} documents for {rows} rows"
        )
    seen = np.zeros(rows, dtype=np.bool_)
    for start in range(0, rows, _IDS_AT_ONCE):
        addresses = [tantivy.DocAddress(0, n) for n in range(start, min(start + _IDS_AT_ONCE, rows))]
        ids: RowIds = np.array(searcher.fast_field_values(ROW, addresses), dtype=np.int64)
        seen[row_runs.rows(ids)] = True
    if not seen.all():  # as many documents as rows: each id is there, or another one twice
        raise CannotLinkError(f"the merged index lacks {int((~seen).sum())} of {rows} row ids")


@contextmanager
def _engine_failures(directory: Path) -> Iterator[None]:
    """Raise what the engine cannot do as CannotLinkError, and a failure of the disk as a StorageError."""
    try:
        yield
    except BaseException as failure:
        if not (is_engine_failure(failure) or isinstance(failure, (KeyError, TypeError))):
            raise
        cause = system_error(failure)
        if cause is not None:
            raise disk_error("merge indexes in", str(directory), cause, SCRATCH_ADVICE) from failure
        raise CannotLinkError(f"the engine cannot merge their indexes: {failure}") from failure
