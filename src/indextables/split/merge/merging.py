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
from indextables.errors import InputError, StorageFullError, UnreadableSplitError
from indextables.schema import FieldMapping, TableSchema
from indextables.split.assembly import FinishedSplit
from indextables.split.container import MAPPING, Bundle, open_bundle
from indextables.split.contents import SplitContents
from indextables.split.index_cache import index_bytes, verify_members
from indextables.split.merge.index_linking import CannotLinkError
from indextables.split.merge.linking import link_splits
from indextables.split.merge.sources import MergeSource, check_rows, source_errors, source_rows
from indextables.split.writer import SplitWriter
from indextables.storage import SCRATCH_ADVICE, disk_errors

_log: Final = logging.getLogger(__name__)

_FOREIGN_SHARE: Final = 4
"""What a split of another writer takes on disk while it is indexed again, as a multiple of its size."""

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
    that cannot be read, and all others that are damaged. On any error nothing remains in `directory`.
    """
    if not sources:
        raise InputError("a merge needs at least one split")
    try:
        return _merge(sources, mapping=mapping, schema=schema, settings=settings, directory=directory)
    except UnreadableSplitError as reason:
        # A merge stops at the first. Look for the others at once: the next merge of the group should be the last.
        reason.others = _damaged([source for source in sources if source.path != reason.path], settings)
        raise


def _merge(
    sources: Sequence[MergeSource],
    *,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    directory: Path,
) -> MergedSplit:
    bundles = [_open(source) for source in sources]
    _check_disk(bundles, directory)
    try:
        linked = link_splits(
            sources, bundles, mapping=mapping, schema=schema, settings=settings, directory=directory
        )
    except CannotLinkError as reason:
        _log.debug("%d splits are indexed again: %s", len(sources), reason)
        bundles.clear()  # the ends of the splits, which are in memory
        return _index_again(
            sources, str(reason), mapping=mapping, schema=schema, settings=settings, directory=directory
        )
    return MergedSplit(**vars(linked.split), method="linked", rewritten=linked.rewritten)


def _damaged(sources: Sequence[MergeSource], settings: Settings) -> tuple[UnreadableSplitError, ...]:
    """Read the sources once, and return an error for each that is damaged, as far as their checksums tell."""
    errors = []
    for source in sources:
        try:
            bundle = _open(source)
            with source_errors(source):
                verify_members(bundle)
                if MAPPING in bundle.members:
                    check_rows(SplitContents(bundle, settings).num_rows, source.num_records)
        except UnreadableSplitError as reason:
            errors.append(reason)
    return tuple(errors)


def _open(source: MergeSource) -> Bundle:
    with source_errors(source):
        return open_bundle(source.store, source.path, source.size)


def _check_disk(bundles: Sequence[Bundle], directory: Path) -> None:
    """Raise StorageFullError if the directory may not have enough space, before anything is written to it."""
    size, need = sum(bundle.size for bundle in bundles), sum(map(_needed_bytes, bundles))
    with disk_errors("merge splits in", str(directory), SCRATCH_ADVICE):
        directory.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(directory).free
    if free < need:
        raise StorageFullError(
            f"cannot merge {len(bundles)} splits of {size} bytes: this takes up to {need} bytes in "
            f"{directory}, where {free} are free. Free some space, {SCRATCH_ADVICE}"
        )


def _needed_bytes(bundle: Bundle) -> int:
    """Return the space on disk that a source takes.

    A merge of either kind has at most the indexes of its sources, the merged index, the merged rows and the container
    on disk at one time. Indexes are compressed in a container, to any part of their size, and it has the rows as they
    are.
    """
    if MAPPING not in bundle.members:
        return _FOREIGN_SHARE * bundle.size
    return 2 * (index_bytes(bundle) + bundle.size)


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
