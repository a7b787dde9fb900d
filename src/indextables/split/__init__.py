"""One data file: rows in Parquet and their Tantivy index in one container, written, searched and read."""

from indextables.split.container import open_bundle
from indextables.split.output import COMPUTED, POSITION, RowRequest
from indextables.split.query import check_text_query
from indextables.split.reader import SplitReader, open_split
from indextables.split.writer import FinishedSplit, SplitWriter

__all__ = [
    "COMPUTED",
    "POSITION",
    "FinishedSplit",
    "RowRequest",
    "SplitReader",
    "SplitWriter",
    "check_text_query",
    "open_bundle",
    "open_split",
]
