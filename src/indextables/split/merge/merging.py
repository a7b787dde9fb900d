"""Merging splits by indexing their rows again.

The rows of all sources stream through one writer, so that memory does not grow with the sources, and the statistics and
Bloom filters are those of a split written at once. This works for every split that can be read, whatever its mapping,
its tokenizer and its writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from indextables.config import Settings
from indextables.errors import InputError
from indextables.schema import FieldMapping, TableSchema
from indextables.split.merge.sources import MergeSource, source_rows
from indextables.split.writer import FinishedSplit, SplitWriter

MergeMethod: TypeAlias = Literal["indexed again"]


@dataclass(frozen=True)
class MergedSplit(FinishedSplit):
    """A split with the rows of its sources, on local disk, and how it was made.

    `reason` says why its rows were indexed again, if there is more to say than that they always are.
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
    return _index_again(sources, mapping=mapping, schema=schema, settings=settings, directory=directory)


def _index_again(
    sources: Sequence[MergeSource],
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
        return MergedSplit(**vars(writer.finish()), method="indexed again")
    except BaseException:
        writer.abort()
        raise
