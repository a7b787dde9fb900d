"""One data file: rows in Parquet and their Tantivy index in one container, written, searched and read."""

from indextables.split.output import COMPUTED, POSITION, SCORE, SNIPPET, RowRequest
from indextables.split.query.binding import check_text_query
from indextables.split.reader import SplitReader, open_split
from indextables.split.writer import FinishedSplit, SplitWriter

__all__ = [
    "COMPUTED",
    "POSITION",
    "SCORE",
    "SNIPPET",
    "FinishedSplit",
    "RowRequest",
    "SplitReader",
    "SplitWriter",
    "check_text_query",
    "open_split",
]
