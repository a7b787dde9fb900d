"""The footer of a Parquet member, with what is worked out from it once: parsing it costs more than a search does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from indextables.runtime import ForkSafeLock
from indextables.split.pages import PageDirectory
from indextables.split.retained import Retained

RowIds: TypeAlias = npt.NDArray[np.int64]


class ColumnKind(NamedTuple):
    """Where a column stands in the footer and how Parquet stores it: the same in every row group of a file of ours."""

    place: int
    physical_type: str
    codec: str


@dataclass(frozen=True)
class Footer:
    """A footer, and the directory of the pages if the split has one."""

    metadata: pq.FileMetaData
    pages: PageDirectory | None

    @cached_property
    def starts(self) -> RowIds:
        """The first row of each group, and one past the last row of all."""
        meta = self.metadata
        counts = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def group_bytes(self) -> list[int]:
        meta = self.metadata
        return [int(meta.row_group(group).total_byte_size) for group in range(meta.num_row_groups)]

    @cached_property
    def columns(self) -> dict[str, ColumnKind]:
        if not self.metadata.num_row_groups:
            return {}
        group = self.metadata.row_group(0)
        found = [group.column(index) for index in range(group.num_columns)]
        return {
            column.path_in_schema: ColumnKind(place, column.physical_type, column.compression)
            for place, column in enumerate(found)
        }

    def indices(self, names: Sequence[str]) -> list[int]:
        return [self.columns[name].place for name in names]


class Footers:
    """Footers that were read lately, by the name of what they are of."""

    def __init__(self, most: int) -> None:
        self._known = Retained[str, Footer](most)
        self._lock = ForkSafeLock()

    def get(self, name: str, read: Callable[[], Footer]) -> Footer:
        with self._lock:
            found = self._known.get(name)
        if found is not None:
            return found
        fresh = read()
        with self._lock:
            self._known.put(name, fresh)
        return fresh


FOOTERS: Final = Footers(128)
