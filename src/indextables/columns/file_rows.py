"""What a file format has to offer: rows going in, and rows coming out by number, in pieces that are read alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from indextables.predicates import Bounds
from indextables.rows import RowIds

NO_ROWS: Final[RowIds] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class WriteOptions:
    """How files are written. A size counts bytes of rows in memory, before they are encoded.

    A `dictionary` of None is for the columns whose values repeat.
    """

    compression: str
    compression_level: int | None
    dictionary: bool | None
    row_group_bytes: int | None
    rolling_bytes: int


class FileSink(Protocol):
    """A local file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Store these rows as one row group, where the format has them."""

    def close(self) -> Mapping[str, str]:
        """Finish the file; its properties for the manifest."""

    def abort(self) -> None:
        """Let go of the file, whatever state it is in."""


class FileRows(Protocol):
    """A file that is read. A chunk is the smallest piece that can be read alone; `starts` has the first row of each
    and, at the end, the number of rows. Methods may be called from several threads.
    """

    schema: pa.Schema
    starts: RowIds

    def bounds(self, chunk: int, columns: Sequence[str]) -> dict[str, Bounds]:
        """What is known of the values in a chunk; columns of which nothing is known are left out."""

    def memory(self, chunk: int) -> int:
        """About how many bytes the chunk takes once it is read."""

    def row_bytes(self, columns: Sequence[str]) -> float:
        """About how many bytes a row of these columns takes."""

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        """Rows that follow one another."""

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        """Just these rows, ascending."""
