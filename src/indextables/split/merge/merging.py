"""Merging splits: by linking them where that is possible, else by indexing their rows again.

To index again, the rows of all sources stream through one writer, so that memory does not grow with the sources. This
works for every split that can be read, whatever its mapping, its tokenizer and its writer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from indextables.config import Settings
from indextables.errors import InputError
from indextables.schema import FieldMapping, TableSchema
from indextables.split.merge.index_linking import CannotLinkError
from indextables.split.merge.linking import link_splits
from indextables.split.merge.sources import MergeSource, source_rows
from indextables.split.writer import FinishedSplit, SplitWriter

_log: Final = logging.getLogger(__name__)

MergeMethod: TypeAlias = Literal["linked", "indexed again"]


@dataclass(frozen=True)
class MergedSplit(FinishedSplit):
    """A split with the rows of its sources, on local disk, and how it was made.

    `reason` says why its rows were indexed again; it is None for a linked split.
    """

    method: MergeMethod = "indexed again"
    reason: str | None = None


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
    try:
        linked = link_splits(sources, mapping=mapping, schema=schema, settings=settings, directory=directory)
    except CannotLinkError as reason:
        _log.debug("%d splits are indexed again: %s", len(sources), reason)
        return _index_again(
            sources, str(reason), mapping=mapping, schema=schema, settings=settings, directory=directory
        )
    return MergedSplit(**vars(linked), method="linked")


def _index_again(
    sources: Sequence[MergeSource],
    reason: str,
    *,
    mapping: FieldMapping,
    schema: TableSchema,
    settings: Settings,
    directory: Path,
) -> MergedSplit:
    writer = SplitWriter(schema, mapping, settings=settings, directory=directory)
    try:
        for source in sources:
            for batch in source_rows(source, mapping=mapping, schema=schema, settings=settings):
                writer.write(batch)
        return MergedSplit(**vars(writer.finish()), method="indexed again", reason=reason)
    except BaseException:
        writer.abort()
        raise
