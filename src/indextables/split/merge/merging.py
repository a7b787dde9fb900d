"""Merging splits: by linking them where that is possible, else by indexing their rows again.

To index again, the rows of all sources stream through one writer, so that memory does not grow with the sources. This
works for every split that can be read, whatever its mapping, its tokenizer and its writer.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from indextables.config import Settings
from indextables.errors import InputError, StorageFullError
from indextables.schema import FieldMapping, TableSchema
from indextables.split.assembly import FinishedSplit
from indextables.split.merge.index_linking import CannotLinkError
from indextables.split.merge.linking import link_splits
from indextables.split.merge.sources import MergeSource, source_rows
from indextables.split.writer import SplitWriter
from indextables.storage import SCRATCH_ADVICE, disk_errors

_log: Final = logging.getLogger(__name__)

_DISK_SHARE: Final = 4
"""Indexes are compressed in a split, to about two thirds of their size."""

_MAX_HEAP: Final = 256 << 20
"""A merge runs next to a process that writes or searches, on its own account: its index writer takes at most this."""

MergeMethod: TypeAlias = Literal["linked", "indexed again"]


@dataclass(frozen=True)
class MergedSplit(FinishedSplit):
    """A split with the rows of its sources, on local disk, and how it was made.

    `reason` says why its rows were indexed again; it is None for a linked split. `rewritten` says why the rows of a
    linked split were written again; it is None if they were copied.
    """

    method: MergeMethod = "indexed again"
    reason: str | None = None
    rewritten: str | None = None


def merge_splits(
    sources: Sequence[MergeSource],
    *,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    directory: Path,
) -> MergedSplit:
    """Merge splits of one partition into one split in `directory`, with their rows in the order of `sources`.

    `mapping` and `schema` are those of the table without the partition columns. UnreadableSplitError names the source
    that cannot be read. On any error nothing remains in `directory`.
    """
    if not sources:
        raise InputError("a merge needs at least one split")
    _check_disk(sources, directory)
    try:
        linked = link_splits(sources, mapping=mapping, schema=schema, settings=settings, directory=directory)
    except CannotLinkError as reason:
        _log.debug("%d splits are indexed again: %s", len(sources), reason)
        return _index_again(
            sources, str(reason), mapping=mapping, schema=schema, settings=settings, directory=directory
        )
    return MergedSplit(**vars(linked.split), method="linked", rewritten=linked.rewritten)


def _check_disk(sources: Sequence[MergeSource], directory: Path) -> None:
    """Raise StorageFullError if the directory may not have enough space, before anything is written to it.

    A merge of either kind has at most the indexes of its sources, the merged index, the merged rows and the container
    on disk at one time.
    """
    size = sum(source.size or 0 for source in sources)
    with disk_errors("merge splits in", str(directory), SCRATCH_ADVICE):
        directory.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(directory).free
    if free < _DISK_SHARE * size:
        raise StorageFullError(
            f"cannot merge {len(sources)} splits of {size} bytes: this takes up to {_DISK_SHARE * size} bytes in "
            f"{directory}, where {free} are free. Free some space, {SCRATCH_ADVICE}"
        )


def _index_again(
    sources: Sequence[MergeSource],
    reason: str,
    *,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    directory: Path,
) -> MergedSplit:
    writer = SplitWriter(schema, mapping, settings=settings, directory=directory, max_heap=_MAX_HEAP)
    try:
        for source in sources:
            for batch in source_rows(source, mapping=mapping, schema=schema, settings=settings):
                writer.write(batch)
        return MergedSplit(**vars(writer.finish()), method="indexed again", reason=reason)
    except BaseException:
        writer.abort()
        raise
